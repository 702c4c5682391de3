package gale

import (
	"errors"
	"net"
	"time"

	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/msg"
)

// BeforeSend makes the server call f once, right before it sends the head of the response
// to this request. Use it for headers that every response must have. f runs for every
// kind of final response: of the handler, a stream, a file, [RequestCtx.Fail] or Error, a
// panic, a timeout, an answer of the server such as 413, the first Flush, or the response
// before a HijackHandler. It doesn't run for informational responses (1xx), or if no head
// is sent, as after HijackNow. Several functions run in reverse order: the last one added
// runs first, and Server.BeforeSend runs after all of them.
//
// f may change the status, headers and body of the response; [RequestCtx.Error] also
// drops the headers that other functions have set. f gets the response as it will be
// sent. If Flush sends it, the body is what the handler has written so far.
//
// After a timeout (TimeoutHandler, TimeoutError) the late handler still owns its context.
// So f gets a different context, which holds the timeout's response. The request in it
// has no body. The request, user values and remote address in it are those of the last call of
// BeforeSend or TimeoutHandler before the timeout. If Server.BeforeSend is set, they are
// at least those of the time when the handler began. Pattern and path values are those of
// the last route that was found before the timeout. User values that f sets there are not
// closed. After Detach, too, f gets a different context, with the response that is sent.
//
// f runs on the goroutine that sends, while the client waits, so it should not block. It
// must not call the TimeoutError methods. Within f, Flush, EarlyHints, SendInterim and
// HijackNow return an error. If f panics, the panic is logged, the response becomes a 500
// that keeps its headers, the other functions still run, and the connection is closed.
// After a panic with ErrAbortHandler nothing is sent.
//
// A call of BeforeSend within f, after the functions have run, or with a nil f has no
// effect. As with most methods of ctx, only one goroutine at a time may call BeforeSend;
// a handler that timed out may still call it. Each call copies the head of the request
// and the list of user values, for the case of a timeout.
func (ctx *RequestCtx) BeforeSend(f func(ctx *RequestCtx)) {
	used(ctx.loan)
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	if f == nil || ctx.hookStage.Load() != hooksOpen {
		return
	}
	ctx.hooks = append(ctx.hooks, f)
	ctx.note()
}

// The values of RequestCtx.hookStage: how far the final response to a request is. The
// stage begins with hooksOpen and only increases. It is changed under mu and may be read
// at any time.
const (
	hooksOpen    uint32 = iota // functions may be added
	hooksRunning               // they run
	hooksDone                  // they have run
)

var errBeforeSend = errors.New("gale: a function of BeforeSend can't send: the response is sent when it has returned")
var errHookPanicked = errors.New("gale: a function of BeforeSend panicked: the response is a 500 that is sent after the handler")

// snapshot is what functions of BeforeSend get of a request whose context a handler still
// uses after a timeout.
type snapshot struct {
	req        *Request // only header and URI; set together with the other fields
	values     userValues
	route      *door.Route // nil if no router was used
	remoteAddr net.Addr
	now        time.Time
}

// note takes the snapshot for functions of BeforeSend, unless a timeout came first. The
// goroutine that uses ctx calls it, with mu held or while no other goroutine has ctx.
func (ctx *RequestCtx) note() {
	if ctx.given.Load() {
		return // the request belongs to the late handler, or to the program
	}
	ctx.noted = true
	s, from := &ctx.seen, &ctx.Request
	if s.req == nil {
		s.req = acquireRequest()
	}
	from.Header.CopyTo(&s.req.Header)
	if from.uriParsed {
		from.uri.CopyTo(&s.req.uri)
		s.req.uriUsed = true
	}
	s.req.uriParsed, s.req.uriBad, s.req.isTLS = from.uriParsed, from.uriBad, from.isTLS
	s.req.keepsSlash, s.req.routed, s.req.uriUsed = from.keepsSlash, from.routed, s.req.uriUsed || from.uriUsed
	clear(s.values)
	s.values = append(s.values[:0], from.userValues...)
	s.noteRoute(ctx.route)
	s.remoteAddr, s.now = ctx.remoteAddr, ctx.now
}

