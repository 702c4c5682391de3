package engine

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// Errors that Serve returns.
var (
	// ErrStopped says that the connection was closed because the engine stops.
	ErrStopped = errors.New("engine: stopped")
	// ErrParked says that a connection left its goroutine, see Parked.
	ErrParked = errors.New("engine: parked")
	// ErrAborted says that the session wanted the connection closed at once.
	ErrAborted = errors.New("engine: aborted")
	// ErrGoexit says that the goroutine was ended by runtime.Goexit, or by a
	// panic that somebody further up recovers.
	ErrGoexit = errors.New("engine: the goroutine was ended")
)

// Block is the engine with a goroutine for each connection. The zero value is
// ready for use.
type Block struct {
	// Dispatch, if set, lets a goroutine call Resume; see Parked.
	Dispatch func(p Parked)

	mu     sync.Mutex
	list   blockConn  // head of a ring of all connections
	cursor *blockConn // where EvictIdle looks next
	epoch  atomic.Uint32
	n      atomic.Int32
}

// The states of a connection, as far as closing it from outside is concerned.
const (
	busy    int32 = iota
	idle          // nothing of a message has arrived
	closing       // whoever made it so from idle has woken the goroutine
	parting       // waits for the peer to close, see closeGracefully
)

// blockConn is a connection of Block. Its goroutine owns everything but state
// and the links.
type blockConn struct {
	after, before *blockConn // under Block.mu

	e     *Block
	epoch uint32 // in which it began
	nc    net.Conn
	sess  Session
	next  Next // what the session wants
	state atomic.Int32

	// raw reads without a buffer in hand, see readable; nil where the
	// connection is no socket.
	raw    syscall.RawConn
	onRead func(fd uintptr) bool
	once   bool  // try once, don't wait
	err    error // what onRead met

	w     *Work
	stash []byte // unread bytes, kept while there is no workspace

	readUntil    clock.Tick // the deadline that is set on nc
	lapsed       bool       // it has passed
	writeUntil   clock.Tick // the one for writes that is set on nc
	writeLimit   clock.Tick // see SetWriteDeadline
	writeTimeout time.Duration
	interrupted  atomic.Bool
	served       atomic.Bool // bytes of the peer have come
	opened       clock.Tick  // when it began, to the second
	thrifty      bool        // wait with one byte instead of a workspace
	ahead        [1]byte
	nAhead       int

	detached bool // it is somebody else's: see Detach

	watchMu sync.Mutex
	filling bool   // Fill reads, and no watch
	watch   *watch // while somebody wants to know when the peer leaves

	// parks: it may be parked. resting: it is. woken: it was until just now,
	// and why is what ended its rest. See Parked.
	parks, resting, woken bool
	why                   error
	idleSince             clock.Tick
}

// blockConns are blockConns that have ended in order: connections that live
// shortly are not to cost allocations.
var blockConns = sync.Pool{New: func() any {
	c := new(blockConn)
	c.onRead = c.readable // made once: a method value allocates
	return c
}}

// Serve runs a connection on the calling goroutine until it ends, and closes
// it. thrifty connections hold no buffer while they wait even where that costs
// an extra read. A connection of an epoch that has been stopped ends when it is
// idle.
func (e *Block) Serve(nc net.Conn, thrifty bool, epoch uint32, sess Session) error {
	return e.open(nc, thrifty, epoch, sess).serve()
}

// Start is Serve that may return ErrParked before the connection ends: see
// Parked.
func (e *Block) Start(nc net.Conn, thrifty bool, epoch uint32, sess Session) error {
	c := e.open(nc, thrifty, epoch, sess)
	c.parks = e.Dispatch != nil && (c.raw != nil || thrifty)
	return c.serve()
}

func (e *Block) open(nc net.Conn, thrifty bool, epoch uint32, sess Session) *blockConn {
	c := blockConns.Get().(*blockConn)
	c.e, c.epoch, c.nc, c.sess, c.thrifty = e, epoch, nc, sess, thrifty
	c.opened = clock.Coarse()
	c.initRaw()
	sess.Open(c, &c.next)
	e.add(c)
	return c
}

// serve runs the connection until it ends or is parked.
func (c *blockConn) serve() error {
	e, nc, sess := c.e, c.nc, c.sess
	returned := false
	defer func() {
		if returned {
			return
		}
		// runtime.Goexit, or a panic of a session
		if !c.detached {
			e.remove(c)
			nc.Close()
		}
		sess.Closed(ErrGoexit)
	}()
	hijacked, err := c.run()
	returned = true
	if err == ErrParked {
		go c.rest()
		return err
	}
	if c.detached {
		c.dropWork()
		sess.Closed(nil)
		return nil // others may be in c yet, to watch or to interrupt it
	}
	e.remove(c)
	if hijacked && err == nil {
		go sess.Hijacked(c.handOver())
		return err
	}
	c.dropWork()
	nc.Close()
	sess.Closed(err) // which may end a Watch
	c.forget()
	return err
}

