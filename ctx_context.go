package gale

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/door"
)

// Causes why a request's Done channel was closed. context.Cause returns the same
// one for a RequestCtx, for its Context and for what is derived from them. Other
// causes are context.Canceled, when the server shuts down, ErrTimeout of a
// TimeoutHandler, and that of the connection's context (see Server.ConnContext).
var (
	// ErrClientGone says that the client ended or broke the connection while
	// the handler ran. Not in fasthttp.
	ErrClientGone = errors.New("gale: the client has gone")
	// ErrRequestDone says that the handler has returned and a body stream that it
	// set was sent. Not in fasthttp.
	ErrRequestDone = errors.New("gale: the request was answered")
)

// requestDone is the context of a request. It is made at the first call of Done,
// Err or Context: other requests don't pay for it. It outlives the
// RequestCtx and belongs to one request forever.
type requestDone struct {
	ctx    context.Context // ends with the request, or before that
	cancel context.CancelCauseFunc
	stop   func() // ends the watch of the connection; nil if there was none
	broken atomic.Bool
	// held says that package context may hold the RequestCtx, as the parent of
	// a context: Done or Err was asked for. Then it must not be used again.
	held atomic.Bool
}

func newRequestDone(parent context.Context) *requestDone {
	if parent == nil {
		parent = context.Background()
	}
	d := new(requestDone)
	d.ctx, d.cancel = context.WithCancelCause(parent)
	return d
}

// overDone is that of contexts that serve no request at the moment.
var overDone = func() *requestDone {
	d := newRequestDone(context.Background())
	d.cancel(ErrRequestDone)
	return d
}()

// watch makes d end when the client leaves, or now if the request has ended.
func (d *requestDone) watch(x exchange) {
	var over error
	if d.stop, over = x.Watch(d); over != nil {
		d.cancel(over)
	}
}

// Gone and End are those of door.Done.
func (d *requestDone) Gone(cause error, reset bool) {
	d.broken.Store(reset)
	d.cancel(cause)
}

func (d *requestDone) End() (held bool) {
	d.cancel(ErrRequestDone)
	return d.held.Load()
}

// Done returns a channel that is closed when the client leaves, when the server
// shuts down (with Server.DrainTime: after that), when the context of the connection
// ends (see Server.ConnContext), or when the handler has returned and a body stream
// that it set was sent, whichever comes first. On a net/http server the context of
// its request takes the place of the connection's.
//
// It costs nothing until it is called. Then the connection is watched while the
// handler runs, and the server does not use ctx again afterwards, since contexts
// may be derived from it: that costs the memory of a new one, which Context does
// not. A client that ended only its own side (a FIN) closes the channel too, but
// gets its answer. fasthttp closes the channel at shutdown only.
//
// It may be called from any goroutine while the handler runs.
func (ctx *RequestCtx) Done() <-chan struct{} { return ctx.heldDone().ctx.Done() }

// Err returns nil until Done is closed, and a non-nil error forever afterwards:
// context.Canceled, or the error of the context of the connection. context.Cause
// tells more, see ErrClientGone. Like Done it has the connection watched.
func (ctx *RequestCtx) Err() error { return ctx.heldDone().ctx.Err() }

// Deadline returns that of the context of the connection (see
// Server.ConnContext), or of a net/http server's request. A request has no
// deadline of its own.
func (ctx *RequestCtx) Deadline() (deadline time.Time, ok bool) {
	if d := ctx.madeDone(); d != nil {
		return d.ctx.Deadline()
	}
	if parent := ctx.bringer().Context(); parent != nil {
		return parent.Deadline()
	}
	return time.Time{}, false
}

// Value returns the user value of key or, if there is none, what the context of
// the connection knows (see Server.ConnContext).
//
// A context that context.WithValue made from ctx looks here for its other values.
// The server can't see that there is one: it must not be used after the handler
// has returned. Derive from Context what has to last longer.
func (ctx *RequestCtx) Value(key any) any {
	switch key.(type) {
	case door.HeadKey:
		return &ctx.Request.Header.s
	case door.ParentKey:
		return ctx.bringer().Context()
	case door.ConnKey:
		return ctx.bringer().Conn()
	case door.PeerKey:
		if ctx.remoteAddr != nil {
			return nil
		}
		return ctx.bringer().Conn()
	case door.FinalKey:
		if resp, ok := ctx.final(); ok {
			return resp
		}
		return nil
	case door.AbandonKey:
		ctx.abandon()
		return nil
	case door.HijackKey:
		return door.Hijack{Handler: ctx.hijack, NoResponse: ctx.hijackNoResponse}
	}
	if own := ctx.ownContext(key); own != nil {
		return own
	}
	if v := ctx.Request.UserValue(key); v != nil {
		return v
	}
	if d := ctx.madeDone(); d != nil {
		return d.ctx.Value(key)
	}
	if parent := ctx.bringer().Context(); parent != nil {
		return parent.Value(key)
	}
	return nil
}

