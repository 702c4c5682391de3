package gale

import (
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/internal/race"
)

// LifetimeGuard finds code that uses a context, a request, a response, arguments, or
// bytes of them after they went back to the server or to a pool. Without it such code
// reads or changes what belongs to another request, mostly without being noticed. See
// [Server.GuardLifetimes] and [GuardPools].
//
// The guard takes a sample of the requests. A guarded request gets a context of its own,
// which serves no other request. When the handler has returned and the response was sent,
// everything in the context is emptied, and the memory of all bytes that it lent is
// overwritten. From then on, each call of a method of the context, its request, its
// response and their headers, arguments and URIs is reported. The call then behaves as on
// an empty object. A []byte or an unsafe string that the program kept has other bytes from
// then on; with Pages, reading it is reported too. The bytes of a guarded Request or Response
// of a pool also end when it is reset or a client gets it for the next call. One method is not reported without
// Pages, except in programs built with the race detector: Args.Peek of an Args that was
// kept. It returns nil then.
//
// Contexts that Detach, TimeoutError or a TimeoutHandler gave to the program are not
// affected, because they may be used after the handler has returned. Done, Err, Deadline
// and Value are not reported if Done or Err was called before, because package context may
// call them at any time.
//
// Requests that are not guarded cost nothing more. Don't change the fields after the first
// use. Several servers and GuardPools may share one LifetimeGuard; the sample and the
// memory are then common to them.
type LifetimeGuard struct {
	// Every is the size of the sample: one in Every requests, chosen at random, is
	// guarded. 1, 0 or less means each request.
	Every int

	// Pages puts the bytes of guarded requests on memory pages of their own (Linux).
	// These become unreadable when the request ends, so that reading or writing bytes
	// that were kept faults at the very instruction.
	//
	// Two more mistakes are found: bytes of the request that the program's stream of the
	// response uses, which end when the handler has returned, and files of a form that were
	// kept. In programs built with the race detector, such files are overwritten also if
	// there are no pages.
	//
	// In a goroutine of the server, such as a handler, the fault becomes a panic, whose
	// value is a *LifetimeUse. The server handles it as any other panic of a handler. In
	// goroutines that the program has started, Go lets no code recover a fault: the
	// process ends with the stack of that goroutine, and the guard adds to standard error
	// which handler and which request lent the bytes. So with Pages a misuse may end the
	// process, and reports about objects are panics, too, by default.
	//
	// To add that, the first guard with pages starts the program a second time, as a small
	// process that waits for the end of this one, and calls debug.SetCrashOutput, which
	// replaces what the program has set there. In the second process main doesn't run, but
	// init functions of packages that Go initializes before Gale's do. If it can't be
	// started, that is logged once, and a crash has Go's own text only.
	//
	// If the system gives no such pages, the guard goes on without them and logs that once.
	Pages bool

	// MaxBytes limits the memory that Pages uses: the pages of guarded requests that are
	// being served, and those of ended requests, of which only addresses are used. When
	// the limit is reached, the pages that have been unreadable for the longest time are
	// used again. If there are none, bytes are on ordinary memory. 0 or less means 64 MiB.
	//
	// A guarded request takes at least 32 KiB of it. The program may use the bytes of a
	// context that Detach or TimeoutError gave to it for good, and those of an object of a
	// pool that it never releases: their pages are never used again. If a program does this
	// for each request, the guard has no pages left after MaxBytes/32 KiB guarded requests,
	// and finds no more uses of bytes. Unpaged of [LifetimeStats] then grows.
	MaxBytes int64

	// Hold is how long pages of ended requests should stay unreadable. They stay so for a
	// shorter time if MaxBytes demands it. 0 or less means 10 seconds.
	Hold time.Duration

	// Report says what a late use of an object leads to.
	Report LifetimeReport

	// OnUse, if set, is called for each late use, before it is logged or becomes a panic.
	// It is called on the goroutine of that use, so it may be called concurrently. It
	// should not use the object in question: that would be counted, but not reported. If it
	// panics, that is logged. It isn't called for faults that end the process.
	OnUse func(*LifetimeUse)

	once sync.Once
	made *guard
}

