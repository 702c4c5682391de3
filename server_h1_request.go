package gale

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/engine"
)

// errStreamClosed is what reading a request body returns after the handler.
var errStreamClosed = errors.New("gale: the request body was closed: it can't be read after the handler has returned")

// requestStream reads the body of the message in flight from the connection,
// for a handler that takes it as a stream. It lives in the context and holds no
// bytes: what it returns comes from the workspace, and Read parks the goroutine
// of the handler in the engine until more has arrived.
type requestStream struct {
	mu   sync.Mutex
	ss   *h1Session // nil when it is closed
	ctx  *RequestCtx
	w    *engine.Work
	rest []byte // decoded and not read, in the workspace
	err  error  // once set, forever
	n    int64  // bytes read
	// limit is the highest n, 0 for none.
	limit int64
	// owesContinue: the client waits for a 100 before it sends the body.
	owesContinue bool
	// answered: the final response has begun, and no 100 may follow. A Read may run
	// when it is set.
	answered atomic.Bool
}

// open begins a body.
func (r *requestStream) open(ss *h1Session, ctx *RequestCtx, w *engine.Work) {
	r.mu.Lock()
	r.forget()
	r.ss, r.ctx, r.w, r.err, r.limit = ss, ctx, w, nil, 0
	r.mu.Unlock()
}

// shut makes reads fail; it waits for one that runs.
func (r *requestStream) shut() {
	r.mu.Lock()
	r.forget()
	r.mu.Unlock()
}

// tryShut is shut, unless a read runs: then it returns false.
func (r *requestStream) tryShut() bool {
	if !r.mu.TryLock() {
		return false
	}
	r.forget()
	r.mu.Unlock()
	return true
}

// forget drops the body under mu, except for owesContinue, answered and err, which say
// what the session may do with the rest of it, and limit, which a late handler may set.
func (r *requestStream) forget() {
	r.ss, r.ctx, r.w, r.rest = nil, nil, nil, nil
	r.n = 0
}

// Read reads the body as it arrives.
func (r *requestStream) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ss == nil {
		return 0, errStreamClosed
	}
	for len(r.rest) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		r.more()
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	r.n += int64(n)
	return n, nil
}

// failed reports whether the rest of the body won't come, or is still being read.
func (r *requestStream) failed() bool {
	if !r.mu.TryLock() {
		return true
	}
	defer r.mu.Unlock()
	return r.err != nil && r.err != io.EOF && r.err != ErrBodyTooLarge
}

// excuse lets the body be read without a 100: one was sent.
func (r *requestStream) excuse() {
	r.mu.Lock()
	r.owesContinue = false
	r.mu.Unlock()
}

// maxReadWholeLogs is how often a server tells that streamed bodies are read whole:
// often enough to be noticed, whatever its clients send.
const maxReadWholeLogs = 10

// ReadsWhole holds a reader of the whole body to the limit of bodies, if no other
// one was set, and logs that it is no good idea, as fasthttp does, but only the
// first times in the life of a server.
func (r *requestStream) ReadsWhole() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ss != nil && r.ss.s.run.readWhole.Load() < maxReadWholeLogs {
		r.ss.s.run.readWhole.Add(1)
		r.ss.s.logger().Printf("gale: Request.Body() reads the entire stream into memory. " +
			"Use Request.BodyStream() or Request.BodyWriteTo() instead to avoid out-of-memory errors.")
	}
	if r.limit == 0 && r.ss != nil {
		r.limit = int64(max(r.ss.cfg.maxBody, DefaultMaxRequestBodySize))
	}
}

// StreamedFormLimit returns the server's limit for forms. There is none where the
// handler has set a limit for the body.
func (r *requestStream) StreamedFormLimit() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.limit > 0:
		return -1
	case r.ss == nil:
		return 0
	}
	return int64(r.ss.s.MaxStreamedFormSize)
}

// Close ends the reading of the body by the handler.
func (r *requestStream) Close() error { return nil }

// more decodes or waits for bytes, or sets err.
func (r *requestStream) more() {
	ss := r.ss
	data, n, done, err := ss.body.Next(r.w.Unread())
	r.w.Consume(n)
	switch {
	case err != nil:
		r.err = err
		return
	case r.limit > 0 && r.n+int64(len(data)) > r.limit:
		r.err = ErrBodyTooLarge
		return
	}
	r.rest = data
	if done {
		r.ctx.takeTrailers(ss.s.MergeTrailers)
		r.err = io.EOF
		return
	}
	if n > 0 {
		return
	}
	if r.owesContinue && !r.answered.Load() {
		r.owesContinue = false
		r.w.Out = append(r.w.Out, continueLine...)
	}
	due := ss.bodyDue(clock.Ticks())
	r.err = ss.fill(r.w, due)
	if r.err == ErrTimeout && due != 0 && clock.Ticks() >= due {
		ss.s.stats.timeouts.Add(1)
	}
}

// bodyDue returns until when more of a body must have arrived, 0 for never, if the
// last of it came at from.
func (ss *h1Session) bodyDue(from clock.Tick) clock.Tick {
	d := ss.cfg.readStall
	if d <= 0 {
		return ss.due
	}
	due := from.Add(d)
	if ss.due != 0 {
		due = min(due, ss.due)
	}
	return due
}

// fill waits for more of a message in flight.
func (ss *h1Session) fill(w *engine.Work, deadline clock.Tick) error {
	err := ss.c.Fill(w, deadline)
	switch {
	case err == io.EOF:
		return io.ErrUnexpectedEOF
	case engine.IsTimeout(err):
		return ErrTimeout
	}
	return err
}

// unreadBody reports whether part of the request's body has not been read.
func (ss *h1Session) unreadBody() bool { return ss.hasBody && !ss.body.Done() }

// Bounds of drain.
const (
	maxDrain     = 256 << 10
	maxDrainTime = time.Second
)

// mayDrain reports whether it is worth reading what the handler left of the
// body, so that the connection can be used on. It takes what has arrived.
func (ss *h1Session) mayDrain(ctx *RequestCtx, w *engine.Work) bool {
	if ctx.stream.owesContinue || ss.aborted {
		return false // the client may or may not send the body
	}
	if ss.cfg.stream && ctx.stream.failed() {
		return false
	}
	for ss.drained = 0; ss.drained <= maxDrain; {
		data, n, done, err := ss.body.Next(w.Unread())
		if err != nil {
			return false
		}
		w.Consume(n)
		ss.drained += int32(len(data))
		if done {
			return ss.drained <= maxDrain
		}
		if n == 0 {
			return ss.body.Left() <= maxDrain-int64(ss.drained)
		}
	}
	return false
}

// drain goes on where mayDrain ended; false if what the handler left is too
// much, takes too long or never comes.
func (ss *h1Session) drain(w *engine.Work) bool {
	deadline := clock.Ticks().Add(maxDrainTime)
	if d := ss.due; d != 0 {
		deadline = min(deadline, d)
	}
	for ss.drained <= maxDrain {
		data, n, done, err := ss.body.Next(w.Unread())
		if err != nil {
			return false
		}
		w.Consume(n)
		if ss.drained += int32(len(data)); done {
			return ss.drained <= maxDrain
		}
		if n == 0 && ss.fill(w, deadline) != nil {
			return false
		}
	}
	return false
}
