package gale

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/engine"
)

// requestStream reads the body of the message in flight from the connection, for a
// handler that reads it as a stream. It is a part of the context and holds no bytes: they
// are in the workspace. A read parks the handler's goroutine in the engine until more bytes
// have arrived. Another goroutine may send during that time; see out. It is read through a
// bodyHandle, whose lock busy guards the fields from ss to n.
//
//	a field other than rest is not zero => used
type requestStream struct {
	own     ownBody
	lent    atomic.Pointer[bodyHandle] // what the program got in place of own, or nil
	used    bool                       // set by the goroutine of the session or of the handler: see reset
	ss      *h1Session                 // nil when it is closed
	ctx     *RequestCtx
	w       *engine.Work
	rest    []byte       // decoded bytes that were not read, in the workspace
	err     error        // once set, forever
	n       int64        // bytes read
	section atomic.Int32 // where the trailer section goes: sectionDue and so on
	// limit is the highest n, 0 for none. Another goroutine may set it.
	limit atomic.Int64
	stall time.Duration // as requestLimits.readStall
	until atomic.Int64  // a clock.Tick: when the whole body must have arrived, 0 for never

	// out is held by the goroutine that uses w.Out or writes, from the head of the
	// message to the end of its response. A goroutine that holds out must not wait for
	// busy of a handle. No Read waits for out; see unlock. It also guards answered.
	out      sync.Mutex
	answered bool // the final response has begun, and no 100 may follow
	// owesContinue: the client waits for a 100 before it sends the body. While the
	// handler runs, it is changed only with out held.
	owesContinue atomic.Bool
	// notAsked: the final response has begun, and the 100 is still owed. A Read that would
	// wait for the first byte fails.
	notAsked atomic.Bool

	waits  atomic.Bool // a Read waits for the client: w.Out must be written first
	writes atomic.Bool // a Read writes, or is about to: see interrupt
	cut    atomic.Bool // no Read may write from now on
	ended  atomic.Bool // a running Read was ended: the connection can't be used again
}

// open begins a body. r is new, or was reset.
func (r *requestStream) open(ss *h1Session, ctx *RequestCtx, w *engine.Work) {
	r.own.busy.Lock()
	defer r.own.busy.Unlock()
	r.used = true
	r.ss, r.ctx, r.w, r.err, r.stall = ss, ctx, w, nil, ss.cfg.readStall
	r.until.Store(int64(ss.due))
	r.limit.Store(0)
	r.clearFlags()
	r.own.loan = ctx.loan
	r.own.refer(r)
}

// handle returns the handle that refers to r, or that was the last one.
func (r *requestStream) handle() *bodyHandle {
	if h := r.lent.Load(); h != nil {
		return h
	}
	return &r.own.bodyHandle
}

// tryHold returns the handle with its lock busy held, nil if a Read runs.
func (r *requestStream) tryHold() *bodyHandle {
	for {
		h := r.handle()
		if !h.busy.TryLock() {
			return nil
		}
		if h == r.handle() {
			return h
		}
		h.busy.Unlock()
	}
}

// shut makes reads fail. If a Read runs, the connection can't be used again.
func (r *requestStream) shut() {
	for {
		h := r.handle()
		h.revoke()
		if h == r.handle() {
			return
		}
	}
}

// tryYield is shut for a program that gets the connection, and reads there what was not read of
// the body, as it was sent. If a Read runs, it does nothing and returns false.
func (r *requestStream) tryYield() bool {
	h := r.tryHold()
	if h == nil {
		return false
	}
	if len(r.rest) > 0 {
		r.w.Unconsume(len(r.rest) + r.ss.m.body.Behind())
	}
	h.refer(nil)
	r.forget()
	h.busy.Unlock()
	return true
}

// forget drops the body, whose handle has ended. It keeps err and the fields that out
// guards, because they say what the session may do with the rest of the body, and limit,
// which a late handler may set.
func (r *requestStream) forget() {
	r.ss, r.ctx, r.w, r.rest = nil, nil, nil, nil
	r.n, r.stall = 0, 0
	r.section.Store(sectionDue)
	r.until.Store(0)
}

// reset makes r ready for the next request.
func (r *requestStream) reset() {
	r.shut()
	r.forget()
	r.lent.Store(nil)
	r.own.refer(nil)
	r.own.loan = nil
	r.used, r.err, r.answered = false, nil, false
	r.limit.Store(0)
	r.owesContinue.Store(false)
	r.clearFlags()
}

// clearFlags resets the flags about the last body. No Read may run.
func (r *requestStream) clearFlags() {
	for _, flag := range [...]*atomic.Bool{&r.notAsked, &r.waits, &r.writes, &r.cut, &r.ended} {
		if flag.Load() { // most requests set none, and a store costs more than a load
			flag.Store(false)
		}
	}
}

