package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// loop is an instance of the system's poller with the goroutines that serve its
// connections. These goroutines are all alike: each does what comes next. One polls, and
// what it finds is a batch that they share. Before a goroutine visits a connection, which
// may run a handler, it makes sure that another one, the standby, can run. If the handler
// blocks, Go's scheduler runs the standby, which goes on with the batch and polls. If the
// handler does not block, the first goroutine does all that itself, and the standby finds
// nothing to do and rests.
//
// Invariants, under mu:
//
//	running <= min(workers, maxRunning); running is the number of workers with busy set
//	workers-passed <= maxRunning+1: one more, which polls while all others visit
//	polling => one worker is in poll without mu, and at == len(batch)
//	called  => one worker was started or called, and hasn't taken mu yet
type loop struct {
	e      *Event
	sys    system
	number int // in Event.loops
	wheel  wheel

	// conns are the connections. holds are those that keep the loops from ending: also
	// connections that have ended and whose Ended runs. Loops that place connections read
	// conns of the others, so nothing that each request writes is in the same cache line.
	_     [64]byte
	conns atomic.Int32
	holds atomic.Int32
	_     [64]byte

	// mu guards all fields below, except the atomic ones of calm. It is held for short
	// steps only: not while a worker is in sys.poll, and never while a connection is
	// visited.
	mu    sync.Mutex
	slots []slot   // never shrinks; a slot is reused with another gen
	free  []uint32 // indices of slots without a connection
	evict int      // the slot where EvictIdle looks next

	listeners map[uint32]*acceptor // by acceptor.number
	listened  uint32               // the last number that was given to a listener

	batch []ready // what the last poll found
	at    int     // how much of it was taken; 0 <= at <= len(batch)
	turns turns   // what waits for its turn
	// offers are shared connections with something to do for another worker, the oldest
	// first. Each is in it at most once: connMore.offered. See event_share.go.
	offers []*eventConn
	quota  int // how many turns come before the next poll

	polling bool // a goroutine polls, or is about to
	called  bool // a goroutine can run and has not begun
	workers int  // goroutines, except those that retire
	running int  // workers that visit a connection or a listener
	passed  int  // workers that have passed their connection on, see PassOn
	resting []*worker

	maxRunning   int    // doesn't change
	polls, wakes uint64 // polls done, and those of them that waited

	retire *time.Timer // calls retireSome; nil while it isn't set
	ending bool        // end was called: workers end when they find nothing to visit

	calm calm
}

// slot is where the poller's events find a connection.
type slot struct {
	c   *eventConn
	gen uint32 // differs from the gen in events of earlier connections of the slot
}

// listenerSlot is the slot in events of listeners. gen is then the number of the
// listener. No loop has so many connections.
const listenerSlot = 1<<31 - 2

// ready is an event of the poller.
type ready struct {
	slot, gen uint32
	ev        uint32
}

// system is what a loop needs from the operating system. The poller is edge-triggered
// (epoll(7)): it reports what has become possible since its last report. An event may be
// reported twice. It may also come for a slot whose connection has ended, which gen
// shows.
type system interface {
	// add registers a descriptor until it is closed or removed. What is already possible
	// is reported as an edge.
	add(fd int32, slot, gen uint32) error
	// poll fills batch with events and returns their number. With block it waits until
	// there is one. It returns -1 if only wake was called. One worker at a time calls it,
	// without loop.mu: the one that set polling. guarded is true while the guard of the
	// loop is set.
	poll(batch []ready, block bool, guarded *atomic.Bool) int
	// wake ends a poll that blocks, or keeps the next one from blocking. Any goroutine
	// may call it at any time, even after shut.
	wake()
	// shut is called once, after the last poll: by the last worker that ends, or by
	// loop.end.
	shut()

	sockets
}

// begin is the first step of a new worker. From now on another standby may be called.
func (l *loop) begin() {
	l.mu.Lock()
	l.called = false
	l.mu.Unlock()
}

// standby makes sure that another goroutine will go on if the caller does not. It is
// called under mu. It returns a worker, or nil; the caller must call its start after it
// has released mu.
func (l *loop) standby() *worker {
	if l.called || l.polling && !l.offered() || l.ending {
		return nil
	}
	if n := len(l.resting); n > 0 {
		wk := l.resting[n-1]
		l.resting[n-1] = nil
		l.resting = l.resting[:n-1]
		l.called = true
		return wk
	}
	if l.workers-l.passed > l.maxRunning { // the extra worker, which polls, exists
		return nil
	}
	l.workers++
	l.called = true
	return newWorker(l)
}

