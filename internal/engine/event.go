package engine

import (
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/pool"
)

// Event is the engine with goroutines per request, not per connection: a few goroutines
// serve all connections, see loop. It serves sockets and needs a poller, which only Linux
// has; see Serves. The fields must be set before the first Serve. Any goroutine may call
// the methods; those that take a connection say more.
//
// Lock order: Event.mu, then loop.mu; Waker.mu, then loop.mu. wheel.mu and eventConn.mu
// come last: no other lock is taken under them. No lock is held while user code runs,
// except eventWatch.mu while gone runs.
type Event struct {
	// Ended is called once for each connection that Start got: after Closed, or after it
	// was hijacked.
	Ended func(sess Session, err error)
	// Panicked is called with the value of a panic in user code that the engine has
	// recovered.
	Panicked func(recovered any)
	// Loops is the number of pollers, each with goroutines of its own. 0 or less means
	// one for each four processors, at least one. There are at most MaxRunning.
	Loops int
	// MaxRunning limits how many connections are visited at the same time, and with that
	// how many handlers run. A handler whose connection was passed on doesn't count. 0 or
	// less means no limit.
	MaxRunning int

	acceptors sync.Map // of the calls of Serve that run

	// mu guards loops, ports, polls and wakes. loops == nil <=> the loops don't run. While
	// they run the slice doesn't change, so the result of all stays valid.
	mu    sync.Mutex
	loops []*loop
	ports map[string]*port // that are served, by network and address
	// holds counts calls of Hold, which Serve makes too. It grows from 0 only under mu.
	// The loops run while it or loop.holds of one of them isn't 0: see endUnheld.
	holds atomic.Int64
	epoch epoch // read for each request: nothing here changes for each connection

	served atomic.Uint32 // the number of calls of Serve so far

	pending       atomic.Int32 // connections that wait to write
	writeTimeouts atomic.Uint64
	polls, wakes  uint64 // of loops that have ended, under mu
}

// Counts are the statistics of an Event.
type Counts struct {
	Loops, Conns, Running, Resting, PendingWrites int

	WriteTimeouts, Polls, Wakeups uint64
}

// Counts returns the statistics. The numbers of different loops are not taken at the same
// instant.
func (e *Event) Counts() Counts {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := Counts{
		Loops: len(e.loops), Conns: countConns(e.loops), PendingWrites: int(e.pending.Load()),
		WriteTimeouts: e.writeTimeouts.Load(), Polls: e.polls, Wakeups: e.wakes,
	}
	for _, l := range e.loops {
		l.mu.Lock()
		n.Running += l.running
		n.Resting += len(l.resting)
		n.Polls += l.polls
		n.Wakeups += l.wakes
		l.mu.Unlock()
	}
	return n
}

// noBound is larger than any number of goroutines.
const noBound = 1 << 30

// batchSize is the largest number of events that one poll returns.
const batchSize = 256

// Hold starts the loops, if they don't run, and keeps them running until Unhold is
// called. It fails if the system has no descriptors left for them, or doesn't allow it.
func (e *Event) Hold() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.loops == nil {
		n := e.Loops
		if n <= 0 {
			n = max(1, runtime.GOMAXPROCS(0)/4)
		}
		if e.MaxRunning > 0 {
			n = min(n, e.MaxRunning) // each loop serves one connection at least
		}
		for i := range n {
			sys, err := openSystem(e)
			if err != nil {
				e.endLoops()
				return err
			}
			e.loops = append(e.loops, startLoop(e, sys, i, n))
		}
	}
	e.holds.Add(1)
	return nil
}

// openSystem makes the poller of a loop, under Event.mu. Tests replace it.
var openSystem = func(*Event) (system, error) { return newSystem() }

