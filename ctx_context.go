package gale

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/door"
)

// Causes for which a request's Done channel is closed. context.Cause returns the same one
// for a RequestCtx, for its Context, and for contexts that are derived from them. Other
// causes are context.Canceled, when the server shuts down; ErrTimeout, of a
// TimeoutHandler; and the cause of the connection's context (see Server.ConnContext).
var (
	// ErrClientGone says that the client ended or broke the connection while
	// the handler ran.
	ErrClientGone = errors.New("gale: the client has gone")
	// ErrRequestDone says that the handler has returned and, if it set a body stream,
	// that the stream was sent.
	ErrRequestDone = errors.New("gale: the request was answered")
)

// requestDone is what ends the contexts of a request. It is made at the first call of
// Done, Err or Context, so that other requests don't pay for it. It outlives the
// RequestCtx and never belongs to another request.
type requestDone struct {
	parent  context.Context
	foreign bool   // see door.Unhurried
	stop    func() // ends the watch of the connection; nil if there was none
	broken  atomic.Bool
	// held says that Done or Err was called before Detach, so that package context may hold
	// the RequestCtx as the parent of a context, and the program the channel of ctx. Then the
	// RequestCtx must not be used again.
	held atomic.Bool
	// detached says that the RequestCtx belongs to the program, see RequestCtx.Detach. It
	// is set under RequestCtx.mu.
	detached atomic.Bool

	mu      sync.Mutex
	over    error       // why the request has ended; a shutdown doesn't end it
	lost    error       // likewise, but a client that ended only its own side doesn't end it either
	reason  error       // why it ends, whatever shows that; nil if that is not known before
	unused  bool        // the server doesn't use the RequestCtx any more
	hurried bool        // the server shuts down
	made    atomic.Bool // ctx is set, and has ended if it must

	// Made by Detach, before detached is set: the context of RequestCtx.Done from then on.
	// It ends when the server has used the RequestCtx for the last time.
	last    context.Context
	endLast context.CancelCauseFunc

	// Made at the first use: the context that ends with the request or with a shutdown, the
	// one that a shutdown doesn't end, and the one that ends with lost.
	ctx       context.Context
	cancel    context.CancelCauseFunc
	unhurried *door.Unhurried
	patient   *door.Unhurried

	view   *valuesContext // what Context returned last, nil if it had no user values
	viewOf uint32         // Request.valueChanges at that time
}

func newRequestDone(parent context.Context) *requestDone {
	if parent == nil {
		parent = context.Background()
	}
	return &requestDone{parent: parent}
}

// overDone is the requestDone of contexts that serve no request at the moment.
var overDone = func() *requestDone {
	d := newRequestDone(context.Background())
	d.end(ErrRequestDone)
	return d
}()

// context returns the context that ends with the request or with a shutdown. It holds no lock
// while it calls methods of the parent: they may be the program's, and end the server.
func (d *requestDone) context() context.Context {
	if d.made.Load() {
		return d.ctx
	}
	d.setContext(context.WithCancelCause(d.parent))
	return d.ctx
}

// setContext sets ctx, unless another goroutine was faster.
func (d *requestDone) setContext(ctx context.Context, cancel context.CancelCauseFunc) {
	d.mu.Lock()
	first := d.ctx == nil
	if first {
		d.ctx, d.cancel = ctx, cancel
	}
	cause := d.over
	if cause == nil && d.hurried {
		cause = context.Canceled
	}
	d.mu.Unlock()
	if !first {
		cancel(nil)
	}
	if cause != nil {
		d.cancel(cause)
	}
	d.made.Store(true)
}

// notHurried returns the context of the request that a shutdown doesn't end.
func (d *requestDone) notHurried() *door.Unhurried { return d.lasting(&d.unhurried, &d.over) }

// notHalved is notHurried for the context that ends with lost.
func (d *requestDone) notHalved() *door.Unhurried { return d.lasting(&d.patient, &d.lost) }

// lasting returns the context in place, and makes it if there is none. over is why it has ended.
// As for context, it holds no lock while it calls methods of the parent.
func (d *requestDone) lasting(place **door.Unhurried, over *error) *door.Unhurried {
	d.mu.Lock()
	u := *place
	d.mu.Unlock()
	if u != nil {
		return u
	}
	ctx, cancel := context.WithCancelCause(d.parent)
	own := &door.Unhurried{Context: ctx, Cancel: cancel, Foreign: d.foreign}
	d.mu.Lock()
	if *place == nil {
		*place = own
	}
	u = *place
	cause := *over
	d.mu.Unlock()
	if u != own {
		cancel(nil) // another goroutine was faster
	}
	if cause != nil {
		u.Cancel(cause)
	}
	return u
}

