package gale

import (
	"crypto/tls"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/h2"
	"github.com/galehttp/gale/internal/pool"
)

// h2Session is the server's side of an HTTP/2 connection. Package h2 turns the bytes that
// an engine feeds into events, and responses into frames. Feed runs the handlers, one
// after the other. While one runs, Feed shares the connection with other goroutines: if
// the handler blocks, one of them goes on (engine.Conn.Share). What handlers send is kept
// in out until Feed gives it to the engine. Waker.Wake leads to that Feed.
//
// The engine's goroutine, which calls the methods of engine.Session, owns the fields
// before mu. The exceptions are leaving, and before and after. mu guards the fields after
// it, including proto, and some fields of streams, see h2Stream. It is held for short
// steps, never while user code runs. The only waits under it are those of sync.Cond.
// RequestCtx.mu and RequestCtx.sendMu come before mu; the lock of the waker comes after
// it.
type h2Session struct {
	serverConn
	waker *engine.Waker
	num   uint64 // requests so far
	// behind is set when pool.MaxChunk bytes or more of a request's body are unread.
	behind bool

	closing bool // it ends when all streams have; under mu, as halved and gone
	halved  bool // the client has ended its side
	gone    bool // Closed was called

	// leaving is set when a shutdown is about to end the connection, see h2Sessions.
	leaving       atomic.Bool
	before, after *h2Session // under h2Sessions.mu

	mu          sync.Mutex
	proto       h2.Conn
	out         []byte    // frames that wait for the engine, in order
	buf         *pool.Buf // has the memory of out; nil while the connection is idle
	first, last *h2Stream // the streams whose user code can run, the oldest first
	room        *h2Room   // see roomCond; nil before it is needed
	told        []h2Gone  // the contexts that unlock tells that the client has gone

	roomAt  clock.Tick // when the client last gave the connection's window room for which senders waited
	headDue clock.Tick // when the field block or frame that has begun must be complete, 0 for none
	idleDue clock.Tick // when a connection without streams ends, 0 for never or not yet known
	due     clock.Tick // the deadline that the engine was given, 0 for none
	waiting int32      // the number of streams with h2Stream.timed set
	tunnels int32      // the number of streams with h2Stream.tunnel set
	unsent  int32      // the sum of h2Stream.unsent
	apart   int32      // goroutines that run user code and that the engine doesn't know: see endApart
}

// staysApart is added to h2Session.apart when the last of these goroutines must dismiss the
// connection: see staysCounted. A field of its own would make the session larger.
const staysApart = 1 << 30

// h2Gone is a context that must be told that its client has gone.
type h2Gone struct {
	done  interface{ Gone(cause error, reset bool) }
	cause error
	reset bool
}

// newH2Session returns a session of HTTP/2.
func newH2Session() serverSession {
	return new(h2Session)
}

// h2Room is the condition for which goroutines wait when out is full. Its lock is mu.
type h2Room struct {
	sync.Cond
	most int        // the length at which out is full
	at   clock.Tick // when the engine last took a full out
}

// roomCond returns the condition that is broadcast when the engine has taken a full out,
// and when streams fail or end. It is called under mu.
func (ss *h2Session) roomCond() *sync.Cond {
	if ss.room == nil {
		ss.room = &h2Room{most: maxH2Out}
		ss.room.L = &ss.mu
	}
	return &ss.room.Cond
}

// tellRoom broadcasts roomCond, under mu.
func (ss *h2Session) tellRoom() {
	if ss.room != nil {
		ss.room.Broadcast()
	}
}

// adapt decides how much output may be gathered from now on. It is called under mu, when
// the engine has taken a full out.
func (r *h2Room) adapt() {
	now := clock.Ticks()
	r.most = maxH2Out
	if now-r.at < quickH2Out {
		r.most = wideH2Out
	}
	r.at = now
}

// free does nothing, since handlers may still use the session.
func (ss *h2Session) free() {}

// maxH2Out is how much output is gathered, within a piece, before goroutines that send
// must wait until it is written. It is wideH2Out if goroutines wait and the client takes
// a full out in less than quickH2Out: each wait costs two switches of goroutines.
const (
	maxH2Out   = 64 << 10
	wideH2Out  = 240 << 10
	quickH2Out = clock.Tick(time.Millisecond)
)

// maxOut returns how much output may be gathered, under mu.
func (ss *h2Session) maxOut() int {
	if ss.room == nil {
		return maxH2Out
	}
	return ss.room.most
}

// isFull reports whether goroutines that send must wait, under mu.
func (ss *h2Session) isFull() bool { return len(ss.out) >= ss.maxOut()-minH2Piece/4 }

