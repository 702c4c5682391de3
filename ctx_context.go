package gale

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// Causes why a request's Done channel was closed, see context.Cause of
// RequestCtx.Context. Others are context.Canceled, when the server shuts down,
// and ErrTimeout of a TimeoutHandler.
var (
	// ErrClientGone says that the client ended or broke the connection while
	// the handler ran. Not in fasthttp.
	ErrClientGone = errors.New("gale: the client has gone")
	// ErrRequestDone says that the handler has returned and a body stream that it
	// set was sent. Not in fasthttp.
	ErrRequestDone = errors.New("gale: the request was answered")
)

// requestDone is what those who wait for the end of a request hold. It is made
// when somebody asks, so that requests nobody asks about don't pay.
type requestDone struct {
	ch     chan struct{}
	stop   func() // ends the watch of the connection
	reset  bool   // the connection broke: nobody is there for an answer
	mu     sync.Mutex
	err    error
	cause  error
	onDone []func(cause error)
}

// cancel closes the channel; the first cause counts.
func (d *requestDone) cancel(cause error) {
	d.mu.Lock()
	if d.err != nil {
		d.mu.Unlock()
		return
	}
	d.err, d.cause = context.Canceled, cause
	close(d.ch)
	fns := d.onDone
	d.onDone = nil
	d.mu.Unlock()
	for _, f := range fns {
		f(cause)
	}
}

// Done returns a channel that is closed when the client leaves, when the server
// shuts down, or when the handler has returned and a body stream that it set was
// sent, whichever comes first.
//
// It costs nothing until it is called; then the connection is watched while the
// handler runs. A client that ended only its own side (a FIN) closes the
// channel too, but gets its answer. fasthttp closes the channel at shutdown only.
//
// It may be called from any goroutine while the handler runs.
func (ctx *RequestCtx) Done() <-chan struct{} {
	if o := ctx.outer(); o != nil {
		return o.Context().Done()
	}
	return ctx.requestDone().ch
}

// Err returns context.Canceled once Done is closed, else nil. Like Done it has
// the connection watched.
func (ctx *RequestCtx) Err() error {
	if o := ctx.outer(); o != nil {
		return o.Context().Err()
	}
	d := ctx.requestDone()
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// Deadline returns false: a request has no deadline of its own.
func (ctx *RequestCtx) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Value returns the user value of key or, if there is none, what the context of
// the connection knows (see Server.ConnContext).
func (ctx *RequestCtx) Value(key any) any {
	if v := ctx.UserValue(key); v != nil {
		return v
	}
	if ctx.ss != nil {
		if parent := ctx.ss.parent(); parent != nil {
			return parent.Value(key)
		}
	}
	if o := ctx.outer(); o != nil {
		return o.Context().Value(key)
	}
	return nil
}

// Context returns a context that is safe to keep: it is cancelled when Done
// would be closed, and knows the values of the connection's context, but not
// the user values of the request. Not in fasthttp.
func (ctx *RequestCtx) Context() context.Context {
	if o := ctx.outer(); o != nil {
		return o.Context()
	}
	var parent context.Context
	if ctx.ss != nil {
		parent = ctx.ss.parent()
	}
	if parent == nil {
		parent = context.Background()
	}
	c, cancel := context.WithCancelCause(parent)
	d := ctx.requestDone()
	d.mu.Lock()
	if d.err != nil {
		cause := d.cause
		d.mu.Unlock()
		cancel(cause)
		return c
	}
	d.onDone = append(d.onDone, cancel)
	d.mu.Unlock()
	return c
}

// requestDone returns what Done is about, making it at the first call.
func (ctx *RequestCtx) requestDone() *requestDone {
	if d := ctx.done.Load(); d != nil {
		return d
	}
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	if d := ctx.done.Load(); d != nil {
		return d
	}
	d := &requestDone{ch: make(chan struct{})}
	defer ctx.done.Store(d)
	if ctx.ss == nil {
		return d
	}
	if ctx.work == nil { // too late
		d.cancel(ErrRequestDone)
		return d
	}
	if !ctx.s.addWaiter(ctx.ss, d) {
		d.cancel(context.Canceled)
		return d
	}
	d.stop = ctx.ss.c.Watch(func(reset bool) {
		d.mu.Lock()
		d.reset = reset
		d.mu.Unlock()
		d.cancel(ErrClientGone)
	})
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
	return d.reset
}

// peerReset reports whether the connection is known to have broken.
func (ctx *RequestCtx) peerReset() bool {
	d := ctx.done.Load()
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reset
}

// addWaiter registers d for the shutdown; false means that it has begun.
func (s *Server) addWaiter(ss *session, d *requestDone) bool {
	s.run.mu.Lock()
	defer s.run.mu.Unlock()
	if ss.c.Stopping() {
		return false
	}
	if s.run.waiters == nil {
		s.run.waiters = make(map[*requestDone]struct{})
	}
	s.run.waiters[d] = struct{}{}
	return true
}

func (s *Server) removeWaiter(d *requestDone) {
	s.run.mu.Lock()
	delete(s.run.waiters, d)
	s.run.mu.Unlock()
}

var _ context.Context = (*RequestCtx)(nil)
var _ io.Writer = (*RequestCtx)(nil)