// startLoop starts a loop with one goroutine, which polls: workers == 1, and called is
// true until that goroutine runs. MaxRunning is shared among the loops.
func startLoop(e *Event, sys system, number, loops int) *loop {
	l := &loop{e: e, sys: sys, number: number, batch: make([]ready, 0, batchSize), workers: 1, called: true}
	l.listeners = make(map[uint32]*acceptor)
	l.maxRunning = noBound
	if e.MaxRunning > 0 {
		l.maxRunning = e.MaxRunning / loops
	}
	l.wheel.fire = l.expired
	l.calm.is.Store(true)
	go newWorker(l).run()
	return l
}

// Unhold undoes one Hold. The loops end when nothing holds the engine any more. The
// caller must hold neither mu nor loop.mu.
func (e *Event) Unhold() {
	if e.holds.Add(-1) == 0 {
		e.endUnheld()
	}
}

// unhold undoes the hold of a connection of l: Adopt makes it. The last unhold or Unhold
// sees that all others have been.
func (l *loop) unhold() {
	if l.holds.Add(-1) == 0 && l.e.holds.Load() == 0 {
		l.e.endUnheld()
	}
}

// endUnheld ends the loops if nothing holds them.
func (e *Event) endUnheld() {
	e.mu.Lock()
	defer e.mu.Unlock()
	held := e.holds.Load() != 0
	for _, l := range e.loops {
		held = held || l.holds.Load() != 0
	}
	if !held {
		e.endLoops()
	}
}

// endLoops tells the loops to end and keeps their counts, under mu. It doesn't wait for
// their goroutines.
func (e *Event) endLoops() {
	for _, l := range e.loops {
		polls, wakes := l.end()
		e.polls += polls
		e.wakes += wakes
	}
	e.loops = nil
}

// all returns the loops. The caller must not change the slice, nor hold mu.
func (e *Event) all() []*loop {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.loops
}

// Len returns the number of connections.
func (e *Event) Len() int { return countConns(e.all()) }

func countConns(loops []*loop) (n int) {
	for _, l := range loops {
		n += int(l.conns.Load())
	}
	return n
}

// Adopt gives a connection of Serve to a loop. Until Start it belongs to the caller,
// which may use it as a net.Conn, from one goroutine at a time. Instead of Start the
// caller may call Detach or Drop. After an error the connection is closed. The loops must
// be held, as they are while handle of Serve runs.
//
// Bytes may have arrived already, with TCP Fast Open even in the SYN (RFC 7413). No edge
// is missed: add reports what is already possible as an edge.
func (e *Event) Adopt(nc net.Conn) error {
	c := (*eventConn)(nc.(*eventSocket))
	l := e.place(c.from)
	c.l = l
	l.conns.Add(1)
	l.holds.Add(1) // Serve holds all loops meanwhile
	slotAt, gen := l.adopt(c)
	if err := l.sys.add(c.fd, slotAt, gen); err != nil {
		e.Drop(nc)
		return err
	}
	return nil
}

// starters has empty workers for Start.
var starters pool.Pool

// Start lets sess serve a connection for which Adopt was called. top, if it is not nil,
// is a connection on top of nc: the engine reads from it and writes to it. Its Read must
// return temporary errors of nc, and go on where it stopped when it is called again. A
// connection whose epoch has been stopped ends when it is idle.
//
// The caller owns nc when it calls Start, and not any more when Start returns. Open runs
// on the caller's goroutine, without locks. If it panics or ends the goroutine, the
// connection ends.
func (e *Event) Start(nc, top net.Conn, epoch uint32, sess Session) {
	c := (*eventConn)(nc.(*eventSocket))
	l := c.l
	if top != nil {
		c.extra().top = top
		c.layered = true
	}
	l.mu.Lock() // each and evictIdle look at these
	c.sess, c.epoch, c.opened = sess, epoch, uint32(clock.Coarse()/seconds)
	l.mu.Unlock()
	if e.epoch.killed(epoch) { // CloseAll may have missed it
		c.kill()
	}
	if !e.open(c, sess) {
		return
	}
	if c.phase != reading || top != nil {
		l.inject(c, evIn) // there may be bytes in top
		return
	}
	l.wheel.arm(c, c.due())
	idle := c.wants.idle
	switch {
	case !c.release(idle):
		l.inject(c, evTurn) // something was posted by now
	case idle && c.over() && c.claimIdle():
		l.inject(c, evStop)
	}
}

