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
