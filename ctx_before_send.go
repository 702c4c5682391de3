package gale

import (
	"errors"
	"net"
	"time"

	"github.com/galehttp/gale/internal/msg"
)

// BeforeSend makes f run once, right before the head of the response to this request
// leaves, whatever made that response: the handler, a stream, a file, [RequestCtx.Fail]
// or Error, a panic, a time-out, an answer of the server such as 413, the first Flush, or
// the response that comes before a HijackHandler. Several functions run in the reverse
// order of their adding, and Server.BeforeSend after all of them. So this is the place
// for fields that every response must have. It doesn't run for informational
// responses (1xx) and where no head leaves, as after HijackNow.
//
// f may change status, fields and body of the response; [RequestCtx.Error] drops also the
// fields that other functions have set. It finds the response as it
// will leave; with Flush the body is what the handler has written so far. After a time-out
// (TimeoutHandler, TimeoutError) the late handler still owns the context of the request. So
// f gets another one in its place, with the response of the time-out: its request has
// no body and is, as are its user values and its remote address, what they were at the
// last call of BeforeSend or TimeoutHandler before the time-out, whichever came later, or,
// where Server.BeforeSend is set, at least what they were when the handler began. User
// values that f sets there are not closed.
//
// f runs on the goroutine that sends, while the client waits: it should not block. It must
// not call the TimeoutError methods. Flush, EarlyHints, SendInterim and HijackNow
// return an error within f. If f panics, that is logged, the response becomes a 500 that
// keeps its fields, the other functions still run, and the connection is closed; after a
// panic with ErrAbortHandler nothing is sent.
//
// A call from within f, or after the functions have run, has no effect; nor has a nil f.
// BeforeSend may be called by one goroutine at a time, as most methods of ctx; a handler
// that timed out may go on calling it. It copies the head of the request and the list of
// user values, for time-outs. Not in fasthttp.
func (ctx *RequestCtx) BeforeSend(f func(ctx *RequestCtx)) {
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	if f == nil || ctx.hookStage.Load() != hooksOpen {
		return
	}
	ctx.hooks = append(ctx.hooks, f)
	ctx.note()
}

// How far the final response to a request is, in RequestCtx.hookStage. It goes on under mu
// from hooksOpen, and is read at any time.
const (
	hooksOpen    uint32 = iota // functions may be added
	hooksRunning               // they run
	hooksDone                  // they have run
)

var errBeforeSend = errors.New("gale: a function of BeforeSend can't send: the response leaves when it has returned")
var errHookPanicked = errors.New("gale: a function of BeforeSend panicked: the response is a 500 that is sent after the handler")

// snapshot is what functions of BeforeSend find of a request whose context a handler
// still uses after a time-out.
type snapshot struct {
	req        *Request // header and URI, and no more; set with the others
	values     userValues
	remoteAddr net.Addr
	now        time.Time
}

// note takes the snapshot for functions of BeforeSend if there is no time-out yet. It is
// called under mu, or where no other goroutine has ctx, by the goroutine that uses ctx.
func (ctx *RequestCtx) note() {
	if ctx.timedOut.Load() != nil {
		return // the request belongs to the late handler
	}
	s, from := &ctx.seen, &ctx.Request
	if s.req == nil {
		s.req = AcquireRequest()
	}
	from.Header.CopyTo(&s.req.Header)
	if from.uriParsed {
		from.uri.CopyTo(&s.req.uri)
		s.req.uriUsed = true
	}
	s.req.uriParsed, s.req.uriBad, s.req.isTLS = from.uriParsed, from.uriBad, from.isTLS
	clear(s.values)
	s.values = append(s.values[:0], from.userValues...)
	s.remoteAddr, s.now = ctx.remoteAddr, ctx.now
}

// forget drops everything that s refers to. It keeps the memory of values.
func (s *snapshot) forget() {
	ReleaseRequest(s.req)
	clear(s.values)
	s.values = s.values[:0]
	s.req, s.remoteAddr, s.now = nil, nil, time.Time{}
}

// noteHooked is note before a handler gets a time-out, where there are functions of
// BeforeSend.
func (ctx *RequestCtx) noteHooked() {
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	if len(ctx.hooks) > 0 || ctx.server().BeforeSend != nil {
		ctx.note()
	}
}