// LifetimeReport says what a LifetimeGuard does about a late use.
type LifetimeReport int

const (
	// LifetimeDefault is LifetimePanic if LifetimeGuard.Pages is set, else LifetimeLog.
	LifetimeDefault LifetimeReport = iota
	// LifetimeLog logs late uses, with Server.Logger, Server.Slog or to standard error.
	// Repetitions at the same place are logged once in 10 seconds. A fault can't be
	// logged only, so no pages are used; if Pages is set, that is logged once.
	LifetimeLog
	// LifetimePanic panics with a *LifetimeUse in the goroutine of the late use.
	LifetimePanic
)

// LifetimeUse is a use of an object, or of bytes, after its end. It is the value of panics
// of a LifetimeGuard.
type LifetimeUse struct {
	// What was used: a method such as "RequestHeader.Peek", or "bytes".
	What string
	// Caller is the function of the program that did it, with file and line.
	Caller string
	// Stack is the stack of the goroutine that did it.
	Stack string

	// Handler is the name of the function that served the request, that of Server.Handler.
	// It is "" for objects of pools.
	Handler string
	// Lent is a stack of the handler, at one of its calls of a method of the request, or,
	// for an object of a pool, a stack of the code that used or released it. It is "" if
	// there was no such call that the guard noticed.
	Lent string

	// Method, Path, RemoteAddr and ID describe the request. Path is the path as the client
	// sent it, at most 256 bytes. They are empty for objects of pools, and all but ID are
	// empty if Server.SecureErrorLogMessage is set.
	Method, Path string
	RemoteAddr   string
	ID           uint64 // see RequestCtx.ID

	line string
}

func newLifetimeUse(u *lifetime.Use) *LifetimeUse {
	from := &u.Origin
	return &LifetimeUse{
		What: u.What, Caller: u.Caller, Stack: string(u.Stack),
		Handler: from.Handler, Lent: string(u.Lent),
		Method: from.Method, Path: from.Path, RemoteAddr: from.Peer, ID: from.ID,
		line: "gale: " + u.Text(),
	}
}

// Error returns a line that begins like "gale: RequestHeader.Peek used after the handler
// returned". It says where that was, and which handler and request lent the object. If
// Lent is known, it follows on further lines.
func (u *LifetimeUse) Error() string {
	if u.Lent == "" {
		return u.line
	}
	return u.line + "\nlent by\n" + strings.TrimRight(u.Lent, "\n")
}

// String returns the text of Error and, if it is known, Stack.
func (u *LifetimeUse) String() string {
	if u.Stack == "" {
		return u.Error()
	}
	return u.Error() + "\nused by\n" + strings.TrimRight(u.Stack, "\n")
}

// Line returns the first line of Error.
func (u *LifetimeUse) Line() string { return u.line }

// Objects of a guarded request, or of a guarded pool, have a *lifetime.Loan. When it ends,
// they lapse: they are emptied, but keep the pointer. So a method of a lapsed object finds
// nothing, or must parse or grow, and there it calls used or lapsed. The path on which it
// finds something doesn't look at the loan. Methods that have no such path, as setters of
// a number, begin with the call.

// strict reports whether what l lent also ends where a program without a guard often does no
// harm: files of a form in memory, and the body of a response that the handler has reset. It
// does with pages, which report most uses, and in tests with the race detector. A guard that
// only overwrites memory, as in production, must not change responses that are right.
func strict(l *lifetime.Loan) bool { return l != nil && (race.Enabled || l.Guard().HasPages()) }

// used tells l, unless it is nil, that one of its objects is used. If the loan has ended,
// that is reported.
func used(l *lifetime.Loan) {
	if l != nil {
		l.Use()
	}
}

// lapsed is used, and reports whether the loan has ended.
func lapsed(l *lifetime.Loan) bool {
	return l != nil && useLapsed(l)
}

//go:noinline so that lapsed is inlined
func useLapsed(l *lifetime.Loan) bool {
	l.Use()
	return l.Over()
}

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
