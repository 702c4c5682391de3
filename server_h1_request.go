package gale

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/internal/pool"
)

// errStreamClosed is the error of reading a request body after the handler has returned.
var errStreamClosed error = &door.BodyClosed{
	Text: "gale: the request body was closed: it can't be read after the handler has returned",
	Done: ErrRequestDone,
}

// requestStream reads the body of the message in flight from the connection, for a
// handler that reads it as a stream. It is a part of the context and holds no bytes: they
// are in the workspace. Read parks the handler's goroutine in the engine until more bytes
// have arrived. Another goroutine may send during that time; see out.
//
//	a field other than rest is not zero => used
type requestStream struct {
	mu   sync.Mutex // held while a Read waits
	used bool       // set by the goroutine of the session or of the handler: see reset
	ss   *h1Session // nil when it is closed
	ctx  *RequestCtx
	w    *engine.Work
	rest []byte // decoded bytes that were not read, in the workspace
	err  error  // once set, forever
	n    int64  // bytes read
	// limit is the highest n, 0 for none. Another goroutine may set it.
	limit atomic.Int64
	loan  *lifetime.Loan // of the context, nil if its request isn't guarded
	stall time.Duration  // as requestLimits.readStall
	until atomic.Int64   // a clock.Tick: when the whole body must have arrived, 0 for never

	// out is held by the goroutine that uses w.Out or writes, from the head of the
	// message to the end of its response. A goroutine that holds out must not wait for
	// mu. No Read waits for out; see unlock. It also guards answered.
	out      sync.Mutex
	answered bool // the final response has begun, and no 100 may follow
	// owesContinue: the client waits for a 100 before it sends the body. While the
	// handler runs, it is changed only with out held.
	owesContinue atomic.Bool

	waits  atomic.Bool // a Read waits for the client: w.Out must be written first
	writes atomic.Bool // a Read writes, or is about to: see interrupt
	cut    atomic.Bool // no Read may write from now on
	ended  atomic.Bool // a running Read was ended: the connection can't be used again
}

// open begins a body.
func (r *requestStream) open(ss *h1Session, ctx *RequestCtx, w *engine.Work) {
	r.mu.Lock()
	r.used = true
	r.forget()
	r.ss, r.ctx, r.w, r.err, r.stall = ss, ctx, w, nil, ss.cfg.readStall
	r.loan = ctx.loan
	r.until.Store(int64(ss.due))
	r.limit.Store(0)
	r.clearFlags()
	r.mu.Unlock()
}

// shut makes reads fail. It waits for a Read that runs.
func (r *requestStream) shut() {
	r.mu.Lock()
	r.forget()
	r.mu.Unlock()
}

// tryShut is shut, but if a Read runs, it returns false at once.
func (r *requestStream) tryShut() bool {
	if !r.mu.TryLock() {
		return false
	}
	r.forget()
	r.mu.Unlock()
	return true
}

// forget drops the body, with mu held. It keeps err and the fields that out guards,
// because they say what the session may do with the rest of the body, and limit, which a
// late handler may set.
func (r *requestStream) forget() {
	r.ss, r.ctx, r.w, r.rest = nil, nil, nil, nil
	r.n, r.stall = 0, 0
	r.until.Store(0)
}

// reset makes r ready for the next request, after shut.
func (r *requestStream) reset() {
	r.forget()
	r.used, r.err, r.answered, r.loan = false, nil, false, nil
	r.limit.Store(0)
	r.owesContinue.Store(false)
	r.clearFlags()
}

// clearFlags resets the flags about the last body. No Read may run.
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
		used(r.loan)
		return 0, errStreamClosed
	}
	for len(r.rest) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		if n := r.more(p); n > 0 {
			r.n += int64(n)
			return n, nil
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	r.n += int64(n)
	return n, nil
}

// Sizes of the buffer of WriteTo. It grows when a read fills it, so a slow body holds a
// small one.
const (
	minWriteTo = 16 << 10
	maxWriteTo = 64 << 10
)

