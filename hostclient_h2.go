package gale

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clientconn"
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/h2"
	"github.com/galehttp/gale/internal/pool"
)

// sharedConn is a client's connection of HTTP/2, which many calls share. Package h2 turns
// requests into frames, and the bytes of the server into events.
//
// One goroutine, readLoop, reads. It handles all events of a read under mu, and then wakes
// the calls that have a result. What calls and the reader send is gathered in out. At most
// one goroutine writes at a time: the one that has set writing (claim), until flush finds
// out empty. mu is held for short steps, never while user code runs or a goroutine waits.
// The lock of the pool is never taken while it is held, only before it.
type sharedConn struct {
	c        *HostClient
	conn     *clientconn.Conn
	upstream string // the address that was dialed
	scheme   string
	created  clock.Tick

	promised atomic.Int32 // streams that calls will open which have waited; changed under the lock of the pool

	// For goroutines without mu, which set them under mu: how many streams can be opened
	// now, and how many are open.
	openable, active atomic.Int32
	lastIn           atomic.Int64 // the tick of the last read

	writeFn func() // flushPatiently, for a "go" without an allocation
	ended   atomic.Bool
	rested  []*h2Call // memory for woken; the reader's

	mu    sync.Mutex
	proto h2.Conn
	out   []byte    // frames that wait to be written, in order
	spare []byte    // memory for the next out
	taken uint64    // bytes that were taken from out to be written, except those whose write failed
	woken []*h2Call // the calls to wake after mu is released

	writing bool            // a goroutine writes, or is about to
	unsent  []byte          // the rest of what that goroutine writes; it owns the field
	writes  uint64          // how often out was taken
	served  int             // complete responses
	stage   sharedStage     // only advances
	mute    bool            // a write has failed, so that no goroutine writes any more; it is ending, or over
	cause   error           // why it is over or mute
	reason  *HTTP2ConnError // with which error code it has ended, or will; nil for none
	refuses bool            // the code of a GOAWAY was HTTP_1_1_REQUIRED

	greeted chan struct{} // for calls that wait for the server's SETTINGS; closed when they have come, or none will

	upkeep h2Upkeep
	lively bool // an event other than the answer to a PING has come; see h2Upkeep
}

// sharedStage says how far the end of a sharedConn has come.
type sharedStage uint8

const (
	sharedOpen    sharedStage = iota // it takes calls
	sharedRetired                    // it takes no more calls, and ends when the last one has
	sharedEnding                     // GOAWAY was queued; it ends when out is written, or no more can be
	sharedOver                       // no more is read and sent
)

// The sizes of buffers, in bytes.
const (
	// maxH2Sent is how much output is gathered before senders of bodies must wait.
	maxH2Sent = 64 << 10
	// maxH2Backlog is how much output may wait for the server before no more streams are
	// opened.
	maxH2Backlog = 1 << 20
	// maxH2Part is how much of a body is sent before other streams have their turn.
	maxH2Part = 32 << 10
	// The reader begins with the small buffer and takes the large one when there is more.
	smallH2Read = 4 << 10
	largeH2Read = 64 << 10
	// keepH2Sent is the largest buffer for output that an idle connection keeps.
	keepH2Sent = 4 << 10
)

// newSharedConn begins a connection of HTTP/2 over cc. Its place in the pool is reserved.
func (c *HostClient) newSharedConn(cc *clientConn) *sharedConn {
	hc := &sharedConn{c: c, conn: &cc.conn, upstream: cc.upstream, created: cc.created, scheme: "http"}
	if _, ok := cc.Conn().(interface{ ConnectionState() tls.ConnectionState }); ok || c.IsTLS {
		hc.scheme = "https"
	}
	hc.writeFn = hc.flushPatiently
	hc.lastIn.Store(int64(hc.created))
	hc.out = hc.proto.BeginClient(c.h2Config(), nil)
	hc.setRoom()
	hc.upkeep.begin(hc)
	go hc.readLoop()
	return hc
}

// h2Config returns the limits of connections.
func (c *HostClient) h2Config() *h2.Config {
	c.h2.once.Do(func() {
		// A server's own limit of streams is about as large as the default here. The
		// windows are those of servers: 64 KiB for a response that the program reads
		// slowly, more for one that it reads fast. What comes for one stream never takes
		// the window of another, because package h2 gives the connection's window back at
		// once. So unread bodies take no more memory than 64 KiB each, and ConnWindow for
		// all fast ones together. For those that the client collects, see h2.Conn.Collect.
		c.h2.cfg = h2.Config{HeaderList: max(c.ReadBufferSize, 0)}
		c.h2.cfg.Fill()
	})
	return &c.h2.cfg
}

