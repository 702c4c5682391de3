package gale

import (
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/pool"
)

// RequestCtx is one request and its response, with what is known about their connection.
// It is also a context.Context; see Done, Err, Value and Context.
//
// A RequestCtx belongs to the server, which uses it again for other requests. Don't use
// it, or anything that its methods returned, after the handler has returned. If another
// goroutine must still use it then, the handler must call Detach, or one of the
// TimeoutError methods, before it returns.
//
// Don't copy a RequestCtx. Only one goroutine at a time may use it. The exceptions are
// the TimeoutError methods, Done, Err and Deadline, which may be called at any time, and
// Value and Context, which may be called while no goroutine sets user values.
//
// Contexts that package context derives from it (WithCancel, WithTimeout) may be kept.
// They end with the request, and their Done, Err, Deadline and Value stay those of the
// request forever. The only exception is context.WithValue, because the server can't see
// it. If such a context must last longer than the handler, derive it from
// [RequestCtx.Context].
//
// The zero value is a context without a connection; see also Init.
type RequestCtx struct {
	noCopy noCopy

	// Request is what the client sent.
	Request Request
	// Response is what the client gets.
	Response Response

	s     *Server
	isTLS bool

	perRequest
	hooks    []func(*RequestCtx)  // of BeforeSend, in the order in which they were added; under mu
	seen     snapshot             // for them; under mu
	after    []func(int64, error) // of AfterSend, in the order in which they were added; under mu
	trailers msg.Fields           // of the request
	route    *door.Route          // what package router has found; nil in a context that no router has used

	loan   *lifetime.Loan // what ctx belongs to while it is lent, else nil
	sendMu sync.Mutex     // held while something is written for the handler; before mu
	mu     sync.Mutex     // of what other goroutines may touch: reach, sends, timedOut, done, hooks, after
}

// perRequest is what a context knows about its request apart from the messages. It is the
// zero value in a new context, and again after a reset, so that no field here needs a
// reset of its own.
type perRequest struct {
	x     exchange   // what brought the request, or nil; see bringer
	reach reach      // under mu, as sends
	sends bool       // a goroutine is sending for the handler
	tick  clock.Tick // when its last bytes were read; else now
	now   time.Time
	num   uint64

	remoteAddr net.Addr
	logger     Logger

	flush    flushState
	handover handover // what Hijack and Upgrade have asked for

	failing      bool          // Server.ErrorHandler runs, or has panicked
	cut          bool          // what was flushed must be broken off, see Fail
	hookPanicked bool          // and so the response is a 500
	afterTaken   bool          // no function of AfterSend can be added; under mu
	hookStage    atomic.Uint32 // hooksOpen and so on

	late     atomic.Bool  // one of the handlers that timed counts ended too late, see disposeLate
	left     atomic.Bool  // the exchange has abandoned the context
	timed    atomic.Int32 // handlers that TimeoutHandlers have begun
	timedOut atomic.Pointer[Response]
	given    atomic.Bool // timedOut was set, or Detach was called: other goroutines may use the request
	noted    bool        // note was called; of the goroutine that uses the context, as a server may drop seen meanwhile
	done     atomic.Pointer[requestDone]
}

// noServer is used where there is no server.
var noServer Server

func (ctx *RequestCtx) server() *Server {
	if ctx.s == nil {
		return &noServer
	}
	return ctx.s
}

// reset makes ctx ready for the next request, and keeps its buffers. Each condition here
// tests the field that it resets, to save a store, or is explained at the field.
func (ctx *RequestCtx) reset() {
	if len(ctx.after) != 0 || ctx.Request.hasClosers() || ctx.Response.hasStream() {
		ctx.runLast()
	}
	ctx.Request.KeepBodyBuffer, ctx.Response.KeepBodyBuffer = false, false
	if ctx.Request.writer != nil { // before other messages get the memory
		endWriter(&ctx.Request.writer)
	}
	if ctx.Response.writer != nil {
		endWriter(&ctx.Response.writer)
	}
	ctx.Request.reset()
	ctx.Response.reset()
	if d := ctx.done.Load(); d != nil {
		d.endAll(ErrRequestDone)
	}
	ctx.perRequest = perRequest{}
	if len(ctx.hooks) != 0 {
		clear(ctx.hooks)
		ctx.hooks = ctx.hooks[:0]
	}
	if ctx.seen.req != nil {
		ctx.seen.forget()
	}
	if len(ctx.trailers.Buf)|len(ctx.trailers.Recs) != 0 {
		ctx.trailers.Reset()
	}
	if ctx.route != nil && ctx.route.Used {
		ctx.route.Reset()
	}
	if ctx.Request.files.Load() != nil {
		ctx.Request.files.Store(nil) // what TimeoutError left there
	}
}

