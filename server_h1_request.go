package gale

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/engine"
)

// errStreamClosed is what reading a request body returns after the handler.
var errStreamClosed = fmt.Errorf("gale: %w: it can't be read after the handler has returned", door.ErrBodyClosed)

// requestStream reads the body of the message in flight from the connection,
// for a handler that takes it as a stream. It lives in the context and holds no
// bytes: what it returns comes from the workspace, and Read parks the goroutine
// of the handler in the engine until more has arrived. Another goroutine may send
// meanwhile: see out.
//
//	a field other than rest is not zero => used
type requestStream struct {
	mu   sync.Mutex // held while a Read waits
	used bool       // set by the goroutine of the session or of the handler: see reset
	ss   *h1Session // nil when it is closed
	ctx  *RequestCtx
	w    *engine.Work
	rest []byte // decoded and not read, in the workspace
	err  error  // once set, forever
	n    int64  // bytes read
	// limit is the highest n, 0 for none. Another goroutine may set it.
	limit atomic.Int64
	stall time.Duration // as requestLimits.readStall
	until atomic.Int64  // a clock.Tick: when the whole body must have come, 0 for never

	// out is held by who uses w.Out or writes, from the head of the message to the end of
	// its response, and by no one who waits for mu. No Read waits for it: see unlock. It guards
	// answered.
	out      sync.Mutex
	answered bool // the final response has begun, and no 100 may follow
	// owesContinue: the client waits for a 100 before it sends the body. It is changed under
	// out, once the handler runs.
	owesContinue atomic.Bool

	waits  atomic.Bool // a Read waits for the client: nothing may stay in w.Out
	writes atomic.Bool // a Read writes, or is about to: see interrupt
	cut    atomic.Bool // no Read may write any more
	ended  atomic.Bool // a Read was ended while it ran: the connection can't be used on
}

// open begins a body.
func (r *requestStream) open(ss *h1Session, ctx *RequestCtx, w *engine.Work) {
	r.mu.Lock()
	r.used = true
	r.forget()
	r.ss, r.ctx, r.w, r.err, r.stall = ss, ctx, w, nil, ss.cfg.readStall
	r.until.Store(int64(ss.due))
	r.limit.Store(0)
	r.clearFlags()
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

// forget drops the body under mu, except for what out guards and err, which say what the
// session may do with the rest of it, and limit, which a late handler may set.
func (r *requestStream) forget() {
	r.ss, r.ctx, r.w, r.rest = nil, nil, nil, nil
	r.n, r.stall = 0, 0
	r.until.Store(0)
}

// reset makes r ready for the next request, after shut.
func (r *requestStream) reset() {
	r.forget()
	r.used, r.err, r.answered = false, nil, false
	r.limit.Store(0)
	r.owesContinue.Store(false)
	r.clearFlags()
}

// clearFlags forgets what happened to the body before. No Read runs.
func (r *requestStream) clearFlags() {
	for _, flag := range [...]*atomic.Bool{&r.waits, &r.writes, &r.cut, &r.ended} {
		flag.Store(false)
	}
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

// reads reports whether a Read runs.
func (r *requestStream) reads() bool {
	if !r.mu.TryLock() {
		return true
	}
	r.mu.Unlock()
	return false
}

// Buffered returns how many bytes of the body have arrived and were not read. Package
// reverse asks for it.
func (r *requestStream) Buffered() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ss == nil || r.err != nil {
		return len(r.rest)
	}
	return len(r.rest) + int(min(int64(len(r.w.Unread())), max(r.ss.body.Left(), 0)))
}

// Taken returns how many bytes of the body were read. Package reverse asks for it.
func (r *requestStream) Taken() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}

// failed reports whether the rest of the body won't come, or is still being read.
func (r *requestStream) failed() bool {
	if !r.mu.TryLock() {
		return true
	}
	defer r.mu.Unlock()
	return r.err != nil && r.err != io.EOF && r.err != ErrBodyTooLarge
}

// excuse lets the body be read without a 100: one was sent. It is called under out.
func (r *requestStream) excuse() { r.owesContinue.Store(false) }

// flush writes what the client may wait for before it sends more: answers to earlier
// requests, the 100, what there is of the response. Where another goroutine has out, that one
// does: it finds waits, which the caller has set. A Read that waited for the other goroutine
// could not be ended before that.
func (r *requestStream) flush() error {
	if !r.out.TryLock() {
		return nil
	}
	r.writes.Store(true)
	defer r.writes.Store(false)
	defer r.unlock(r.ss, r.w)
	if r.cut.Load() {
		return errStreamClosed
	}
	return r.tell(r.ss, r.w)
}