// open calls Open of sess. It returns false if that panics: then the connection has ended, as it does if
// that ends the goroutine.
func (e *Event) open(c *eventConn, sess Session) (fine bool) {
	wk, _ := starters.Get().(*worker) // for the steps below, which need one
	if wk == nil {
		wk = new(worker)
	}
	wk.l = c.l
	defer func() {
		if !fine { // user code ended it
			if r := recover(); r != nil {
				e.Panicked(r)
			}
			defer func() {
				if r := recover(); r != nil {
					e.Panicked(r)
				}
			}()
			c.end(ErrGoexit, wk)
			return
		}
		*wk = worker{}
		starters.Put(wk)
	}()
	sess.Open(c, &wk.next)
	c.begin(&wk.next)
	return true
}

// Drain begins the end of the epoch, see Block.Drain. It sets the bit of the epoch before
// it looks at words. Waker looks at the bit after it has set hasWaker. So one of the two
// sees the other.
func (e *Event) Drain() {
	e.epoch.drain()
	for _, l := range e.all() {
		l.each((*eventConn).hear)
	}
}

// Stop ends the epoch. Idle connections are closed; the others are closed as soon as they
// are idle, and their sessions are fed if they have a Waker.
func (e *Event) Stop() {
	e.epoch.end()
	for _, l := range e.all() {
		l.each(func(c *eventConn) {
			switch {
			case !c.over():
			case c.claimIdle():
				l.inject(c, evStop)
			default:
				c.hear()
			}
		})
	}
}

// CloseAll closes all connections of epochs that have ended at once; see Block.CloseAll. Any
// goroutine may call it; it doesn't wait until their sessions are closed.
func (e *Event) CloseAll() {
	e.epoch.kill()
	for _, l := range e.all() {
		l.each(func(c *eventConn) {
			if e.epoch.killed(c.epoch) {
				c.kill()
			}
		})
	}
}

// EvictIdle closes up to n idle connections, and returns how many it found; see
// Block.EvictIdle.
func (e *Event) EvictIdle(n int) (found int) {
	for _, l := range e.all() {
		if found < n {
			found += l.evictIdle(n - found)
		}
	}
	return found
}

// Settled returns the number of connections that have sent something, or are older than
// age. The age is exact to a second. It looks at all connections.
func (e *Event) Settled(age time.Duration) (n int) {
	now := clock.Ticks()
	for _, l := range e.all() {
		l.mu.Lock()
		for _, s := range l.slots {
			if s.c != nil && s.c.sess != nil && !s.c.isNew(now, age) {
				n++
			}
		}
		l.mu.Unlock()
	}
	return n
}

// Idle returns the number of idle connections. It looks at all connections.
func (e *Event) Idle() (n int) {
	for _, l := range e.all() {
		l.each(func(c *eventConn) {
			if c.word.Load()&isIdle != 0 {
				n++
			}
		})
	}
	return n
}

// evictIdle is EvictIdle for one loop. For each connection that it found it does what
// inject does, but it takes loop.mu once and wakes the poller once. It looks at 64+n
// slots at most, and the next call starts after them.
func (l *loop) evictIdle(n int) (found int) {
	now := clock.Ticks()
	l.mu.Lock()
	for range min(64+n, len(l.slots)) {
		if l.evict >= len(l.slots) {
			l.evict = 0
		}
		c := l.slots[l.evict].c
		l.evict++
		if c != nil && !c.isNew(now, fresh) && c.claimIdle() {
			c.set(evStop)
			l.turns.push(c)
			if found++; found == n {
				break
			}
		}
	}
	polling := l.polling
	l.mu.Unlock()
	if found > 0 && polling {
		l.sys.wake()
	}
	return found
}