// nextTurn returns what to visit next. The caller then owns the connection, or is the
// only one that visits the listener. The result has neither if the goroutine must end.
// Only worker.run calls nextTurn, without mu. It polls and rests as needed.
func (l *loop) nextTurn(wk *worker) turn {
	l.mu.Lock()
	l.idles(wk)
	for {
		if t := l.pick(); !t.none() {
			wk.busy = true
			l.running++
			var other *worker
			if !l.calm.alone(l) {
				other = l.standby()
			}
			l.mu.Unlock()
			other.start()
			return t
		}
		switch {
		case l.ending:
			l.mu.Unlock()
			return turn{}
		case !l.polling:
			l.poll()
		case !l.rest(wk):
			return turn{}
		}
	}
}

// idles is called under mu when the visit of a worker has ended, or was passed on. It
// takes the worker out of running, and its connection out of offers.
func (l *loop) idles(wk *worker) {
	if wk.shared != nil {
		l.dropOffer(wk.shared)
		wk.shared = nil
		if wk.passed {
			wk.passed = false
			l.passed--
		}
	}
	if wk.busy {
		wk.busy = false
		l.running--
	}
}

// pick returns the next turn, from the batch, offers or turns, under mu; see nextTurn. If
// running is at its limit, it moves the batch to turns, so that the batch can be
// replaced; the events of a connection go into its word. quota makes a poll come between
// rounds of turns, so that connections that always have more to do don't keep out others.
func (l *loop) pick() turn {
	full := l.running >= l.maxRunning
	for l.at < len(l.batch) {
		r := l.batch[l.at]
		l.at++
		if r.slot == listenerSlot {
			if a := l.listeners[r.gen]; a != nil && a.knock() {
				if full {
					l.turns.pushListener(a)
					continue
				}
				return turn{a: a}
			}
			continue
		}
		if s := &l.slots[r.slot]; s.gen == r.gen && s.c != nil {
			mine, offers := s.c.tell(r.ev)
			if offers {
				l.listOffer(s.c)
			}
			if !mine {
				continue
			}
			if full {
				s.c.set(r.ev)
				l.turns.push(s.c)
				continue
			}
			return turn{c: s.c, ev: r.ev}
		}
	}
	if full {
		return turn{}
	}
	if l.quota > 0 || l.polling {
		if l.offered() {
			if c := l.takeOffer(); c != nil {
				l.quota--
				return turn{c: c, ev: evTurn}
			}
		}
		if l.turns.len() > 0 {
			l.quota--
			return l.turns.pop()
		}
	}
	return turn{}
}

// poll gets the next batch. It is called under mu, and returns under mu, but releases it
// while it polls. Only this worker uses into: at == len(batch) keeps the others from the
// batch. The first sys.poll doesn't block, since looking costs less than parking. If it
// finds nothing, a second one blocks: but only if turns is empty and nothing is offered,
// or if running is at its limit, so that turns and offers must wait anyway.
func (l *loop) poll() {
	l.polling = true
	block := l.turns.len() == 0 && !l.offered() || l.running >= l.maxRunning
	measured := l.calm.endBatch(len(l.batch))
	into := l.batch[:cap(l.batch)]
	l.mu.Unlock()
	n := l.sys.poll(into, false, &l.calm.guarded)
	waited := n == 0 && block
	if waited {
		n = l.sys.poll(into, true, &l.calm.guarded)
	}
	l.mu.Lock()
	l.polling = false
	l.polls++
	if waited {
		l.wakes++
	}
	l.batch, l.at = into[:max(n, 0)], 0
	l.quota = l.turns.len() + len(l.offers)
	if measured {
		l.calm.began = clock.Ticks()
	}
}

// Limits for the workers that rest.
const (
	restWithWork = 4 // workers that keep their workspaces
	restFor      = 10 * time.Second
)

// rest waits until the worker is called. It returns false if the worker must end. It is
// called under mu, and holds mu again if it returns true. The worker that began to rest
// last is called first: its stack and workspace are most likely in the caches. So the
// first ones of resting have rested longest.
func (l *loop) rest(wk *worker) bool {
	if wk.w != nil && len(l.resting) >= restWithWork {
		putWork(wk.w)
		wk.w = nil
	}
	wk.since = clock.Coarse()
	l.resting = append(l.resting, wk)
	if l.retire == nil {
		l.retire = time.AfterFunc(restFor, l.retireSome)
	}
	l.mu.Unlock()
	if !<-wk.call {
		return false
	}
	l.mu.Lock()
	l.called = false
	return true
}

