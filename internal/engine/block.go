package engine

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/pool"
	"github.com/galehttp/gale/internal/race"
)

// Errors that Serve returns.
var (
	// ErrStopped says that the connection was closed because the engine stops, or to
	// make room: wait returns it, run turns it into nil.
	ErrStopped = errors.New("engine: stopped")
	// ErrParked says that a connection has left its goroutine and may go on elsewhere,
	// see Parked.
	ErrParked = errors.New("engine: parked")
	// ErrAborted says that the session wanted the connection closed at once.
	ErrAborted = errors.New("engine: aborted")
	// ErrGoexit says that the goroutine was ended by runtime.Goexit, or by a panic that a
	// caller of Serve or Start recovers.
	ErrGoexit = errors.New("engine: the goroutine was ended")
	// ErrSwitched says that the session is closed because another session goes on with
	// its connection, see Switch.
	ErrSwitched = errors.New("engine: another session has the connection")
)

// Block is the engine that uses one goroutine per connection. The zero value is ready for
// use. Any goroutine may call its methods.
//
// Lock order: Block.mu, then Waker.mu; blockConn.watchMu, then watch.mu. Sessions are
// called without locks. A connection may have a type of the program, whose methods may
// call the server. So none of them is called under Block.mu or Waker.mu, which methods of
// the server need. SetReadDeadline may be called under watchMu and watch.mu.
type Block struct {
	// Dispatch, if set, makes another goroutine call p.Resume; see Parked.
	Dispatch func(p Parked)
	// Unwound, if set, is called after a connection of Start has ended, if a goroutine
	// that was in Start or Resume for it did not return, because of a panic or
	// runtime.Goexit. It is called once for a connection, when no other goroutine is in
	// Start or Resume for it. The goroutines that did return got ErrParked.
	Unwound func(last Session)

	epoch         epoch // read for each request: nothing near it changes for each connection
	writeTimeouts atomic.Uint64
	_             [64]byte

	// mu guards the ring, its length n, and cursor, which is nil, the head or a connection
	// of the ring.
	mu     sync.Mutex
	n      int
	cursor *blockConn // where EvictIdle looks next
	list   blockConn  // head of a ring of all connections, the oldest first
}

// WriteTimeouts returns how many writes took too long.
func (e *Block) WriteTimeouts() uint64 { return e.writeTimeouts.Load() }

// The states of a connection. They say whether another goroutine may end its wait to
// close it. The goroutine of the connection changes busy to idle and back, and busy to
// parting. Any goroutine may change idle to closing, by compare-and-swap; if it isn't the
// one of the connection, it must then end the wait. The goroutine of the connection
// changes closing to busy if a request came first.
//
// A goroutine that ends the wait of another holds blockConn.rousing meanwhile. It claims
// the connection: by TryLock, under the lock by which it has found the connection and
// while that still waits. If TryLock fails, another goroutine ends the wait. The owner
// calls unclaim before it does anything that must not be interrupted. So no deadline that
// is set to end a wait comes after it, and the connection can't end before.
const (
	busy    int32 = iota
	idle          // nothing of a message has arrived
	closing       // it must be closed: closeIdle has ended the wait, or there is none
	parting       // waits for the peer to close, see closeGracefully
)

// blockConn is a connection of Block. The goroutine that serves it owns every field,
// except where a comment says otherwise. That is the goroutine that called Serve, Start
// or Resume, or the one in waitParked while the connection is parked. There is never more
// than one at a time.
type blockConn struct {
	after, before *blockConn // under Block.mu

	e     *Block
	epoch uint32 // in which it began
	nc    net.Conn
	sess  Session
	next  Next // what the session wants
	state atomic.Int32

	rousing sync.Mutex // see busy; no goroutine that holds another lock waits for it
	deaf    *deafClose // see closeIfDeaf; under rousing

	blockInput
	blockOutput

	served   atomic.Bool // the peer has sent something
	opened   clock.Tick  // when it began, to the second
	thrifty  bool        // wait with one byte instead of a workspace
	detached bool        // it has left the engine: see Detach
	resets   bool        // closing it must show as a reset: see Next.Reset
	unopened bool        // Open of sess has yet to be called, see switchTo
	apart    bool        // Start was called and Dispatch is set: other goroutines may call Resume, see Parked

	blockWatch
	blockWaking

	parking parking
	shares  *blockShare // set by the first Share, and never changed after that
}

// blockInput is how a blockConn reads, and its unread bytes: w or stash is nil, and the byte in
// ahead comes after all others.
type blockInput struct {
	// raw waits for bytes without holding a buffer, see readable. It is nil if the
	// connection isn't a socket.
	raw    syscall.RawConn
	onRead func(fd uintptr) bool
	once   bool  // try once, don't wait
	err    error // the error of onRead

	w      *Work
	stash  []byte // unread bytes, kept while there is no workspace
	ahead  [1]byte
	nAhead int
	into   []byte // see ReadInto
}

