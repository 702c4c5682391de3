package lifetime

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"
	"weak"
)

// Config is what a Guard does.
type Config struct {
	Every int // one in Every requests or objects is guarded, at random; 1 or less: each

	// Pages puts memory on pages of its own, which become unreadable at the end. Where the
	// system refuses, memory is overwritten instead: see Guard.PagesErr.
	Pages bool
	// MaxBytes is the most address space that pages take, those of running loans
	// included. 0 or less means 64 MiB.
	MaxBytes int64
	// Hold is how long pages should stay unreadable. 0 or less means 10 seconds. Pages
	// stay so until MaxBytes is reached. Then the oldest are used again, also if their
	// time has not passed: see Stats.Early.
	Hold time.Duration
	// Monitor starts the process that explains crashes, once for the whole program. It
	// needs Pages. See Guard.MonitorErr.
	Monitor bool

	// Library is the import path of the packages whose functions count as the library's.
	// Empty means this module.
	Library string

	// Report is called for each use after the end, in the goroutine of that use. It may
	// panic. It may be nil. Uses within it are counted, but not reported.
	Report func(*Use)
	// Each fills Use.Stack for each use, not only for those with Use.Log. A
	// Report that panics needs it.
	Each bool
}

const (
	defaultMaxBytes = 64 << 20
	defaultHold     = 10 * time.Second
	module          = "github.com/galehttp/gale"
)

// Guard begins loans, and bounds and counts what they hold. Any goroutine may call its
// methods.
type Guard struct {
	c      Config
	weak   weak.Pointer[Guard] // to the guard itself
	space  *space              // nil without pages
	places places

	pagesErr, monitorErr error

	guarded, reports, held, unpaged, early atomic.Int64
}

// New returns a guard. With Config.Pages it reserves their address space.
func New(c Config) *Guard {
	if c.MaxBytes <= 0 {
		c.MaxBytes = defaultMaxBytes
	}
	if c.Hold <= 0 {
		c.Hold = defaultHold
	}
	if c.Library == "" {
		c.Library = module
	}
	c.Every = min(c.Every, math.MaxInt32)
	g := &Guard{c: c}
	g.weak = weak.Make(g)
	if !c.Pages {
		return g
	}
	if g.space, g.pagesErr = acquireSpace(c.MaxBytes); g.pagesErr != nil {
		return g
	}
	if c.Monitor {
		if g.monitorErr = startMonitor(c.Library); g.monitorErr == nil {
			g.monitorErr = monitorSpace(g.space)
		}
	}
	runtime.AddCleanup(g, releaseSpace, g.space)
	return g
}

// HasPages reports whether memory is on pages of its own. Goroutines of the library that
// call handlers must then call debug.SetPanicOnFault.
func (g *Guard) HasPages() bool { return g.space != nil }

// PagesErr tells why there are no pages, although Config.Pages is set. It returns nil if
// there are, or if they weren't asked for.
func (g *Guard) PagesErr() error { return g.pagesErr }

// MonitorErr tells why no process explains crashes, although Config.Monitor is set.
func (g *Guard) MonitorErr() error { return g.monitorErr }

// Sample decides whether the next request, or object of a pool, gets a loan.
func (g *Guard) Sample() bool {
	return g.c.Every <= 1 || rand.Uint32N(uint32(g.c.Every)) == 0
}

// Begin begins a loan.
func (g *Guard) Begin(from Origin) *Loan {
	g.guarded.Add(1)
	l := &Loan{guard: g, tag: &tag{Origin: from, guard: g.weak, notes: new(notes)}}
	if from.Kind != handlerKind { // programs may drop objects of pools without a release
		runtime.AddCleanup(l, (*tag).uncount, l.tag)
	}
	return l
}

// Stats are counts of a Guard since it was made.
type Stats struct {
	Guarded int64 // loans that were begun
	// Held is the number of bytes held now: memory of running loans, and address space
	// of pages that are unreadable. Those take no memory.
	Held    int64
	Reports int64 // uses after the end
	Unpaged int64 // times that memory came from the heap because there were no pages for it
	Early   int64 // pages that were used again before Config.Hold had passed, in units of Alloc
}

// Stats returns the counts.
func (g *Guard) Stats() Stats {
	s := Stats{
		Guarded: g.guarded.Load(),
		Held:    g.held.Load(),
		Reports: g.reports.Load(),
		Unpaged: g.unpaged.Load(),
		Early:   g.early.Load(),
	}
	if g.space != nil {
		s.Held += g.space.bytes()
	}
	return s
}