// read reads the body as it arrives.
func (r *requestStream) read(p []byte) (int, error) {
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

// reads reports whether a Read runs.
func (r *requestStream) reads() bool {
	h := r.tryHold()
	if h == nil {
		return true
	}
	h.busy.Unlock()
	return false
}

// buffered returns how many bytes of the body have arrived and were not read.
func (r *requestStream) buffered() int {
	if r.err != nil {
		return len(r.rest)
	}
	return len(r.rest) + int(min(int64(len(r.w.Unread())), max(r.ss.m.body.Left(), 0)))
}

// failed reports whether the rest of the body won't arrive, or is still being read.
func (r *requestStream) failed() bool {
	h := r.tryHold()
	if h == nil {
		return true
	}
	defer h.busy.Unlock()
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

// tell does the work of flush. If there is nothing to write, interrupt hears of no write: it
// would break the connection. The caller holds out.
func (r *requestStream) tell(ss *h1Session, w *engine.Work) error {
	if len(w.Out) == 0 && !r.owes100() {
		return nil
	}
	r.writes.Store(true) // before cut is loaded; interrupt does it the other way round
	defer r.writes.Store(false)
	if r.cut.Load() {
		return errStreamClosed
	}
	r.ask(w)
	return ss.c.Flush(w)
}

// ask appends the 100 if it is owed. The caller holds out.
func (r *requestStream) ask(w *engine.Work) {
	if r.owes100() {
		r.owesContinue.Store(false)
		w.Out = append(w.Out, continueLine...)
	}
}

// answer is called before the head of a response that is sent in parts. reads says that the
// program may read the body after it: no 100 may follow the head, so the one that is owed
// comes before it. If the response isn't a success, only a Read that waits already causes
// that; later ones fail. The caller holds out.
func (r *requestStream) answer(w *engine.Work, status int, reads bool) {
	r.used = true
	if r.owes100() {
		asks := reads && status/100 == 2
		r.notAsked.Store(!asks) // before waits is loaded; more does it the other way round
		if asks || r.waits.Load() {
			r.ask(w)
			r.notAsked.Store(false)
		}
	}
	r.answered = true
}

// mayBeRead reports whether the program has a handle that can read the body.
func (r *requestStream) mayBeRead() bool {
	h := r.lent.Load()
	if h == nil || r.cut.Load() {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.r != nil
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

// readsWhole sets the server's limit for bodies if no other limit was set, and warns.
func (r *requestStream) readsWhole() {
	r.ss.s.warnReadsWhole()
	if r.limit.Load() == 0 {
		r.limit.Store(int64(max(r.ss.cfg.maxBody, DefaultMaxRequestBodySize)))
	}
}

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
	if r.notAsked.Load() && r.n == 0 {
		r.err = door.ErrNotAsked
		return 0
	}
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
	data, n, done, err := r.ss.m.body.Next(b)
	limit := r.limit.Load()
	switch {
	case err != nil:
		r.err = err
		return nil, n
	case limit > 0 && r.n+int64(len(data)) > limit:
		r.err = ErrBodyTooLarge
		return nil, n
	case done:
		if r.section.CompareAndSwap(sectionDue, sectionStored) {
			r.ctx.takeTrailers(r.ss.s.MergeTrailers)
		}
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
	room := min(int64(len(p)), r.ss.m.body.Left())
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
func (ss *h1Session) unreadBody() bool { return ss.hasBody && !ss.m.body.Done() }

// leavesBody is unreadBody for the time while the handler runs: if a Read is running, it
// returns true.
func (ss *h1Session) leavesBody() bool {
	if !ss.hasBody || !ss.cfg.stream {
		return ss.unreadBody()
	}
	h := ss.m.stream.tryHold()
	if h == nil {
		return true
	}
	defer h.busy.Unlock()
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
func (ss *h1Session) mayDrain(w *engine.Work) bool {
	if ss.m.stream.owesContinue.Load() || ss.outcome == brokeConn {
		return false // the client may or may not send the body
	}
	if ss.cfg.stream && ss.m.stream.failed() {
		return false
	}
	if ss.m.ctx.isDetached() {
		ss.m.body.DropTrailers() // the program may be reading those of ctx
	}
	for ss.drained = 0; ss.drained <= maxDrain; {
		data, n, done, err := ss.m.body.Next(w.Unread())
		if err != nil {
			return false
		}
		w.Consume(n)
		ss.drained += int32(len(data))
		if done {
			return ss.drained <= maxDrain
		}
		if n == 0 {
			return ss.m.body.Left() <= maxDrain-int64(ss.drained)
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
		data, n, done, err := ss.m.body.Next(w.Unread())
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
