package harness

import (
	"slices"
	"sync"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// GuardPools guards the pools for a test, and returns what is reported.
func GuardPools(t *testing.T, g *gale.LifetimeGuard) *Uses {
	u := new(Uses)
	g.OnUse = u.Add
	peers.KeepPools(t)
	gale.GuardPools(g)
	return u
}

// Gone waits until bytes of a guarded request are overwritten or unreadable.
func Gone(t *testing.T, ctx *gale.RequestCtx, kept ...[]byte) {
	t.Helper()
	Ended(t, ctx)
	await.Until(t, "the end of its memory", func() bool { return !slices.ContainsFunc(kept, door.LoanOf(ctx).(*lifetime.Loan).Covers) })
}

// GuardIn returns the guard that g makes.
func GuardIn(g *gale.LifetimeGuard) *lifetime.Guard { return door.GuardOf(g).(*lifetime.Guard) }

// Uses collects what a guard reports.
type Uses struct {
	mu  sync.Mutex
	all []*gale.LifetimeUse
}

func (u *Uses) Add(v *gale.LifetimeUse) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.all = append(u.all, v)
}

func (u *Uses) Take() []*gale.LifetimeUse {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := u.all
	u.all = nil
	return all
}

// Find returns the first report about what.
func (u *Uses) Find(what string) *gale.LifetimeUse {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, v := range u.all {
		if v.What == what {
			return v
		}
	}
	return nil
}

// Guarded returns a server that guards each request, and what it reports. It leaves the
// pools as they were.
func Guarded(t *testing.T, s *gale.Server) (*gale.Server, *Uses) {
	u := new(Uses)
	peers.KeepPools(t)
	s.GuardLifetimes = &gale.LifetimeGuard{OnUse: u.Add}
	return s, u
}

// Ended waits until the loan of a guarded request has ended.
func Ended(t *testing.T, ctx *gale.RequestCtx) {
	t.Helper()
	loan := door.LoanOf(ctx).(*lifetime.Loan)
	if loan == nil {
		t.Fatal("the request is not guarded")
	}
	await.Until(t, "the end of the request", loan.Over)
}