// noteRoute adds r, if it is used, to the snapshot.
func (s *snapshot) noteRoute(r *door.Route) {
	if r == nil || !r.Used {
		return
	}
	if s.route == nil {
		s.route = new(door.Route)
	}
	r.CopyTo(s.route)
}

// noteRoute adds what a router has found to the snapshot, if there is one. The goroutine that uses ctx
// calls it.
func (ctx *RequestCtx) noteRoute() {
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	if ctx.seen.req != nil && !ctx.given.Load() {
		ctx.seen.noteRoute(ctx.route)
	}
}

// forget drops everything that s refers to. It keeps the memory of values.
func (s *snapshot) forget() {
	ReleaseRequest(s.req)
	clear(s.values)
	s.values = s.values[:0]
	if s.route != nil {
		s.route.Reset()
	}
	s.req, s.remoteAddr, s.now = nil, nil, time.Time{}
}

// noteForLate calls note before a handler gets a timeout. Functions of BeforeSend that come after
// the timeout, from a late handler or from one around it, see the request by that.
func (ctx *RequestCtx) noteForLate() {
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	ctx.note()
}

// claimHooks returns the functions of BeforeSend; none can be added afterwards. first is
// false if it was called before.
func (ctx *RequestCtx) claimHooks(next uint32) (hooks []func(*RequestCtx), first bool) {
	ctx.mu.Lock()
	if first = ctx.hookStage.Load() == hooksOpen; first {
		hooks = ctx.hooks
		ctx.hookStage.Store(next)
	}
	ctx.mu.Unlock()
	return hooks, first
}

// final returns the response to send after the handler has returned or timed out. It runs
// the functions of BeforeSend unless they have run. ok is false if the exchange must be
// aborted. Callers ask RequestCtx.choose, which also decides who gets the connection.
func (ctx *RequestCtx) final() (resp *Response, ok bool) {
	if resp := ctx.timedOut.Load(); resp != nil {
		return ctx.finalTimedOut(resp)
	}
	if ctx.flush.begun {
		return &ctx.Response, !ctx.cut && !ctx.failedToRead()
	}
	if err := ctx.unheard(); err != nil && ctx.hookStage.Load() == hooksOpen {
		ctx.refuseUnheard(err)
	}
	return &ctx.Response, ctx.beforeSend()
}

// failedToRead reports whether the body of the response must not be sent because it could
// not be read. It logs why.
func (ctx *RequestCtx) failedToRead() bool {
	err := ctx.Response.broken()
	if err == nil {
		return false
	}
	if s := ctx.server(); s != &noServer {
		s.logError(ctx.bringer().Conn(), "reading the body of a response", err)
	}
	return true
}

// beforeSend runs the functions of BeforeSend for the response in ctx, whose head has
// not left. ok is false if nothing must be sent.
func (ctx *RequestCtx) beforeSend() (ok bool) {
	if ctx.Response.readErr != nil && ctx.failedToRead() {
		ctx.keepConn()
		respondBroken(&ctx.Response)
	}
	hooks, first := ctx.claimHooks(hooksRunning)
	switch {
	case first:
		return ctx.runHooks(hooks)
	case ctx.hookPanicked:
		ctx.failQuietly() // whatever the handler has written since
	}
	// If a function that ran for a Flush panicked with ErrAbortHandler, the stage is
	// still hooksRunning, even if the handler recovered from the panic.
	return ctx.hookStage.Load() != hooksRunning
}

// finalTimedOut is final after a timeout that is answered with resp. If the functions
// have already run, for a Flush that came too late to send, there is no response.
func (ctx *RequestCtx) finalTimedOut(resp *Response) (*Response, bool) {
	hooks, first := ctx.claimHooks(hooksDone)
	if !first {
		return nil, false
	}
	if len(hooks) == 0 && ctx.server().BeforeSend == nil {
		return resp, true
	}
	in := ctx.standIn()
	resp.CopyTo(&in.Response)
	ok := in.runHooks(hooks)
	ctx.takeAfterOf(in)
	return &in.Response, ok
}

