package gale

import (
	"sync/atomic"

	"github.com/galehttp/gale/internal/lifetime"
)

// poolGuard guards the objects of the pools of this package, if it isn't nil.
var poolGuard atomic.Pointer[guard]

// GuardPools makes g guard the objects that AcquireRequest, AcquireResponse, AcquireArgs,
// AcquireURI and AcquireCookie return from now on: a sample of them, as
// [LifetimeGuard.Every] says. When such an object is released, it doesn't go back to the
// pool. Each use of it after that is reported as "used after ReleaseRequest", and a second
// release as "released twice". Bytes of a Request or Response that were kept end with its
// release, and also when it is reset or a client gets it for the next call.
//
// Requests that adaptor.NewHTTPHandler gives to a handler are guarded by g, too.
//
// A [Server] whose GuardLifetimes is set calls it when it begins to serve, unless the pools
// are guarded already. If g is nil, objects that are acquired from now on are not guarded.
// Objects that the library acquires for itself are never guarded. Programs that are built
// with the race detector begin with a guard of all objects that logs.
func GuardPools(g *LifetimeGuard) {
	if g == nil {
		poolGuard.Store(nil)
		return
	}
	made := g.guard()
	made.logTo(&standardLog)
	made.logMissing()
	poolGuard.Store(made)
}

// borrow returns a loan for an object of a pool, or nil. release is the name of the
// function that ends it.
func borrow(release string) *lifetime.Loan {
	g := poolGuard.Load()
	if g == nil {
		return nil
	}
	return g.borrow(release)
}

func (g *guard) borrow(release string) *lifetime.Loan {
	if !g.Sample() {
		return nil
	}
	return g.Begin(lifetime.Origin{Kind: release})
}

// ends says what a call of the function release means for the loan l of its object: the
// object goes back, or the call is late, which is reported. If neither, the object doesn't
// belong to a pool, but to a request, for example.
func ends(l *lifetime.Loan, release string) (back, late bool) {
	own := l.Origin.Kind == release
	switch {
	case !l.Over():
		l.Use() // so that reports can show where the object was released
		return own, false
	case own:
		l.Twice()
	default:
		l.Use()
	}
	return false, true
}

// giveUp is the function release for a guarded object that has nothing to close.
func giveUp(o interface {
	Reset()
	lapse()
}, l *lifetime.Loan, release string) {
	switch back, late := ends(l, release); {
	case late:
	case back:
		o.lapse()
		l.End()
	default:
		o.Reset()
	}
}