// claimHooks ends the adding of functions of BeforeSend, and returns them; first is false
// if that was done before.
func (ctx *RequestCtx) claimHooks(next uint32) (hooks []func(*RequestCtx), first bool) {
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	if ctx.hookStage.Load() != hooksOpen {
		return nil, false
	}
	ctx.hookStage.Store(next)
	return ctx.hooks, true
}

// final makes the response to send, once the handler has returned or timed out: it runs
// the functions of BeforeSend, unless that was done. ok is false if the exchange
// must be broken off. It is for sessions and exchanges that do no more; h1Session does.
func (ctx *RequestCtx) final() (resp *Response, ok bool) {
	if resp := ctx.timedOut.Load(); resp != nil {
		return ctx.finalTimedOut(resp)
	}
	if ctx.flush.begun {
		return &ctx.Response, !ctx.cut
	}
	if err := ctx.unheard(); err != nil && ctx.hookStage.Load() == hooksOpen {
		ctx.refuseUnheard(err)
	}
	return &ctx.Response, ctx.beforeSend()
}

// beforeSend runs the functions of BeforeSend for the response in ctx, whose head has
// not left. ok is false if nothing must be sent.
func (ctx *RequestCtx) beforeSend() (ok bool) {
	if err := ctx.Response.broken(); err != nil {
		if s := ctx.server(); s != &noServer {
			s.logError(ctx.bringer().Conn(), "reading the body of a response", err)
		}
		respondBroken(&ctx.Response)
	}
	hooks, first := ctx.claimHooks(hooksRunning)
	switch {
	case first:
		return ctx.runHooks(hooks)
	case ctx.hookPanicked:
		ctx.failQuietly() // whatever the handler has written since
	}
	// Those that ran for a Flush have not come to their end if one wanted nothing to be
	// sent, also if the handler has recovered from that.
	return ctx.hookStage.Load() != hooksRunning
}

// finalTimedOut is final after a time-out that is answered with resp. A function that ran
// already for a Flush that could not send any more leaves nothing to answer with.
func (ctx *RequestCtx) finalTimedOut(resp *Response) (*Response, bool) {
	hooks, first := ctx.claimHooks(hooksDone)
	if !first {
		return nil, false
	}
	if len(hooks) == 0 && ctx.server().BeforeSend == nil {
		return resp, true
	}
	in := ctx.standIn(resp)
	return &in.Response, in.runHooks(hooks)
}

// standIn returns a context for functions of BeforeSend that shares nothing with ctx, which
// a late handler uses.
func (ctx *RequestCtx) standIn(resp *Response) *RequestCtx {
	in := &RequestCtx{s: ctx.s, isTLS: ctx.isTLS}
	in.x, in.reach = aside{ctx.bringer()}, over
	in.num, in.tick, in.logger = ctx.num, ctx.tick, ctx.logger
	in.hookStage.Store(hooksRunning)
	ctx.mu.Lock()
	if s := &ctx.seen; s.req != nil {
		s.req.copyToSkipBody(&in.Request)
		in.Request.userValues = s.values
		in.remoteAddr, in.now = s.remoteAddr, s.now
	}
	ctx.mu.Unlock()
	resp.CopyTo(&in.Response)
	return in
}

// runHooks runs functions of BeforeSend for the response in ctx, the last one first, and
// that of the server. ok is false if one wants nothing to be sent.
func (ctx *RequestCtx) runHooks(hooks []func(*RequestCtx)) (ok bool) {
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

// failQuietly makes the response a 500 that keeps its fields and ends the connection.
func (ctx *RequestCtx) failQuietly() {
	ctx.hijack, ctx.hijackNoResponse = nil, false
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
		return nil // send knows more
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

// aside is the exchange of a stand-in: what is known of the connection, and nothing that
// acts on the request.
type aside struct{ exchange }

func (aside) Lend()                        {}
func (aside) LimitBody(*RequestCtx, int64) {}
func (aside) CloseBody(*RequestCtx)        {}
func (aside) Trailers(*msg.Fields)         {}