// takeAfterOf adds the functions of AfterSend of a stand-in.
func (ctx *RequestCtx) takeAfterOf(in *RequestCtx) {
	for _, f := range in.after {
		ctx.AfterSend(f)
	}
}

// standIn returns a context for functions of BeforeSend that shares nothing with ctx,
// which a late handler or another goroutine is using.
func (ctx *RequestCtx) standIn() *RequestCtx {
	in := &RequestCtx{s: ctx.s, isTLS: ctx.isTLS}
	in.x, in.reach = aside{ctx.bringer()}, over
	in.num, in.tick, in.logger = ctx.num, ctx.tick, ctx.logger
	in.hookStage.Store(hooksRunning)
	ctx.mu.Lock()
	if s := &ctx.seen; s.req != nil {
		s.req.copyToSkipBody(&in.Request)
		in.Request.userValues = s.values
		if s.route != nil {
			s.route.CopyTo(in.makeRoute())
		}
		in.remoteAddr, in.now = s.remoteAddr, s.now
	}
	ctx.mu.Unlock()
	return in
}

// runHooks runs functions of BeforeSend for the response in ctx, the last one first, and
// then Server.BeforeSend. ok is false if a function panicked with ErrAbortHandler: then
// nothing must be sent.
func (ctx *RequestCtx) runHooks(hooks []func(*RequestCtx)) (ok bool) {
	if ctx.isDetached() && (len(hooks) > 0 || ctx.server().BeforeSend != nil) {
		return ctx.runHooksAside(hooks)
	}
	for i := len(hooks) - 1; i >= 0; i-- {
		if !ctx.runHook(hooks[i]) {
			return false
		}
	}
	if f := ctx.server().BeforeSend; f != nil && !ctx.runHook(f) {
		return false
	}
	if ctx.Response.broken() != nil {
		ctx.failQuietly()
	}
	ctx.hookStage.Store(hooksDone)
	return true
}

// runHook runs a function of BeforeSend. It returns false if that panicked with
// ErrAbortHandler.
func (ctx *RequestCtx) runHook(f func(*RequestCtx)) (ok bool) {
	returned := false
	defer func() {
		if returned {
			return
		}
		r := recover()
		if r == nil || isAbort(r) {
			return // runtime.Goexit goes on
		}
		ctx.server().logHandlerPanic("in a function of BeforeSend", ctx, r, stack())
		ctx.hookPanicked = true
		ctx.failQuietly()
		ok = true
	}()
	f(ctx)
	returned = true
	return true
}

// failQuietly makes the response a 500 that keeps its headers and closes the connection.
func (ctx *RequestCtx) failQuietly() {
	ctx.keepConn()
	ctx.Response.dropContent()
	ctx.Response.SetStatusCode(StatusInternalServerError)
	ctx.errorBody(StatusInternalServerError, "")
	ctx.Response.SetConnectionClose()
}

// beforeFlush runs the functions of BeforeSend if Flush is about to send the head.
func (ctx *RequestCtx) beforeFlush() error {
	if ctx.hookPanicked {
		return errHookPanicked
	}
	ctx.mu.Lock()
	hooked := len(ctx.hooks) > 0 || ctx.server().BeforeSend != nil
	sends := ctx.reaches() && !ctx.flush.begun && ctx.hookStage.Load() == hooksOpen
	ctx.mu.Unlock()
	if _, none := ctx.x.(noExchange); none || !hooked || !sends {
		return nil // send returns the error
	}
	hooks, first := ctx.claimHooks(hooksRunning)
	if !first {
		return nil
	}
	if !ctx.runHooks(hooks) {
		panic(ErrAbortHandler)
	}
	if ctx.hookPanicked {
		return errHookPanicked
	}
	return nil
}