// WriteTo writes the rest of the body to dst as it arrives. No lock is held while dst
// writes.
func (r *requestStream) WriteTo(dst io.Writer) (sum int64, err error) {
	buf := pool.Get(minWriteTo)
	for err == nil {
		room := buf.B[:cap(buf.B)]
		var n int
		if n, err = r.Read(room); n == 0 {
			continue
		}
		m, werr := dst.Write(room[:n])
		sum += int64(m)
		switch {
		case werr != nil:
			err = werr
		case m != n:
			err = io.ErrShortWrite
		case n == len(room):
			buf.Grow(maxWriteTo)
		}
	}
	pool.Put(buf)
	if err == io.EOF {
		err = nil
	}
	return sum, err
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

// failed reports whether the rest of the body won't arrive, or is still being read.
func (r *requestStream) failed() bool {
	if !r.mu.TryLock() {
		return true
	}
	defer r.mu.Unlock()
	return r.err != nil && r.err != io.EOF && r.err != ErrBodyTooLarge
}

// excuse notes that a 100 was sent, so that reading the body sends none. The caller holds
// out.
func (r *requestStream) excuse() { r.owesContinue.Store(false) }

// flush writes what the client may wait for before it sends more: responses to earlier
// requests, the 100, and the response so far. The caller has set waits. If another
// goroutine holds out, that goroutine sees waits and writes instead. flush doesn't wait
// for that goroutine, because a Read that waits for it couldn't be ended.
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

// interrupt reports whether a Read is writing, and prevents further writes of Reads. Any
// goroutine may call it.
func (r *requestStream) interrupt() (writes bool) {
	r.cut.Store(true)
	return r.writes.Load()
}

// owes100 reports whether the client must get a 100 before it sends the body. The caller
// holds out.
func (r *requestStream) owes100() bool { return r.owesContinue.Load() && !r.answered }

// tell does the work of flush. The caller holds out.
func (r *requestStream) tell(ss *h1Session, w *engine.Work) error {
	if r.owes100() {
		r.owesContinue.Store(false)
		w.Out = append(w.Out, continueLine...)
	}
	return ss.c.Flush(w)
}

// unlock unlocks out after writing everything that a Read may wait for. A Read that began
// to wait while out was held couldn't lock it, so unlock checks again after unlocking. An
// error of a write is returned again by the next write.
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

// maxReadWholeLogs is how often a server logs that streamed bodies are read whole. It has
// a limit because clients could cause many of these lines.
const maxReadWholeLogs = 10

// ReadsWhole is called before the whole body is read into memory. It sets the server's
// limit for bodies if no other limit was set. As in fasthttp it logs a warning, but only
// maxReadWholeLogs times for each server.
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

// StreamedFormLimit returns the server's limit for forms, or no limit if the handler has
// set one for the body.
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

// Close does nothing: the server ends the reading of the body.
func (r *requestStream) Close() error { return nil }

// more decodes bytes, waits for bytes, or sets err. It returns how many bytes of the body
// it has read into p.
func (r *requestStream) more(p []byte) (landed int) {
	data, n := r.decode(r.w.Unread())
	r.w.Consume(n)
	r.rest = data
	if n > 0 || r.err != nil {
		return 0
	}
	r.waits.Store(true)
	defer r.waits.Store(false)
	if r.err = r.flush(); r.err != nil {
		return 0
	}
	due := r.due(clock.Ticks())
	landed, r.err = r.ss.fillInto(r.w, r.direct(p), due)
	if r.err == ErrTimeout && due != 0 && clock.Ticks() >= due {
		r.ss.s.stats.timeouts.Add(1)
	}
	if landed > 0 {
		r.decode(p[:landed])
	}
	return landed
}

// decode decodes from the front of b. It returns the data, a slice of b, and how many
// bytes it consumed, or sets err. It may do both at the end of the body.
func (r *requestStream) decode(b []byte) (data []byte, n int) {
	data, n, done, err := r.ss.body.Next(b)
	limit := r.limit.Load()
	switch {
	case err != nil:
		r.err = err
		return nil, n
	case limit > 0 && r.n+int64(len(data)) > limit:
		r.err = ErrBodyTooLarge
		return nil, n
	case done:
		r.ctx.takeTrailers(r.ss.s.MergeTrailers)
		r.err = io.EOF
	}
	return data, n
}

// minDirect is the least room for a read that doesn't go through the workspace. Smaller
// reads would cost more system calls than the copy does.
const minDirect = 16 << 10

// direct returns the part of p that the next bytes may be read into: at most what is left
// of the body, or of the chunk, and what limit allows. The bytes after the body belong to
// the next message. It returns nil if it is better to read into the workspace.
func (r *requestStream) direct(p []byte) []byte {
	room := min(int64(len(p)), r.ss.body.Left())
	if limit := r.limit.Load(); limit > 0 {
		room = min(room, limit-r.n)
	}
	if room < minDirect {
		return nil
	}
	return p[:room]
}

// due returns the time by which more of the body must have arrived, 0 for never. The last
// bytes arrived at from.
func (r *requestStream) due(from clock.Tick) clock.Tick {
	return bodyDue(from, r.stall, clock.Tick(r.until.Load()))
}

// bodyDue returns the time by which more of a body must have arrived, 0 for never. That
// is stall after from, if stall is above 0, or whole, whichever is earlier.
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

// fill waits for more bytes of the message in flight.
func (ss *h1Session) fill(w *engine.Work, deadline clock.Tick) error {
	_, err := ss.fillInto(w, nil, deadline)
	return err
}

// fillInto is fill by Conn.FillInto.
func (ss *h1Session) fillInto(w *engine.Work, b []byte, deadline clock.Tick) (landed int, err error) {
	landed, err = ss.c.FillInto(w, b, deadline)
	switch {
	case err == io.EOF:
		err = io.ErrUnexpectedEOF
	case err != nil && engine.IsTimeout(err):
		err = ErrTimeout
	}
	return landed, err
}

// unreadBody reports whether a part of the request's body was not read. No goroutine may
// be reading it during the call.
func (ss *h1Session) unreadBody() bool { return ss.hasBody && !ss.body.Done() }

// leavesBody is unreadBody for the time while the handler runs: if a Read is running, it
// returns true.
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

// Limits of drain.
const (
	maxDrain     = 256 << 10
	maxDrainTime = time.Second
)

// mayDrain reports whether the server should read the rest of the body that the handler
// left, so that the connection can be used again. It consumes the bytes that have
// arrived.
func (ss *h1Session) mayDrain(ctx *RequestCtx, w *engine.Work) bool {
	if ctx.stream.owesContinue.Load() || ss.aborted {
		return false // the client may or may not send the body
	}
	if ss.cfg.stream && ctx.stream.failed() {
		return false
	}
	if ctx.isDetached() {
		ss.body.DropTrailers() // the program may be reading those of ctx
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

// drain reads the rest of the body after mayDrain, when w.Out is written. It returns
// false if the rest is too large, takes too long or never arrives.
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