// retireSome ends workers that have rested for restFor or longer, except the last one. It
// runs on a timer's goroutine. The sends don't block, since a worker in resting has not
// been called.
func (l *loop) retireSome() {
	old := clock.Ticks() - clock.Tick(restFor)
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for n < len(l.resting)-1 && l.resting[n].since <= old {
		l.resting[n].old = true
		l.resting[n].call <- false
		n++
	}
	l.workers -= n
	rest := append(l.resting[:0], l.resting[n:]...)
	clear(l.resting[len(rest):])
	l.resting, l.retire = rest, nil
	if len(rest) > 1 {
		l.retire = time.AfterFunc(restFor/2, l.retireSome)
	}
}

// queue puts c, which the caller owns, at the end of turns. Only the worker that visits c
// may call it. That worker calls nextTurn next, so the poller needn't be woken.
func (l *loop) queue(c *eventConn) {
	l.mu.Lock()
	l.turns.push(c)
	l.mu.Unlock()
}

// inject makes a worker visit c for ev. The caller must own c, and does not own it after
// the call. Any goroutine may call it, without mu. If no worker polls, one is about to
// look at turns. A worker that polls must be woken, since it would see turns only after
// an edge.
func (l *loop) inject(c *eventConn, ev uint32) {
	c.set(ev)
	l.mu.Lock()
	l.turns.push(c)
	polling := l.polling
	l.mu.Unlock()
	if polling {
		l.sys.wake()
	}
}

// blocks is called by a worker, without mu, before it parks in the middle of a visit: a
// calm loop may have no standby.
func (l *loop) blocks() {
	l.mu.Lock()
	other := l.standby()
	l.mu.Unlock()
	other.start()
}

// expired is called by the wheel for a connection whose due has passed, on the timer's
// goroutine, without wheel.mu.
func (l *loop) expired(c *eventConn) {
	if c.post(evTimeout) {
		l.inject(c, evTimeout)
	}
}

// adopt gives c a slot. The caller owns c, and holds no lock.
func (l *loop) adopt(c *eventConn) (slotAt, gen uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.free); n > 0 {
		c.slot = l.free[n-1]
		l.free = l.free[:n-1]
	} else {
		l.slots = append(l.slots, slot{})
		c.slot = uint32(len(l.slots) - 1)
	}
	l.slots[c.slot].c = c
	return c.slot, l.slots[c.slot].gen
}

// forget frees the slot of c. Its owner calls it. Events that the poller has reported, or
// will, have the old gen from now on, and pick drops them. A second call does nothing.
func (l *loop) forget(c *eventConn) {
	l.mu.Lock()
	if s := &l.slots[c.slot]; s.c == c {
		s.c = nil
		s.gen++
		l.free = append(l.free, c.slot)
	}
	l.mu.Unlock()
}

// ended decrements the counts of connections and calls Ended, without locks. It is the
// last step for a connection that Start got; for others that is disown.
func (l *loop) ended(c *eventConn, err error) {
	l.conns.Add(-1)
	defer l.unhold()
	l.e.Ended(c.sess, err)
}

// each calls f for the connections that Start got, without mu. A connection may have
// ended when f gets it. So f may do only what any goroutine may do with a connection.
func (l *loop) each(f func(c *eventConn)) {
	l.mu.Lock()
	all := make([]*eventConn, 0, len(l.slots)-len(l.free))
	for _, s := range l.slots {
		if s.c != nil && s.c.sess != nil { // Start was called
			all = append(all, s.c)
		}
	}
	l.mu.Unlock()
	for _, c := range all {
		f(c)
	}
}

// end tells the workers to end. It is called under Event.mu, when no connection is left.
// The last worker shuts the poller; if no worker is left, end does.
func (l *loop) end() (polls, wakes uint64) {
	l.mu.Lock()
	polls, wakes = l.polls, l.wakes
	l.ending = true
	for _, wk := range l.resting {
		wk.call <- false
	}
	l.resting = nil
	if l.retire != nil {
		l.retire.Stop()
	}
	l.calm.stop()
	none := l.workers == 0
	l.mu.Unlock()
	l.wheel.stop()
	if none {
		l.sys.shut()
	} else {
		l.sys.wake()
	}
	return polls, wakes
}