// setRoom stores what goroutines without mu see, under mu.
func (hc *sharedConn) setRoom() {
	room := 0
	if hc.takesCalls() {
		room = hc.proto.CanOpen()
	}
	if r := int32(room); hc.openable.Load() != r {
		hc.openable.Store(r)
	}
	if n := int32(hc.proto.Streams()); hc.active.Load() != n {
		hc.active.Store(n)
	}
}

// takesCalls reports whether streams can be opened, as far as the server allows more, under mu.
func (hc *sharedConn) takesCalls() bool { return hc.stage == sharedOpen && len(hc.out) < maxH2Backlog }

// advance makes stage at least to, under mu.
func (hc *sharedConn) advance(to sharedStage) { hc.stage = max(hc.stage, to) }

// unlock releases mu after a change that may have ended streams or made room for more: it stores
// what goroutines without mu see, and lets go the calls that wait for that.
func (hc *sharedConn) unlock() {
	hc.setRoom()
	refuses := hc.refuses // the calls can go another way
	hc.mu.Unlock()
	if hc.c.callsWait() && (refuses || hc.openable.Load() > 0 || hc.active.Load() == 0) {
		hc.c.tellLines()
	}
}

// readLoop reads until the connection ends.
func (hc *sharedConn) readLoop() {
	err := io.ErrUnexpectedEOF // in case a method of the user's connection ends the goroutine
	ends := true               // else the goroutine that writes ends the connection
	buf := pool.Get(smallH2Read)
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("gale: reading from a %T panicked: %v\n%s", hc.Conn(), p, debug.Stack())
		}
		pool.Put(buf)
		if ends {
			hc.end(err)
		}
	}()
	buf.B = buf.B[:cap(buf.B)]
	conn, empty := io.Reader(hc.Conn()), 0
	for {
		n, rerr := pool.ReadOnce(conn, buf.B, &empty)
		if n > 0 {
			if !hc.receive(buf.B[:n]) {
				ends = hc.isMute()
				return
			}
			buf = hc.resize(buf, n)
		}
		if rerr != nil {
			err = rerr
			return
		}
	}
}

// resize returns the buffer for the next read, after one of n bytes into buf.
func (hc *sharedConn) resize(buf *pool.Buf, n int) *pool.Buf {
	size := 0
	switch {
	case n == len(buf.B) && n < largeH2Read:
		size = largeH2Read
	case len(buf.B) > smallH2Read && hc.active.Load() == 0:
		size = smallH2Read
	default:
		return buf
	}
	pool.Put(buf)
	buf = pool.Get(size)
	buf.B = buf.B[:cap(buf.B)]
	return buf
}

// receive handles received bytes. It returns false if nothing more must be read: the connection
// has ended, or ends when GOAWAY is written.
func (hc *sharedConn) receive(b []byte) bool {
	woken, mine, open := hc.handle(b)
	for i, s := range woken {
		s.poke()
		woken[i] = nil
	}
	hc.rested = woken[:0]
	if mine {
		if open {
			hc.flush(h2Tries)
		} else {
			hc.flush(h2Stays)
		}
	}
	return open
}

// handle handles received bytes under mu. It returns the calls to wake after that, and whether
// the caller must write.
func (hc *sharedConn) handle(b []byte) (woken []*h2Call, mine, open bool) {
	now := clock.Ticks()
	hc.lastIn.Store(int64(now))
	hc.mu.Lock()
	defer hc.unlock()
	if hc.stage == sharedOver || hc.proto.Failed() {
		return nil, false, false
	}
	var ev h2.Event
	for len(b) > 0 && !hc.proto.Failed() {
		b = b[hc.proto.Read(b, now, &ev):]
		hc.event(&ev)
		hc.out = hc.proto.AppendControl(hc.out)
	}
	open = !hc.proto.Failed()
	if !open {
		hc.failAll()
	}
	hc.fill()
	hc.maybeEnd()
	mine = hc.claim()
	woken, hc.woken = hc.woken, hc.rested
	return woken, mine, open
}

// wakeAll wakes the calls that have something to look at, under mu. The reader does so
// without mu instead, because it wakes many.
func (hc *sharedConn) wakeAll() {
	for i, s := range hc.woken {
		s.poke()
		hc.woken[i] = nil
	}
	hc.woken = hc.woken[:0]
}

// event does what an event asks for, under mu.
func (hc *sharedConn) event(ev *h2.Event) {
	hc.lively = hc.lively || ev.Kind != h2.Pong && ev.Kind != h2.None
	switch ev.Kind {
	case h2.Head:
		h2CallOf(ev.Stream).head(ev.End)
	case h2.Data:
		h2CallOf(ev.Stream).data(ev.Data, ev.End)
	case h2.Trailers:
		h2CallOf(ev.Stream).trailerSection()
	case h2.Reset:
		h2CallOf(ev.Stream).resetBy(ev)
	case h2.Settings:
		hc.greet()
	case h2.GoAway:
		hc.goAwayBy(ev.Code)
	case h2.Pong:
		hc.upkeep.pong()
	}
}