// runLast calls the functions of AfterSend that no exchange has taken, and closes body streams
// and user values. If one of these doesn't return, the others are called all the same.
func (ctx *RequestCtx) runLast() {
	returned := false
	defer func() {
		if !returned {
			ctx.dispose()
		}
	}()
	if len(ctx.after) != 0 {
		ctx.tellSent(0, errNotSent)
	}
	if ctx.Request.hasClosers() || ctx.Response.hasStream() {
		ctx.reach = over // closers don't reach the connection
		ctx.closeAfter() // what they add would run for the next request
		ctx.runClosers()
	}
	returned = true
}

// runClosers closes and drops body streams and user values. Their closers may read and
// change everything in ctx.
func (ctx *RequestCtx) runClosers() {
	for range closerRounds {
		ctx.Request.runClosers()
		if !ctx.Response.hasStream() {
			return
		}
		_ = ctx.Response.closeStream(nil)
	}
	ctx.Request.runClosers()
	ctx.Response.bodyStream, ctx.Response.streamWriter = nil, nil
}

// Init makes ctx a context for req without a connection, for tests and for handlers that
// are called without a server. req may be nil. remoteAddr and logger may be nil. The
// request is copied.
func (ctx *RequestCtx) Init(req *Request, remoteAddr net.Addr, logger Logger) {
	if remoteAddr == nil {
		remoteAddr = zeroTCPAddr
	}
	ctx.Init2(nil, logger, true)
	ctx.x = noExchange{addr: remoteAddr}
	if req != nil {
		req.CopyTo(&ctx.Request)
	}
}

// Init2 makes ctx a context for conn without a server. reduceMemoryUsage has no effect.
func (ctx *RequestCtx) Init2(conn net.Conn, logger Logger, reduceMemoryUsage bool) {
	used(ctx.loan)
	ctx.reset()
	ctx.x, ctx.reach = exchangeOf(conn), running
	ctx.s = &noServer
	ctx.logger = logger
	ctx.now = time.Now()
	_, ctx.isTLS = conn.(*tls.Conn)
}

var zeroTCPAddr = &net.TCPAddr{IP: net.IPv4zero}

// ID returns a number that no other request of the process has, as long as
// connections carry less than 2^32 requests.
func (ctx *RequestCtx) ID() uint64 { return ctx.ConnID()<<32 | ctx.num&0xffffffff }

// Time returns the time at which the last bytes of the request were read, or, with
// Server.LazyRequestTime, the time of its first call. A pipelined request may have waited
// after that time for the requests before it.
func (ctx *RequestCtx) Time() time.Time {
	if ctx.tick != 0 {
		return ctx.tick.Time()
	}
	if ctx.now.IsZero() {
		if lapsed(ctx.loan) {
			return time.Now()
		}
		ctx.now = time.Now()
	}
	return ctx.now
}

// String describes the request for logs: its ID, both addresses, method and
// URI.
func (ctx *RequestCtx) String() string {
	if ctx.loan != nil && ctx.loan.Over() && ctx.isHeld() { // package context prints the parents of a context
		return "a request that has ended"
	}
	return fmt.Sprintf("#%016X - %s<->%s - %s %s", ctx.ID(), ctx.LocalAddr(), ctx.RemoteAddr(),
		ctx.Request.Header.Method(), ctx.URI().FullURI())
}

var ctxPool pool.Pool

func acquireCtx() *RequestCtx {
	if ctx, ok := ctxPool.Get().(*RequestCtx); ok {
		return ctx
	}
	return newCtx()
}

// newCtx returns a context that isn't from the pool.
func newCtx() *RequestCtx {
	ctx := new(RequestCtx)
	ctx.reset()
	return ctx
}

func releaseCtx(ctx *RequestCtx) { ctxPool.Put(ctx) }