// blockOutput is how a blockConn writes. armed is empty while bounds.lent is set.
type blockOutput struct {
	armed       armedDeadlines
	bounds      writeBounds
	paced       pacer // the socket under the connection, if there is one
	wasPaced    bool  // there was one, and a write to it may still use bounds
	interrupted atomic.Bool
}

// blockWatch is what other goroutines may do with the reads of a blockConn. watchMu guards filling,
// watch and lends, and changes of bounds.lent while another goroutine may be in Fill. ahead and nAhead
// belong to the goroutine of a watch while that runs: pause and leave wait for its end. No watch runs
// between beginFill and endFill.
type blockWatch struct {
	watchMu sync.Mutex
	filling bool          // Fill reads
	watch   *watch        // while the session wants to know when the peer leaves
	lends   chan struct{} // a Lend waits for Fill, which closes it after giving up the deadlines
	yields  atomic.Bool   // lends is set: Fill must not wait for bytes
}

// blockWaking is what others tell the goroutine of a blockConn. waker and killed are set under Block.mu.
type blockWaking struct {
	waker      *Waker      // of sess, if it asked for one
	killed     atomic.Bool // CloseAll or breakConn closes it, see failed
	blindFeeds uint8       // feeds in a row without a look at what has arrived, see readOrWake
	atEnd      bool        // sess, which has a Waker, was told that no more bytes come
}

// blockConns holds connections that have ended normally, to be used again: short-lived
// connections must not allocate. forget says which ones must not be put here.
var blockConns = pool.Pool{New: func() any {
	c := new(blockConn)
	c.onRead = c.readable // made once: a method value allocates
	c.bounds.c = c
	return c
}}

// Serve runs a connection on the calling goroutine until it ends, and closes
// it. A thrifty connection holds no buffer while it waits, even where that costs an extra
// read. A connection whose epoch has been stopped ends when it is idle. last is the
// session that had the connection at its end: sess, or one that it was switched to.
func (e *Block) Serve(nc net.Conn, thrifty bool, epoch uint32, sess Session) (last Session, err error) {
	c := e.open(nc, thrifty, epoch, sess, false)
	if last, err = c.serve(); err == ErrParked {
		return c.shares.await()
	}
	return last, err
}

// Start is like Serve, except that it may return ErrParked before the connection ends:
// see Parked. After ErrParked the connection belongs to another goroutine.
func (e *Block) Start(nc net.Conn, thrifty bool, epoch uint32, sess Session) (last Session, err error) {
	c := e.open(nc, thrifty, epoch, sess, e.Dispatch != nil)
	c.parking.may = c.apart && (c.raw != nil || thrifty)
	return c.serve()
}

// open makes a blockConn for nc and opens its session, on the goroutine of the caller. It
// adds the connection to the ring after Open: Stop and CloseAll don't see it before. wait looks
// for Stop, and add for CloseAll.
func (e *Block) open(nc net.Conn, thrifty bool, epoch uint32, sess Session, apart bool) *blockConn {
	c := blockConns.Get().(*blockConn)
	c.e, c.epoch, c.nc, c.sess, c.thrifty = e, epoch, nc, sess, thrifty
	c.opened, c.apart = clock.Coarse(), apart
	opened := false
	defer func() {
		if !opened { // a hook panicked, or ended the goroutine
			defer c.unwound()
			c.calmly(c.shut)
			c.closed(ErrGoexit)
		}
	}()
	c.unopened = true
	c.initRaw()
	if c.raw == nil {
		_, c.bounds.tells = nc.(unreader)
		c.pace()
	}
	c.unopened = false
	sess.Open(c, &c.next)
	opened = true
	e.add(c)
	c.hear()
	return c
}

// servePoint is how far serve has come.
type servePoint uint8

const (
	inRun    servePoint = iota // run has not returned
	isEnding                   // the connection ends: Closed has yet to return
	hasLeft                    // c belongs to another goroutine, or to no one
)

// serve runs the connection until it ends, is parked or is lost to another goroutine.
// After ErrParked another goroutine owns c, and after forget c may be another connection.
// So nothing here may touch c after either.
func (c *blockConn) serve() (last Session, err error) {
	at, turn := inRun, c.turn()
	defer c.broke(&at, turn, &last, &err)
	hijacked, err := c.run(turn)
	at = isEnding
	if err == errLost {
		at = hasLeft
		return c.shares.leave()
	}
	sess := c.sess
	if err == ErrParked {
		at = hasLeft
		go c.waitParked()
		return sess, err
	}
	if c.detached {
		c.dropWork()
		c.closed(nil)
		if at = hasLeft; c.shares != nil {
			return c.shares.end(sess, nil)
		}
		return sess, nil // no forget: other goroutines may still use c, to watch or to interrupt it
	}
	c.e.remove(c)
	if hijacked && err == nil {
		c.waker.end()
		go sess.Hijacked(c.handOver())
		if at = hasLeft; c.shares != nil {
			return c.shares.end(sess, err)
		}
		return sess, err
	}
	c.dropWork()
	c.calmly(c.shut)
	c.closed(err) // which may end a Watch
	if at = hasLeft; c.shares != nil {
		return c.shares.end(sess, err)
	}
	c.forget()
	return sess, err
}