// aside is the exchange of a stand-in. It knows the connection but can't do anything with
// the request.
type aside struct{ exchange }

func (aside) Lend()                        {}
func (aside) LimitBody(*RequestCtx, int64) {}
func (aside) CloseBody(*RequestCtx, bool)  {}
func (aside) Trailers(*msg.Fields)         {}

// AfterSend makes the server call f once, after the response to this request was sent or
// could not be sent completely. Use it to log or count what clients really got.
//
// sent is how many bytes of the response's body the operating system has taken, without
// headers and the framing of chunks or frames, and before TLS. It is 0 for a HEAD request
// and for a status without a body. err is nil if all of the response was taken. That
// doesn't mean that the client has received it. Otherwise err says why not, as far as the
// server knows.
//
// If err isn't nil, sent may be less or more than what was taken: a body in memory counts
// as a whole or not at all, a piece of a stream likewise, and a file may be counted up to 32
// KiB too far where it is not sent by sendfile. For HTTP/2, bytes count when their frames
// are in the connection's output. Up to 256 KiB of that may wait for the client, and if the
// connection breaks then, err is nil.
//
// f runs once for each call of AfterSend, for every kind of final response, as
// [RequestCtx.BeforeSend] describes. If there is no response, it gets an error. This is so
// after HijackNow or a panic with ErrAbortHandler. Before a HijackHandler it runs when the
// response was sent. Several functions run in the order in which they were added. A call of
// AfterSend after the response has begun to be sent, other than by Flush, has no effect.
// Functions of BeforeSend, and so Server.BeforeSend, may call it. As with most methods of
// ctx, only one goroutine at a time may call it; a handler that timed out may still do so.
//
// f must not use ctx, or anything that belongs to it: the server may already use it for
// another request. f must have copies of what it needs. f delays the next request of the
// connection, or with HTTP/2 that of other streams, so it should not block. Shutdown waits for it.
// It may run on any goroutine. If it panics, the panic is logged. Responses to pipelined requests are
// written one at a time if they have functions of AfterSend.
//
// Without a Server, as on a net/http server (package adaptor), f runs when the response was
// given to net/http.
func (ctx *RequestCtx) AfterSend(f func(sent int64, err error)) {
	used(ctx.loan)
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	if f != nil && !ctx.afterTaken {
		ctx.after = append(ctx.after, f)
	}
}

// errNotSent is what functions of AfterSend get if the server itself has broken the
// response off, or there is none.
var errNotSent = errors.New("gale: the response was not sent completely")

// takeAfter moves the functions of AfterSend to the end of fs. None can be added
// afterwards.
func (ctx *RequestCtx) takeAfter(fs []func(int64, error)) []func(int64, error) {
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	ctx.afterTaken = true
	if len(ctx.after) != 0 {
		fs = append(fs, ctx.after...)
		clear(ctx.after)
		ctx.after = ctx.after[:0]
	}
	return fs
}

// closeAfter makes AfterSend have no effect from now on.
func (ctx *RequestCtx) closeAfter() {
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	ctx.afterTaken = true
}

// tellSent calls the functions of AfterSend, unless an exchange has taken them.
func (ctx *RequestCtx) tellSent(sent int64, err error) {
	var few [2]func(int64, error)
	ctx.server().callAllAfter(ctx.takeAfter(few[:0]), sent, err)
}

// callAllAfter calls functions of AfterSend: all of them, even if one calls runtime.Goexit.
func (s *Server) callAllAfter(fs []func(int64, error), sent int64, err error) {
	if len(fs) == 0 {
		return
	}
	defer func() { s.callAllAfter(fs[1:], sent, err) }()
	s.callAfter(fs[0], sent, err)
}

// callAfter calls a function of AfterSend.
func (s *Server) callAfter(f func(int64, error), sent int64, err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if r := recover(); r != nil {
			s.logPanic("in a function of AfterSend", r, stack())
		}
		// Otherwise runtime.Goexit continues.
	}()
	f(sent, err)
	returned = true
}