// ownContext returns the context of the request if key is the one by which
// package context finds a context that it made itself: then it adds derived ones
// there, without a goroutine for each. It may be called at any time from any
// goroutine, as package context does.
func (ctx *RequestCtx) ownContext(key any) any {
	d := ctx.madeDone()
	if d == nil {
		return nil
	}
	if v := d.ctx.Value(key); v == any(d.ctx) {
		return v
	}
	return nil
}

// Context returns a context that is safe to keep: it ends when Done is closed, for
// the same cause, and knows the values of the connection's context, but not the
// user values of the request. Each call for a request returns the same one. What
// outlives the handler must be derived from it rather than from ctx. Not in
// fasthttp.
//
// It may be called from any goroutine while the handler runs.
func (ctx *RequestCtx) Context() context.Context { return ctx.requestDone().ctx }

// heldDone is requestDone for calls after which package context may hold ctx.
func (ctx *RequestCtx) heldDone() *requestDone {
	d := ctx.requestDone()
	if !d.held.Load() {
		d.held.Store(true)
	}
	return d
}

// madeDone returns the context of the request if there is one by now.
func (ctx *RequestCtx) madeDone() *requestDone {
	if d := ctx.done.Load(); d != nil {
		return d
	}
	if ctx.x == nil && ctx.s != nil && ctx.s != &noServer {
		return overDone // ctx waits for its next request
	}
	return nil
}

// requestDone returns the context of the request, made at the first call.
func (ctx *RequestCtx) requestDone() *requestDone {
	if d := ctx.done.Load(); d != nil {
		return d
	}
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	if d := ctx.madeDone(); d != nil {
		return d
	}
	d := newRequestDone(ctx.bringer().Context())
	switch {
	case ctx.x == nil: // the zero value
	case ctx.reach == apart || ctx.reach == over: // too late
		d.cancel(ErrRequestDone)
	case ctx.reach == paused:
		ctx.s.addWaiter(d)
	default:
		ctx.s.addWaiter(d)
		d.watch(ctx.x)
	}
	ctx.done.Store(d)
	return d
}

// endDone ends what Done started, after the handler. It reports whether the
// connection broke meanwhile.
func (ctx *RequestCtx) endDone() (broken bool) {
	d := ctx.done.Load()
	if d == nil {
		return false
	}
	if d.stop != nil {
		d.stop()
	}
	ctx.s.removeWaiter(d)
	d.cancel(ErrRequestDone)
	return d.broken.Load()
}

// doneWith is endDone for a context that is there, except where the body of the response
// is still to be read: what writes that stream may wait for Done.
func (ctx *RequestCtx) doneWith(stream bool) (broken bool) {
	if stream {
		return ctx.peerReset()
	}
	return ctx.endDone()
}

// timeOutDone closes Done, also for later calls, because the handler took
// too long.
func (ctx *RequestCtx) timeOutDone() {
	ctx.mu.Lock()
	d := ctx.done.Load()
	if d == nil {
		d = newRequestDone(ctx.bringer().Context())
		ctx.done.Store(d)
	}
	ctx.mu.Unlock()
	d.cancel(ErrTimeout)
}

// pauseDone keeps Done from watching the connection while the server reads the
// body of the request: ExpectHandler has run, and the handler has not. It stays
// open meanwhile.
func (ctx *RequestCtx) pauseDone() {
	ctx.mu.Lock()
	ctx.reach = paused
	d := ctx.done.Load()
	ctx.mu.Unlock()
	if d != nil && d.stop != nil {
		d.stop()
	}
}

// resumeDone ends what pauseDone began.
func (ctx *RequestCtx) resumeDone() {
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	ctx.reach = running
	if d := ctx.done.Load(); d != nil && d.ctx.Err() == nil {
		d.watch(ctx.x)
	}
}

// detachDone makes the context of a request whose connection the handler has taken
// over, with ctx.mu held: it lasts until the handler has returned, and nothing
// watches the connection.
func (ctx *RequestCtx) detachDone() {
	if ctx.done.Load() != nil {
		return
	}
	d := newRequestDone(ctx.bringer().Context())
	ctx.s.addWaiter(d)
	ctx.done.Store(d)
}

// peerReset reports whether the connection is known to have broken.
func (ctx *RequestCtx) peerReset() bool { return ctx.done.Load().broken.Load() }

var _ context.Context = (*RequestCtx)(nil)
var _ io.Writer = (*RequestCtx)(nil)