// values returns a context with the values and the deadline of the request's contexts.
func (d *requestDone) values() context.Context {
	if d.made.Load() {
		return d.ctx
	}
	return d.parent
}

// watch makes d end when the client leaves, or now if the request has ended.
func (d *requestDone) watch(x exchange) {
	var over error
	switch d.stop, over = x.Watch(d); over {
	case nil:
	case context.Canceled:
		d.hurry()
	default:
		d.end(over)
	}
}

// detach gives the RequestCtx to the program. Afterwards RequestCtx.Done is that of last.
// context was called before.
func (d *requestDone) detach() {
	d.mu.Lock()
	d.last, d.endLast = context.WithCancelCause(context.WithoutCancel(d.parent))
	unused := d.unused
	d.mu.Unlock()
	d.detached.Store(true)
	if unused {
		d.endLast(context.Cause(d.ctx))
	}
}

// own returns the context of RequestCtx.Done.
func (d *requestDone) own() context.Context {
	if d.detached.Load() {
		return d.last
	}
	return d.context()
}

// err is RequestCtx.Err. If Done was called before Detach, some code may have the channel of
// that call: when it is closed, package context must find an error.
func (d *requestDone) err() error {
	if !d.detached.Load() {
		return d.context().Err()
	}
	if err := d.last.Err(); err != nil || !d.held.Load() {
		return err
	}
	return d.ctx.Err()
}

// endAll is end for a RequestCtx that the server doesn't use any more. It also ends last.
func (d *requestDone) endAll(cause error) {
	d.end(cause)
	d.mu.Lock()
	d.unused = true
	endLast := d.endLast
	d.mu.Unlock()
	if endLast != nil {
		endLast(context.Cause(d.ctx))
	}
}

// endsWith makes cause that of the end that is about to come.
func (d *requestDone) endsWith(cause error) {
	d.mu.Lock()
	d.reason = cause
	d.mu.Unlock()
}

// end ends the contexts of the request, except last.
func (d *requestDone) end(cause error) {
	d.halve(cause)
	d.mu.Lock()
	if d.lost == nil {
		d.lost = cmp.Or(d.reason, cause)
	}
	cause = d.lost
	u := d.patient
	d.mu.Unlock()
	if u != nil {
		u.Cancel(cause)
	}
}

// halve is end for a client that ended only its own side: patient goes on.
func (d *requestDone) halve(cause error) {
	d.mu.Lock()
	if d.over == nil {
		d.over = cmp.Or(d.reason, cause)
	}
	cause = d.over
	cancel, u := d.cancel, d.unhurried
	d.mu.Unlock()
	if cancel != nil {
		cancel(cause)
	}
	if u != nil {
		u.Cancel(cause)
	}
}

// hurry closes Done, because the server shuts down.
func (d *requestDone) hurry() {
	d.mu.Lock()
	d.hurried = true
	cancel := d.cancel
	d.mu.Unlock()
	if cancel != nil {
		cancel(context.Canceled)
	}
}

// isOver reports whether the request has ended.
func (d *requestDone) isOver() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.over != nil
}

// Gone implements door.Done.
func (d *requestDone) Gone(cause error, reset bool) {
	d.broken.Store(reset)
	if !reset {
		d.halve(cause)
		return
	}
	d.end(cause)
}

// Done returns a channel that is closed by the first of these events:
//
//   - the client leaves
//   - the server shuts down (with Server.DrainTime: after that time)
//   - the context of the connection ends (see Server.ConnContext)
//   - the handler has returned, and the body stream that it may have set was sent
//
// After Detach, Done returns a channel of its own. It is closed when the server has used ctx
// for the last time, and by nothing else: see Detach. A channel that Done returned before
// Detach is still closed by the events above, as is that of Context.
//
// On a net/http server, the context of its request is used in place of the connection's
// context.
//
// It costs nothing until it is called. From then on the server watches the connection
// while the handler runs. After a call of Done, ctx is not reused for another request,
// because contexts may be derived from it. That costs a new RequestCtx. Context doesn't
// cost that. The channel is also closed if the client ends only its own side of
// the connection (a FIN); such a client still gets its response. In fasthttp only a
// shutdown closes the channel.
//
// It may be called from any goroutine while the handler runs.
func (ctx *RequestCtx) Done() <-chan struct{} { return ctx.heldDone().own().Done() }