// forget makes c ready for another connection.
func (c *blockConn) forget() {
	if c.interrupted.Load() {
		return // somebody may still be in Fill
	}
	c.e, c.nc, c.sess, c.raw, c.err, c.watch = nil, nil, nil, nil, nil, nil
	c.state.Store(busy)
	c.readUntil, c.writeUntil, c.writeLimit, c.writeTimeout = 0, 0, 0, 0
	c.once, c.nAhead, c.lapsed = false, 0, false
	c.served.Store(false)
	c.parks, c.resting, c.woken, c.why = false, false, false, nil
	c.next = Next{}
	blockConns.Put(c)
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

func (c *blockConn) run() (hijacked bool, err error) {
	for !c.detached {
		switch c.next.Op {
		case Read:
			if c.w != nil && len(c.w.Out) > 0 {
				if err := c.Flush(c.w); err != nil {
					return false, err
				}
			}
			why := c.why
			if c.why = nil; !c.woken {
				why = c.wait(c.next.Idle, c.next.Deadline)
			}
			c.woken = false
			switch why {
			case ErrStopped:
				return false, nil
			case ErrParked:
				return false, why
			}
			c.next = Next{}
			if why == nil {
				if !c.served.Load() {
					c.served.Store(true)
				}
				c.sess.Feed(c.w, &c.next)
			} else {
				c.sess.Stall(c.workNow(), why, &c.next)
			}
		case Flush:
			if err := c.send(c.next.File); err != nil {
				return false, err
			}
			c.next = Next{}
			c.sess.Feed(c.workNow(), &c.next)
		case Close:
			if err := c.send(c.next.File); err != nil {
				return false, err
			}
			c.closeGracefully(c.next.Linger)
			return false, nil
		case Hijack:
			return true, c.send(c.next.File)
		default:
			// Answers to earlier messages may still be waiting.
			if c.w != nil {
				c.Flush(c.w)
			}
			return false, ErrAborted
		}
	}
	return false, nil
}

// work returns the workspace, taking one if there is none in hand.
func (c *blockConn) work() *Work {
	if c.w == nil {
		c.takeWork()
	}
	return c.w
}

func (c *blockConn) takeWork() {
	c.w = getWork()
	if c.stash != nil {
		c.w.put(c.stash)
		c.stash = nil
	}
}

// workNow is work for sessions that are called although nothing was read.
func (c *blockConn) workNow() *Work {
	if c.w == nil {
		c.work().Now = clock.Ticks()
	}
	return c.w
}

// maxStash is the most that is copied out of a workspace to give it back.
const maxStash = 4 << 10

// park gives the workspace back before a wait, if it is worth the copy.
func (c *blockConn) park() {
	if c.w == nil || len(c.w.Out) > 0 {
		return
	}
	if b := c.w.Unread(); len(b) > maxStash {
		return
	} else if len(b) > 0 {
		c.stash = append([]byte(nil), b...)
	}
	putWork(c.w)
	c.w = nil
}

func (c *blockConn) dropWork() {
	c.stash = nil
	if c.w != nil {
		putWork(c.w)
		c.w = nil
	}
}

// wait blocks until bytes were read. For an idle connection it also ends with
// ErrStopped when the connection is to be closed.
func (c *blockConn) wait(isIdle bool, until clock.Tick) error {
	parks := isIdle && c.parks && !c.resting
	if parks {
		c.beginIdle()
	}
	stray := false // there was a time-out that no deadline explains
	for {
		if parks || c.lapsed || until != 0 {
			c.armEarlier(until, parks)
		}
		if isIdle {
			c.state.Store(idle)
			if c.Stopping() && c.state.CompareAndSwap(idle, closing) {
				return c.lastLook()
			}
		}
		if c.interrupted.Load() {
			return os.ErrDeadlineExceeded
		}
		err := c.read(isIdle)
		if isIdle && !c.state.CompareAndSwap(idle, busy) {
			// Somebody wants it closed; but what was read is accepted.
			if err == nil {
				c.state.Store(busy)
				c.dropDeadline()
				return nil
			}
			return c.lastLook()
		}
		if err == nil || !IsTimeout(err) {
			return err
		}
		// The deadline that is set may be an old one: see arm.
		if until != 0 && clock.Ticks() >= until {
			return err
		}
		if c.readUntil == 0 || clock.Ticks() < c.readUntil {
			if stray {
				return err // not of a deadline of ours: it would go on for ever
			}
			stray = true
		}
		c.lapsed = true
		if parks && clock.Ticks() >= c.idleSince.Add(parkAfter) {
			return ErrParked
		}
	}
}

// beginIdle notes since when the connection is idle.
func (c *blockConn) beginIdle() {
	if c.w != nil {
		c.idleSince = c.w.Now
	} else {
		c.idleSince = clock.Ticks()
	}
}

// dropDeadline takes the deadline for reads back.
func (c *blockConn) dropDeadline() {
	c.nc.SetReadDeadline(time.Time{})
	c.readUntil, c.lapsed = 0, false
}

// lastLook takes a request that has arrived on a connection that is about to be
// closed for being idle; the peer could not know.
func (c *blockConn) lastLook() error {
	var err error
	switch {
	case c.raw != nil:
		c.dropDeadline()
		c.once = true
		err = c.readRaw()
		c.once = false
	case c.thrifty:
		// A byte tells; there is no way to look without waiting a little.
		c.nc.SetReadDeadline(time.Now().Add(lastLookWait))
		err = c.read(true)
		c.dropDeadline()
	case c.buffered():
		c.dropDeadline()
		err = c.read(false)
	default:
		return ErrStopped
	}
	if err != nil {
		return ErrStopped
	}
	c.state.Store(busy)
	return nil
}

// buffered reports whether bytes can be read at once from a connection in memory,
// such as those of package galeutil, that can tell.
func (c *blockConn) buffered() bool {
	b, ok := c.nc.(interface{ Buffered() int })
	return ok && b.Buffered() > 0
}

// lastLookWait is how long lastLook waits for a byte on connections that are no
// sockets, those with TLS above all.
const lastLookWait = 2 * time.Millisecond

// armEarlier is arm(until), or for when it is time to park if that is before.
func (c *blockConn) armEarlier(until clock.Tick, parks bool) {
	if parks {
		if t := c.idleSince.Add(parkAfter); until == 0 || t < until {
			until = t
		}
	}
	c.arm(until)
}

// arm makes sure that a read wakes up at until at the latest. A deadline that
// is set already and earlier will do: whoever is woken by it looks at the clock
// and sets the right one. That saves setting a deadline for each request.
func (c *blockConn) arm(until clock.Tick) {
	switch {
	case c.lapsed:
	case until == 0, c.readUntil != 0 && c.readUntil <= until:
		return
	}
	c.nc.SetReadDeadline(until.Time())
	c.readUntil, c.lapsed = until, false
}

// read adds bytes to the workspace.
func (c *blockConn) read(idle bool) error {
	if c.raw != nil {
		return c.readRaw()
	}
	if c.nAhead > 0 || c.thrifty && idle {
		return c.readByte()
	}
	w := c.work()
	n, err := c.nc.Read(w.room())
	w.w += n
	if n > 0 {
		w.Now = clock.Ticks()
		return nil // an error comes again
	}
	return orEOF(err)
}

// readByte is read for connections that wait with a single byte.
func (c *blockConn) readByte() error {
	if c.nAhead == 0 {
		c.park()
		n, err := c.nc.Read(c.ahead[:])
		if n == 0 {
			return orEOF(err)
		}
	}
	w := c.work()
	w.put(c.ahead[:])
	c.nAhead = 0
	w.Now = clock.Ticks()
	return nil
}

// orEOF returns err, or EOF for a Read that returned nothing at all.
func orEOF(err error) error {
	if err == nil {
		return io.EOF
	}
	return err
}

func (c *blockConn) NetConn() net.Conn { return c.nc }

func (c *blockConn) Interrupt() {
	c.interrupted.Store(true)
	c.nc.SetReadDeadline(longAgo)
}

func (c *blockConn) Fill(w *Work, deadline clock.Tick) error {
	c.beginFill()
	defer c.endFill()
	if err := c.Flush(w); err != nil {
		return err
	}
	w.held = true // the session that runs is using it
	err := c.wait(false, deadline)
	w.held = false
	return err
}

func (c *blockConn) Detach(w *Work) (net.Conn, error) {
	if err := c.Flush(w); err != nil {
		return nil, err
	}
	c.watchMu.Lock()
	wt := c.watch
	c.watch = nil
	c.watchMu.Unlock()
	if wt != nil {
		wt.pause()
	}
	c.e.remove(c)
	c.detached = true
	nc := c.ordinary()
	w.Consume(len(w.Unread()))
	return nc, nil
}

// handOver makes the connection an ordinary one that nobody else uses.
func (c *blockConn) handOver() net.Conn {
	defer c.dropWork()
	return c.ordinary()
}

// ordinary returns the connection as one that gives what is unread first.
func (c *blockConn) ordinary() net.Conn {
	c.nc.SetDeadline(time.Time{})
	var rest []byte
	if c.w != nil {
		rest = append(rest, c.w.Unread()...)
	}
	rest = append(rest, c.stash...)
	rest = append(rest, c.ahead[:c.nAhead]...)
	if len(rest) == 0 {
		return c.nc
	}
	return &hijackedConn{Conn: c.nc, rest: rest}
}

// hijackedConn is a connection of which some bytes were read already.
type hijackedConn struct {
	net.Conn
	mu   sync.Mutex
	rest []byte
}

// Read returns the bytes that came behind the request first.
func (h *hijackedConn) Read(p []byte) (int, error) {
	h.mu.Lock()
	if len(h.rest) > 0 {
		n := copy(p, h.rest)
		h.rest = h.rest[n:]
		h.mu.Unlock()
		return n, nil
	}
	h.mu.Unlock()
	return h.Conn.Read(p)
}

// UnsafeConn returns the connection below; bytes that were read already are
// not in it.
func (h *hijackedConn) UnsafeConn() net.Conn { return h.Conn }

func isEOF(err error) bool { return err == io.EOF }

// IsTimeout reports whether err says that a deadline has passed.
func IsTimeout(err error) bool {
	if err == io.EOF {
		return false // how connections end, and errors.As allocates
	}
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}