// interrupt reports whether a Read writes, and lets none write from now on. Any goroutine may
// call it.
func (r *requestStream) interrupt() (writes bool) {
	r.cut.Store(true)
	return r.writes.Load()
}

// owes100 reports whether the client is to be told that it may send the body. It is called
// under out.
func (r *requestStream) owes100() bool { return r.owesContinue.Load() && !r.answered }

// tell does what flush is for, under out.
func (r *requestStream) tell(ss *h1Session, w *engine.Work) error {
	if r.owes100() {
		r.owesContinue.Store(false)
		w.Out = append(w.Out, continueLine...)
	}
	return ss.c.Flush(w)
}

// unlock unlocks out, once nothing is left for which a Read may wait. One that began to wait
// when out was held couldn't lock it, so unlock looks again. An error of a write comes
// again at the next one.
func (r *requestStream) unlock(ss *h1Session, w *engine.Work) {
	for {
		if r.waits.Load() && !r.cut.Load() {
			_ = r.tell(ss, w)
		}
		r.out.Unlock()
		if !r.waits.Load() || r.cut.Load() || !r.out.TryLock() {
			return
		}
		if len(w.Out) == 0 && !r.owes100() {
			r.out.Unlock()
			return
		}
	}
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
	if r.limit.Load() == 0 && r.ss != nil {
		r.limit.Store(int64(max(r.ss.cfg.maxBody, DefaultMaxRequestBodySize)))
	}
}

// WholeLimit returns the limit for BindJSON.
func (r *requestStream) WholeLimit() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if limit := r.limit.Load(); limit > 0 {
		return limit
	}
	if r.ss == nil {
		return DefaultMaxRequestBodySize
	}
	return int64(r.ss.cfg.maxBody)
}

// StreamedFormLimit returns the server's limit for forms. There is none where the
// handler has set a limit for the body.
func (r *requestStream) StreamedFormLimit() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.limit.Load() > 0:
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
	limit := r.limit.Load()
	switch {
	case err != nil:
		r.err = err
		return
	case limit > 0 && r.n+int64(len(data)) > limit:
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
	r.waits.Store(true)
	defer r.waits.Store(false)
	if r.err = r.flush(); r.err != nil {
		return
	}
	due := r.due(clock.Ticks())
	r.err = ss.fill(r.w, due)
	if r.err == ErrTimeout && due != 0 && clock.Ticks() >= due {
		ss.s.stats.timeouts.Add(1)
	}
}

// due returns until when more of the body must have arrived, 0 for never, if the last of
// it came at from.
func (r *requestStream) due(from clock.Tick) clock.Tick {
	return bodyDue(from, r.stall, clock.Tick(r.until.Load()))
}

// bodyDue returns until when more of a body must have arrived, 0 for never: until the end of
// stall, if it is above 0, after from, or until the whole body is due.
func bodyDue(from clock.Tick, stall time.Duration, whole clock.Tick) clock.Tick {
	if stall <= 0 {
		return whole
	}
	due := from.Add(stall)
	if whole != 0 {
		due = min(due, whole)
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

// unreadBody reports whether part of the request's body has not been read. No goroutine
// may be reading it.
func (ss *h1Session) unreadBody() bool { return ss.hasBody && !ss.body.Done() }

// leavesBody is unreadBody while the handler runs: a Read that runs counts as part that was
// not read.
func (ss *h1Session) leavesBody(ctx *RequestCtx) bool {
	if !ss.hasBody || !ss.cfg.stream {
		return ss.unreadBody()
	}
	if !ctx.stream.mu.TryLock() {
		return true
	}
	defer ctx.stream.mu.Unlock()
	return ss.unreadBody()
}

// Bounds of drain.
const (
	maxDrain     = 256 << 10
	maxDrainTime = time.Second
)

// mayDrain reports whether it is worth reading what the handler left of the
// body, so that the connection can be used on. It takes what has arrived.
func (ss *h1Session) mayDrain(ctx *RequestCtx, w *engine.Work) bool {
	if ctx.stream.owesContinue.Load() || ss.aborted {
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

// drain goes on where mayDrain ended, when w.Out is written; false if what the handler left
// is too much, takes too long or never comes.
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