func h2CallOf(st *h2.Stream) *h2Call { return st.Owner.(*h2Call) }

// greet lets go the calls that wait for SETTINGS, under mu.
func (hc *sharedConn) greet() {
	if hc.greeted != nil {
		close(hc.greeted)
		hc.greeted = nil
	}
}

// goAwayBy handles GOAWAY, under mu. Streams that the server will not process fail, and are
// sent again on another connection. The others continue.
func (hc *sharedConn) goAwayBy(code h2.Code) {
	hc.advance(sharedRetired)
	if code != h2.NoError {
		hc.reason = &HTTP2ConnError{Code: uint32(code)}
		if code == h2.HTTP11Required && hc.c.refusedHTTP2() {
			hc.refuses = true
		}
	}
	hc.proto.All(func(st *h2.Stream) bool {
		if st.WasReset() {
			h2CallOf(st).lose(hc.lossOf(nil))
		}
		return true
	})
}

// failAll fails all streams because the server broke the protocol, under mu.
func (hc *sharedConn) failAll() {
	hc.greet()
	hc.advance(sharedEnding)
	hc.upkeep.hurry(hc)
	hc.reason = &HTTP2ConnError{Code: uint32(hc.proto.Code()), Local: true, early: !hc.proto.Greeted()}
	hc.proto.All(func(st *h2.Stream) bool {
		h2CallOf(st).fail(hc.reason)
		return true
	})
}

// lossOf returns the error of calls whose connection was lost because of err, under mu.
func (hc *sharedConn) lossOf(err error) error {
	if hc.reason != nil {
		return hc.reason
	}
	if err == nil || err == io.EOF {
		return io.EOF
	}
	return err
}

// maybeEnd begins the end of a connection that takes no more calls and has none, under mu.
func (hc *sharedConn) maybeEnd() {
	if hc.stage == sharedRetired && hc.proto.Streams() == 0 {
		hc.stage = sharedEnding
		hc.proto.Stop()
		hc.out = hc.proto.AppendControl(hc.out)
		hc.upkeep.hurry(hc)
	}
}

// end ends the connection at once: all streams fail with err, the socket is closed and the
// place in the pool is given back. It may be called several times.
func (hc *sharedConn) end(err error) {
	if hc.ended.Swap(true) {
		return
	}
	defer hc.c.unshare(hc) // even if Close ends the goroutine
	hc.mu.Lock()
	hc.stage, hc.cause = sharedOver, err
	hc.greet()
	loss := hc.lossOf(err)
	hc.proto.All(func(st *h2.Stream) bool {
		h2CallOf(st).lose(loss)
		return true
	})
	hc.upkeep.end()
	hc.out, hc.spare = nil, nil
	hc.wakeAll()
	hc.unlock()
	hc.conn.Cancel()
}

func (hc *sharedConn) retire() {
	hc.mu.Lock()
	defer hc.mu.Unlock()
	hc.refuseCalls()
}

// refuseCalls is retire under mu.
func (hc *sharedConn) refuseCalls() {
	hc.advance(sharedRetired)
	hc.maybeEnd()
	hc.setRoom()
	if hc.claim() {
		hc.flushApart()
	}
}

func (hc *sharedConn) yield() bool {
	hc.mu.Lock()
	defer hc.mu.Unlock()
	if hc.proto.Streams() > 0 || hc.promised.Load() > 0 {
		return false
	}
	hc.refuseCalls()
	return true
}

// begin sends what the connection begins with, if no call does.
func (hc *sharedConn) begin() {
	hc.mu.Lock()
	mine := hc.claim()
	hc.unlock()
	if mine {
		hc.flushApart()
	}
}

// uses returns how many streams were opened.
func (hc *sharedConn) uses() int {
	hc.mu.Lock()
	defer hc.mu.Unlock()
	return int(hc.proto.Last()+1) / 2
}

// room returns how many streams can be opened, besides those that are promised to calls.
func (hc *sharedConn) room() int { return int(hc.openable.Load() - hc.promised.Load()) }

func (hc *sharedConn) take(*connPool) { hc.promised.Add(1) }

func (hc *sharedConn) giveBack(*connPool) { hc.promised.Add(-1) }

func (hc *sharedConn) running() int { return int(hc.active.Load()) }

func (hc *sharedConn) age() time.Duration { return time.Duration(clock.Ticks() - hc.created) }

// Conn returns the connection itself.
func (hc *sharedConn) Conn() net.Conn { return hc.conn.NetConn() }

// idleSince returns when the last bytes have come.
func (hc *sharedConn) idleSince() clock.Tick { return clock.Tick(hc.lastIn.Load()) }
