package gale

import (
	"strings"
	"sync"
	"time"

	"github.com/galehttp/gale/internal/lifetime"
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