// Open begins the session with its SETTINGS.
func (ss *h2Session) Open(c engine.Conn, next *engine.Next) {
	ss.begin(c)
	ss.waker = c.Waker()
	if d, stall := ss.l.fixed.each.writeTimeout, ss.l.fixed.each.writeStall; d > 0 || stall > 0 {
		c.SetWriteTimeout(d, stall)
	}
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.takeBuf()
	ss.out = ss.proto.Begin(&ss.l.fixed.http2, ss.out)
	if !ss.isSecure() {
		ss.proto.Fail(h2.InadequateSecurity)
	}
	ss.s.run.h2.add(ss)
	next.Op = engine.Flush
}

// isSecure reports whether TLS, if there is any, meets the requirements of HTTP/2.
func (ss *h2Session) isSecure() bool {
	tc, ok := ss.nc.(interface{ ConnectionState() tls.ConnectionState })
	if !ok {
		return true
	}
	state := tc.ConnectionState()
	return secureForHTTP2(&state)
}

// sizeH2Out is the initial capacity of out, in bytes.
const sizeH2Out = 4 << 10

// takeBuf makes sure that out has memory, under mu.
func (ss *h2Session) takeBuf() {
	if ss.buf == nil {
		ss.buf = pool.Get(sizeH2Out)
		ss.out = append(ss.buf.B[:0], ss.out...)
	}
}

// giveBuf gives the memory of out back, under mu. out is empty or not needed any more.
func (ss *h2Session) giveBuf() {
	if ss.buf != nil {
		ss.buf.B = ss.out[:0]
		pool.Put(ss.buf)
		ss.buf = nil
	}
	ss.out = nil
}

// roomOut makes room in out for n more bytes, under mu. With append alone the old memory
// would go to the garbage collector, not to the pool.
func (ss *h2Session) roomOut(n int) {
	if cap(ss.out)-len(ss.out) < n {
		ss.takeBuf()
		ss.buf.B = ss.out
		ss.buf.Grow(n)
		ss.out = ss.buf.B
	}
}

// moveOut gives out to the engine, under mu. If it is longer than a few heads, the
// session and the workspace exchange their memory instead of copying. Large memory is
// kept only if out was full: the same amount may come again.
func (ss *h2Session) moveOut(w *engine.Work, full bool) {
	if len(w.Out) > 0 || len(ss.out) <= sizeH2Out {
		w.Out = append(w.Out, ss.out...)
		ss.out = ss.out[:0]
	} else {
		w.Out, ss.out = ss.out, w.Out
	}
	if !full && cap(ss.out) > sizeH2Out {
		ss.giveBuf()
		ss.takeBuf() // a goroutine may append to out next
	}
}

// Feed reads frames, runs the user code of streams that are ready, and writes the frames
// that wait in out.
func (ss *h2Session) Feed(w *engine.Work, next *engine.Next) {
	for n := 0; ; n++ {
		s, more, due, active := ss.step(w, next, n)
		ss.tellActive(active)
		if s == nil {
			break
		}
		if w = ss.runShared(s, w, more, due); w == nil {
			return // another goroutine has the connection
		}
	}
	if ss.behind {
		ss.behind = false
		runtime.Gosched() // lets handlers read the body while it is in the processor's caches
	}
}

// step reads what has arrived, if it is the first step of a Feed, and returns a stream
// whose user code must run next. If there is none, it sets next for the engine. After a
// panic mu is unlocked: the engine then ends the connection, and Closed needs mu.
func (ss *h2Session) step(w *engine.Work, next *engine.Next, n int) (s *h2Stream, more bool, due clock.Tick, active bool) {
	ss.mu.Lock()
	defer ss.unlock()
	if n == 0 {
		ss.takeBuf()
		if ss.read(w); ss.first != nil {
			ss.drain() // the handlers may take long
		}
	}
	if s = ss.nextRun(n); s != nil {
		ss.due = ss.deadline(ss.proto.Streams())
		more = len(ss.out) > 0 || ss.ready() != nil || ss.proto.HasControl() || ss.proto.HasHeld() || ss.proto.CanSend()
		return s, more, ss.due, true
	}
	ss.write(w, next)
	return nil, false, 0, ss.proto.Streams() > 0
}

// unlock releases mu, and then tells the contexts in told that their client has gone.
// That must not be done under mu: their parents may have types of the program.
func (ss *h2Session) unlock() {
	told := ss.told
	ss.told = nil
	ss.mu.Unlock()
	for _, g := range told {
		ss.tellGone(g)
	}
}