// broke is deferred by serve. It ends the connection after runtime.Goexit, or a panic of a session: in
// Closed, if run has returned. last and err are the results of serve.
func (c *blockConn) broke(at *servePoint, turn uint64, last *Session, err *error) {
	if *at == hasLeft {
		return
	}
	sh := c.shares
	switch {
	case sh == nil:
		defer c.unwound()
	case *at == isEnding || sh.settle(turn):
		if sh.alone(turn) {
			sh.panicked = recover()
		}
		sh.last, sh.err = c.sess, ErrGoexit
		defer sh.unwind()
	default: // another goroutine has the connection
		if r := recover(); r != nil {
			sh.breakConn()
			calmly(sh.sess, func() { panic(r) })
			*last, *err = sh.leave()
			return
		}
		sh.unwind()
		if !c.apart && turn == 0 {
			<-sh.over // as Serve would
		}
		return
	}
	if *at == isEnding {
		return
	}
	if !c.detached {
		c.e.remove(c)
		c.resets = c.next.Reset
		c.calmly(c.shut)
	}
	if sh != nil && sh.alone(turn) {
		c.calmly(func() { c.closed(ErrGoexit) })
		return
	}
	c.closed(ErrGoexit)
}

// unwound is called when a panic or runtime.Goexit has ended the goroutine of c, and c
// with it.
func (c *blockConn) unwound() {
	if c.apart && c.e.Unwound != nil {
		c.e.Unwound(c.sess)
	}
}

// calmly calls f where no method of the session runs. f uses the connection, which may
// have a type of the program and panic. Then Panicked of the session is called.
func (c *blockConn) calmly(f func()) { calmly(c.sess, f) }

// calmly is blockConn.calmly for callers that don't own the connection: it may end at
// this moment, and its session may have forgotten it.
func calmly(sess Session, f func()) {
	defer func() {
		if r := recover(); r != nil {
			defer func() { _ = recover() }()
			sess.Panicked(r)
		}
	}()
	f()
}

// shut closes the connection. TLS sends its closure alert (RFC 8446 section 6.1), unless
// an earlier write failed: an alert would say that the output is complete. If c.resets is
// set, the socket is reset.
func (c *blockConn) shut() {
	c.unpace() // the alert has a deadline of its own
	race.Publish()
	switch {
	case c.resets:
		ResetNow(c.nc)
	case c.bounds.broken.Load():
		CloseNow(c.nc)
	default:
		done := false
		defer func() {
			if b, ok := below(c.nc); ok && !done {
				b.Close() // TLS wrote its alert, by a Write that doesn't return
			}
		}()
		c.nc.Close()
		done = true
	}
}

// forget makes c ready for another connection. The caller owns c and drops it; no watch
// runs, and the Waker has ended.
func (c *blockConn) forget() {
	if c.interrupted.Load() || c.bounds.cut.Load() || c.wasPaced || c.shares != nil {
		return // other goroutines may still be in Interrupt, Fill, Feed or a write
	}
	*c = blockConn{blockInput: blockInput{onRead: c.onRead}}
	c.bounds.c = c
	blockConns.Put(c)
}

// run does what the session wants, until the connection ends or is parked. It returns
// errLost if another goroutine has taken the connection over. turn is the number of
// takeovers when this goroutine became its owner.
func (c *blockConn) run(turn uint64) (hijacked bool, err error) {
	for {
		if c.shares != nil && !c.shares.settle(turn) {
			return false, errLost
		}
		if c.detached {
			return false, nil
		}
		switch c.next.Op {
		case Read:
			if err := c.stepRead(); err != nil {
				if err == ErrStopped {
					err = nil
				}
				return false, err
			}
		case Flush:
			if err := c.sendAll(); err != nil {
				return false, err
			}
			c.feed()
		case Close:
			if err := c.send(c.next.File); err != nil {
				return false, err
			}
			c.closeGracefully(c.next.Linger)
			return false, nil
		case Hijack:
			return true, c.send(c.next.File)
		case Switch:
			if err := c.sendAll(); err != nil {
				return false, err
			}
			c.switchTo(c.next.Session)
		default:
			// Answers to earlier messages may still be waiting.
			if c.w != nil {
				c.Flush(c.w)
			}
			c.resets = c.next.Reset
			return false, ErrAborted
		}
	}
}