// Err returns nil until Done is closed, and the same non-nil error forever afterwards:
// context.Canceled, or the error of the context of the connection. context.Cause tells
// more; see ErrClientGone. Like Done, Err makes the server watch the connection. If Done or
// Err was called before Detach, Err isn't nil either when a channel of that time is closed.
func (ctx *RequestCtx) Err() error { return ctx.heldDone().err() }

// Deadline returns the deadline of the connection's context (see Server.ConnContext) or,
// on a net/http server, of its request. A request has no deadline of its own. After Detach
// there is none: a deadline doesn't close Done then.
func (ctx *RequestCtx) Deadline() (deadline time.Time, ok bool) {
	if !ctx.isHeld() {
		used(ctx.loan)
	}
	if d := ctx.madeDone(); d != nil {
		if d.detached.Load() {
			return time.Time{}, false
		}
		return d.values().Deadline()
	}
	if parent := ctx.bringer().Context(); parent != nil {
		return parent.Deadline()
	}
	return time.Time{}, false
}

// Value returns the user value of key or, if there is none, the value in the connection's
// context (see Server.ConnContext).
//
// A context made by context.WithValue(ctx, ...) calls this method for its other values.
// The server can't see that such a context exists, so it must not be used after the
// handler has returned. If a context must last longer, derive it from Context.
func (ctx *RequestCtx) Value(key any) any {
	if ctx.loan != nil && ctx.loan.Over() {
		return ctx.lateValue(key)
	}
	if own := ctx.ownContext(key); own != nil { // before the values, which may be changing: package context asks at any time
		return own
	}
	if v := ctx.Request.userValues.get(key); v != nil { // not UserValue: a late call must read nothing that changes
		return v
	}
	if d := ctx.madeDone(); d != nil {
		return d.values().Value(key)
	}
	if parent := ctx.bringer().Context(); parent != nil {
		return parent.Value(key)
	}
	return nil
}

// ownContext returns the context of the request if key is the one by which package
// context finds a context that it made itself. Package context then adds derived contexts
// to that one, without a goroutine for each. Any goroutine may call it at any time, as
// package context does.
func (ctx *RequestCtx) ownContext(key any) any {
	d := ctx.madeDone()
	if d == nil || !d.made.Load() {
		return nil
	}
	own := d.own()
	if v := own.Value(key); v == any(own) {
		return v
	}
	return nil
}

// heldDone is requestDone for calls after which package context may hold ctx.
func (ctx *RequestCtx) heldDone() *requestDone {
	d := ctx.requestDone()
	if !d.held.Load() || d == overDone {
		if lapsed(ctx.loan) {
			return d // package context got ctx too late
		}
		if !d.detached.Load() {
			d.held.Store(true)
		}
	}
	return d
}

// madeDone returns the context of the request if it was made already, else nil.
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
	if ctx.loan != nil && ctx.loan.Over() {
		return overDone
	}
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	if d := ctx.madeDone(); d != nil {
		return d
	}
	d := newRequestDone(ctx.bringer().Context())
	id, _ := ctx.bringer().Opened()
	d.foreign = id == 0
	switch {
	case ctx.x == nil: // the zero value
	case ctx.reach == apart || ctx.reach == over: // too late
		d.end(ErrRequestDone)
	case ctx.reach == paused:
		ctx.s.addWaiter(d)
	default:
		ctx.s.addWaiter(d)
		d.watch(ctx.x)
	}
	ctx.done.Store(d)
	return d
}

// endDone ends what Done started, after the handler has returned. It reports whether the
// connection broke in the meantime.
func (ctx *RequestCtx) endDone() (broken bool) {
	d := ctx.done.Load()
	if d == nil {
		return false
	}
	if d.stop != nil {
		d.stop()
	}
	ctx.s.removeWaiter(d)
	d.endAll(ErrRequestDone)
	return d.broken.Load()
}

// doneWith calls endDone if a context was made, except while the body stream of the
// response is still to be read: the writer of that stream may wait for Done. Done of a
// detached context is closed later, see Detach.
func (ctx *RequestCtx) doneWith(stream bool) (broken bool) {
	if stream || ctx.isDetached() {
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
	d.endAll(ErrTimeout)
}

// pauseDone stops watching the connection for Done while the server reads the body of the
// request, after ExpectHandler and before the handler. Done stays open during that time.
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
	ctx.reach = running
	d := ctx.done.Load()
	if d == nil {
		ctx.mu.Unlock() // without defer, since this is the hot path
		return
	}
	defer ctx.mu.Unlock()
	if !d.isOver() {
		d.watch(ctx.x)
	}
}

// detachDone makes the context of a request whose connection the handler has taken over.
// The caller holds ctx.mu. The context lasts until the handler has returned, and nothing
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