func (ss *h2Session) tellGone(g h2Gone) {
	defer func() {
		if r := recover(); r != nil {
			ss.s.logPanic("in the context of a request", r, stack())
		}
	}()
	g.done.Gone(g.cause, g.reset)
}

// tellActive calls Server.ConnState, if it is set, and recovers its panic.
func (ss *h2Session) tellActive(active bool) {
	if ss.s.ConnState == nil {
		return
	}
	defer func() {
		if r := recover(); r != nil {
			ss.s.logPanic("in Server.ConnState", r, stack())
		}
	}()
	switch {
	case active:
		ss.setState(StateActive)
	case ss.num > 0:
		ss.setState(StateIdle)
	}
}

// read consumes what has arrived, under mu.
func (ss *h2Session) read(w *engine.Work) {
	var ev h2.Event
	n := ss.num
	for {
		in := w.Unread()
		if len(in) == 0 {
			break
		}
		w.Consume(ss.proto.Read(in, w.Now, &ev))
		ss.event(&ev, w.Now)
		ss.out = ss.proto.AppendControl(ss.out)
		if ev.Kind == h2.None {
			break
		}
	}
	if n = ss.num - n; n > 0 {
		ss.l.fixed.served.add(w.Number(), n)
	}
	if w.Full() && ss.proto.InFrame() {
		w.ExpectMuch()
	}
}

// event does what an event asks for, under mu.
func (ss *h2Session) event(ev *h2.Event, now clock.Tick) {
	if ev.Kind == h2.Head {
		ss.open(ev, now)
		return
	}
	s := h2StreamOf(ev.Stream)
	switch ev.Kind {
	case h2.Data:
		s.take(ev.Data, ev.End, now)
	case h2.Trailers:
		s.takeTrailers(now)
	case h2.Reset:
		s.fail(&StreamResetError{Code: uint32(ev.Code)}, true)
	case h2.Room:
		if s == nil {
			ss.roomAt = now
		}
	case h2.Failed:
		ss.failAll(ErrClientGone)
	}
}

// h2StreamOf returns the server's part of a stream, nil for none.
func h2StreamOf(st *h2.Stream) *h2Stream {
	if st == nil {
		return nil
	}
	return st.Owner.(*h2Stream)
}

// write gives out to the engine and sets next, under mu.
func (ss *h2Session) write(w *engine.Work, next *engine.Next) {
	ss.drain()
	ss.sendQueued()
	if ss.halved {
		ss.cutStalled()
	}
	ss.out = ss.proto.AppendHeld(ss.proto.AppendControl(ss.out))
	full := ss.isFull()
	ss.moveOut(w, full)
	if full && ss.room != nil {
		ss.room.adapt()
		ss.tellRoom()
	}
	ss.due = 0
	switch streams := ss.proto.Streams(); {
	case ss.proto.HasHeld() && !ss.proto.Failed():
		next.Op = engine.Flush
	case ss.proto.Failed(), streams == 0 && ss.closing, ss.halved && !ss.owesAnswers():
		next.Op, next.Linger = engine.Close, true
	case full || ss.ready() != nil || ss.proto.CanSend():
		next.Op = engine.Flush
	default:
		next.Idle = streams == 0 && !ss.proto.InHead() && !ss.proto.InFrame()
		ss.due = ss.deadline(streams)
		next.Deadline = ss.due
		switch {
		case streams == 0:
			ss.rest()
		case streams == int(ss.tunnels) && len(ss.out) == 0: // they may be idle for long
			ss.giveBuf()
		}
	}
}

// drain tells the client of a shutdown, under mu.
func (ss *h2Session) drain() {
	// A connection that begins during a drain gets its GOAWAY after the first request:
	// the client of net/http takes a connection for broken if GOAWAY comes before it has
	// sent a request.
	if leaving := ss.leaving.Load(); (leaving || ss.c.Stopping() && (ss.num > 0 || ss.over())) && !ss.proto.Failed() {
		ss.proto.Drain()
		if leaving || ss.over() {
			ss.stop()
		}
	}
}

// rest gives back memory that an idle connection doesn't need, under mu.
func (ss *h2Session) rest() {
	ss.proto.Rest()
	ss.giveBuf()
}

// Hijacked is never called: a stream is not a connection.
func (ss *h2Session) Hijacked(net.Conn) {}

// wake makes the engine feed the session, for example because there is something to
// write. Any goroutine may call it, with or without mu.
func (ss *h2Session) wake() { ss.waker.Wake() }

var _ engine.Session = (*h2Session)(nil)
