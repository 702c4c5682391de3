package gale

import (
	"os"
	"runtime/debug"
	"sync/atomic"

	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/internal/race"
)

// guard is a LifetimeGuard that is used.
type guard struct {
	*lifetime.Guard
	panics  bool
	onUse   func(*LifetimeUse)
	log     atomic.Pointer[lifetimeLog]
	missing []string // what the guard can't do on this system, to be logged once
	told    atomic.Bool
}

// lifetimeLog is where a guard logs.
type lifetimeLog struct {
	use  func(*LifetimeUse)
	line func(string)
}

// standardLog logs to standard error.
var standardLog = lifetimeLog{
	use:  func(u *LifetimeUse) { defaultLogger.Printf("%s", u) },
	line: func(s string) { defaultLogger.Printf("%s", s) },
}

// guard returns the running part of g. The first call makes it.
func (g *LifetimeGuard) guard() *guard {
	g.once.Do(func() { g.made = newGuard(g) })
	return g.made
}

func newGuard(set *LifetimeGuard) *guard {
	g := &guard{onUse: set.OnUse}
	g.panics = set.Report == LifetimePanic || set.Report == LifetimeDefault && set.Pages
	pages := set.Pages && set.Report != LifetimeLog
	if set.Pages && !pages {
		g.missing = append(g.missing, "gale: LifetimeGuard uses no pages, because reading them can't be logged only (LifetimeLog)")
	}
	g.Guard = lifetime.New(lifetime.Config{
		Every: set.Every, Pages: pages, MaxBytes: set.MaxBytes, Hold: set.Hold,
		Monitor: pages, Each: g.panics || g.onUse != nil, Report: g.report,
	})
	if err := g.PagesErr(); err != nil {
		g.missing = append(g.missing, "gale: LifetimeGuard uses no pages: "+err.Error())
	}
	if err := g.MonitorErr(); err != nil {
		g.missing = append(g.missing, "gale: LifetimeGuard can't tell which request bytes came from if reading them ends the process: "+err.Error())
	}
	if g.HasPages() {
		faulting.Store(true)
	}
	return g
}

// logTo makes g log to l, unless another log was set before.
func (g *guard) logTo(l *lifetimeLog) { g.log.CompareAndSwap(nil, l) }

// logMissing logs what g can't do, at the first call after logTo. The log may be the
// program's, so the caller holds no locks.
func (g *guard) logMissing() {
	if len(g.missing) > 0 && g.told.CompareAndSwap(false, true) {
		for _, s := range g.missing {
			g.log.Load().line(s)
		}
	}
}

// report is called for each late use of an object.
func (g *guard) report(u *lifetime.Use) {
	if !g.panics && !u.Log && g.onUse == nil {
		return
	}
	v := newLifetimeUse(u)
	if g.onUse != nil {
		g.tell(v)
	}
	if g.panics {
		panic(v)
	}
	if u.Log {
		l := g.log.Load()
		if l == nil {
			l = &standardLog
		}
		l.use(v)
	}
}

// lateUse returns r, the value of a panic, as a *LifetimeUse, if the panic is a fault of
// bytes that were lent. trace is the stack of the panic; nil means that of the caller. g
// may be nil.
func (g *guard) lateUse(r any, trace []byte) any {
	if !faulting.Load() {
		return r
	}
	u := lifetime.Fault(r)
	if u == nil {
		return r
	}
	if u.Stack = trace; trace == nil {
		u.Stack = stack()
	}
	v := newLifetimeUse(u)
	if g != nil && g.onUse != nil {
		g.tell(v)
	}
	return v
}

// tell calls OnUse, often where a panic would leave locks held.
func (g *guard) tell(u *LifetimeUse) {
	defer recovered("in LifetimeGuard.OnUse")
	g.onUse(u)
}

// faulting is set when there is a guard with pages.
var faulting atomic.Bool

// panicOnFault makes faults of the goroutine panics, if there is a guard with pages. The
// goroutine runs code of the program and ends after that.
func panicOnFault() {
	if faulting.Load() {
		debug.SetPanicOnFault(true)
	}
}

// guardsByDefault says that servers and pools without a guard get one that logs. Programs
// built with the race detector do this. It is atomic because tests change it while servers
// of other tests run.
var guardsByDefault atomic.Bool

func init() {
	if race.Enabled {
		guardsByDefault.Store(true)
		guardPoolsByDefault()
	}
}

// defaultPoolGuard is the guard of the pools in programs that are built with the race
// detector, until something else guards them.
var defaultPoolGuard *guard

func guardPoolsByDefault() {
	defaultPoolGuard = newDefaultGuard().guard()
	poolGuard.Store(defaultPoolGuard)
}

// guardPoolsToo makes g guard the pools, unless GuardPools or another server has set a
// guard.
func (g *guard) guardPoolsToo() {
	if !poolGuard.CompareAndSwap(nil, g) && defaultPoolGuard != nil {
		poolGuard.CompareAndSwap(defaultPoolGuard, g)
	}
}

// onDefaultUse is OnUse of default guards. Tests set it, before anything is served.
var onDefaultUse func(*LifetimeUse)

// newDefaultGuard returns a guard of each request that has no pages. GALE_GUARD=panic in the
// environment makes late uses panic.
func newDefaultGuard() *LifetimeGuard {
	g := &LifetimeGuard{OnUse: onDefaultUse}
	if os.Getenv("GALE_GUARD") == "panic" {
		g.Report = LifetimePanic
	}
	return g
}

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