// stepRead waits for bytes and feeds the session. It returns an error if the connection
// ends, or leaves the goroutine. It writes Out before it waits: one write for all
// messages that came together.
func (c *blockConn) stepRead() error {
	if c.w != nil && len(c.w.Out) > 0 {
		if err := c.Flush(c.w); err != nil {
			return err
		}
	}
	if c.bounds.lent {
		c.reclaim()
	}
	why := c.parking.why
	if c.parking.why = nil; !c.parking.resumed {
		why = c.wait(c.next.Idle, c.next.Deadline)
	}
	c.parking.resumed = false
	switch why {
	case nil:
		if !c.served.Load() {
			c.served.Store(true)
		}
		if c.waker != nil {
			c.waker.fed()
		}
		if c.into != nil {
			c.into = nil
		}
		c.next = Next{}
		c.sess.Feed(c.w, &c.next) // inlined feed: a call costs half a percent of a small request
	case errWoken:
		c.feed()
	case ErrStopped, ErrParked:
		return why
	default:
		why = c.failed(why)
		c.noteEnd(why)
		c.next, c.into = Next{}, nil
		c.sess.Stall(c.workNow(), why, &c.next)
	}
	return nil
}

// feed calls Feed although nothing was read: after Flush, after a Switch or for a
// wake-up. It clears the pending wake-up before the call.
func (c *blockConn) feed() {
	c.next, c.into = Next{}, nil
	if c.waker != nil {
		c.waker.fed()
	}
	c.sess.Feed(c.workNow(), &c.next)
}

// sendAll writes Out and File, which the session wants written before it goes on.
func (c *blockConn) sendAll() error {
	if err := c.send(c.next.File); err != nil {
		return err
	}
	if c.bounds.lent {
		c.reclaim()
	}
	return nil
}

// work returns the workspace of the connection. It takes one if there is none; that stays
// c.w until putAside or dropWork.
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

// workNow is work for calls of the session without a read. It sets Work.Now in a
// workspace that it takes.
func (c *blockConn) workNow() *Work {
	if c.w == nil {
		c.work().Now = clock.Ticks()
	}
	return c.w
}

// maxStash is the largest number of unread bytes that putAside copies.
const maxStash = 4 << 10

// putAside gives the workspace back before a wait, unless output is left in it or more
// than maxStash bytes are unread. Slices that Unread returned aren't valid after it. So
// it must not be called while w.held is true.
func (c *blockConn) putAside() {
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

// NetConn returns the connection that Serve or Start got.
func (c *blockConn) NetConn() net.Conn { return c.nc }

// Interrupt makes Fill fail from now on. Any goroutine may call it until the session has
// ended. It sets the flag before the deadline, so a Fill that sets its own deadline later
// sees the flag.
func (c *blockConn) Interrupt() {
	c.interrupted.Store(true)
	c.nc.SetReadDeadline(clock.LongAgo)
}

// ReadInto sets where the next read goes.
func (c *blockConn) ReadInto(b []byte) { c.into = b }

// Fill reads more into w, which is c.w.
func (c *blockConn) Fill(w *Work, deadline clock.Tick) error {
	_, err := c.FillInto(w, nil, deadline)
	return err
}

// FillInto reads more into b, or into w if b is empty or something is unread. Until it
// returns, w.held is true: a wait must not give the workspace back, since the session has
// slices of it.
func (c *blockConn) FillInto(w *Work, b []byte, deadline clock.Tick) (landed int, err error) {
	w.held, w.landed, c.into = true, 0, b
	defer func() { w.held, c.into = false, nil }()
	if err = c.fillWithin(deadline); err != nil {
		err = c.failed(err)
	}
	return w.Landed(), err
}

// fillWithin is FillInto after c.into was set.
func (c *blockConn) fillWithin(deadline clock.Tick) error {
	for {
		if c.beginFill() {
			return c.fillLent(deadline)
		}
		if err, yielded := c.fill(deadline); !yielded {
			return err
		}
	}
}

// fill is Fill while the engine owns the deadlines. yielded says that a Lend gave them to
// the program meanwhile, and that nothing was read.
func (c *blockConn) fill(deadline clock.Tick) (err error, yielded bool) {
	defer func() { yielded = c.endFill() && err != nil && IsTimeout(err) && !c.interrupted.Load() }()
	return c.wait(false, deadline), false
}

func isEOF(err error) bool { return err == io.EOF }

// IsTimeout reports whether err says that a deadline has passed.
func IsTimeout(err error) bool {
	if err == io.EOF {
		return false // the usual end of a connection; errors.As allocates
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return true // most timeouts are this error, and errors.Is doesn't allocate
	}
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}
