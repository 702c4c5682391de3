package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// loop is an instance of the system's poller with the goroutines that serve its
// connections. They are all the same; what they do depends on what is to be
// done. One polls; what it finds is a batch that they share. Before a goroutine
// visits a connection, which may run a handler, it makes sure that another one,
// the standby, can run: if the handler blocks, Go's scheduler lets the standby
// go on with the batch and poll. If it does not, the goroutine does all that
// itself, and the standby, when it gets to run, finds nothing to do and rests.
type loop struct {
	e     *Event
	sys   system
	wheel wheel
	conns atomic.Int32

	mu    sync.Mutex
	slots []slot
	free  []uint32 // indices of slots
	evict int      // the slot where EvictIdle looks next

	batch []ready // what the last poll found
	at    int     // how much of it was taken
	turns turns   // connections that wait for their turn
	quota int     // how many of them come before the next poll

	polling bool // a goroutine polls, or is about to
	called  bool // a goroutine can run and has not begun
	workers int  // goroutines
	running int  // of them, those that visit a connection
	resting []*worker

	maxRunning   int
	polls, wakes uint64 // those that there were, and those that waited

	retire *time.Timer
	over   bool

	calm calm
}

// turns is a queue of connections, linked by eventConn.link.
type turns struct {
	first, last *eventConn
	n           int
}

func (q *turns) push(c *eventConn) {
	if q.first == nil {
		q.first = c
	} else {
		q.last.link = c
	}
	q.last = c
	q.n++
}

func (q *turns) pop() *eventConn {
	c := q.first
	q.first, c.link = c.link, nil
	q.n--
	return c
}

// slot is where the poller's events find a connection.
type slot struct {
	c   *eventConn
	gen uint32 // those of connections that have ended are told by it
}

// ready is an event of the poller.
type ready struct {
	slot, gen uint32
	ev        uint32
}

// system is what a loop wants of the operating system. The poller reports
// edges: what has become possible since it was reported last.
type system interface {
	// add registers a descriptor for good.
	add(fd int32, slot, gen uint32) error
	// poll fills batch with what is ready; where block is set it waits until
	// something is. It returns -1 where only wake was called.
	poll(batch []ready, block bool) int
	// wake ends a poll. Anybody may call it, at any time.
	wake()
	// shut is called when nobody polls any more.
	shut()

	sockets
}

// worker is a goroutine of a loop and what it works with.
type worker struct {
	l     *loop
	call  chan bool  // false: end
	c     *eventConn // that it visits
	busy  bool       // it counts as running; under loop.mu
	w     *Work      // its workspace, while no connection has it
	next  Next
	bytes int // read in this visit
	feeds int // calls of the session in this visit
	since clock.Tick
}

// take returns the workspace, or another one if a connection has it.
func (wk *worker) take() *Work {
	if w := wk.w; w != nil {
		wk.w = nil
		return w
	}
	return getWork()
}

// give takes a workspace back.
func (wk *worker) give(w *Work) {
	if wk.w != nil {
		putWork(w)
		return
	}
	w.reset()
	wk.w = w
}

// run serves connections until it is not needed any more.
func (wk *worker) run() {
	defer wk.ended()
	wk.l.begin()
	for {
		c, ev := wk.l.nextConn(wk)
		if c == nil {
			return
		}
		wk.c = c
		if wk.l.calm.is.Load() {
			c.visit(ev, wk)
		} else {
			began := clock.Ticks()
			c.visit(ev, wk)
			wk.l.took(clock.Ticks(), began)
		}
		wk.c = nil
	}
}

// ended cleans up behind a goroutine. If user code ended it in the middle of a
// visit, by a panic or by runtime.Goexit, the connection ends too.
func (wk *worker) ended() {
	l, c := wk.l, wk.c
	if r := recover(); r != nil {
		l.e.Panicked(r)
	}
	l.mu.Lock()
	l.workers--
	l.idles(wk)
	other := l.standby()                 // for all the others may be resting
	missed := l.polling && l.turns.n > 0 // they wait for a goroutine to be ready
	last := l.over && l.workers == 0
	l.mu.Unlock()
	if last {
		defer l.sys.shut()
	}
	if missed {
		l.sys.wake()
	}
	other.start()
	if c == nil {
		if wk.w != nil {
			putWork(wk.w)
		}
		return
	}
	defer func() {
		if r := recover(); r != nil {
			l.e.Panicked(r)
		}
	}()
	if c.phase == accepting {
		l.inject(c, evIn) // another goroutine goes on
		return
	}
	c.end(ErrGoexit, &worker{l: l})
}

// begin is for a goroutine that was called.
func (l *loop) begin() {
	l.mu.Lock()
	l.called = false
	l.mu.Unlock()
}

// start lets a goroutine run that standby chose, if there is one.
func (wk *worker) start() {
	switch {
	case wk == nil:
	case wk.since == 0:
		go wk.run()
	default:
		wk.call <- true
	}
}

// standby makes sure that somebody will poll if the caller does not. It is
// called under mu; the goroutine that it returns is to be started without it.
func (l *loop) standby() *worker {
	if l.called || l.polling || l.over {
		return nil
	}
	if n := len(l.resting); n > 0 {
		wk := l.resting[n-1]
		l.resting[n-1] = nil
		l.resting = l.resting[:n-1]
		l.called = true
		return wk
	}
	if l.workers > l.maxRunning { // one more, to poll
		return nil
	}
	l.workers++
	l.called = true
	return &worker{l: l, call: make(chan bool, 1)}
}

// nextConn returns a connection to visit, which the caller owns then, and what
// has happened to it; nil if the goroutine is to end.
func (l *loop) nextConn(wk *worker) (c *eventConn, ev uint32) {
	l.mu.Lock()
	l.idles(wk)
	for {
		if c, ev = l.pick(); c != nil {
			wk.busy = true
			l.running++
			var other *worker
			if !l.calm.alone(l) {
				other = l.standby()
			}
			l.mu.Unlock()
			other.start()
			return c, ev
		}
		switch {
		case l.over:
			l.mu.Unlock()
			return nil, 0
		case !l.polling:
			l.poll()
		case !l.rest(wk):
			return nil, 0
		}
	}
}

// idles counts out a goroutine that visits no connection any more, under mu.
func (l *loop) idles(wk *worker) {
	if wk.busy {
		wk.busy = false
		l.running--
	}
}

// pick returns the next connection of the batch or of those that wait for
// their turn, under mu.
func (l *loop) pick() (c *eventConn, ev uint32) {
	full := l.running >= l.maxRunning
	for l.at < len(l.batch) {
		r := l.batch[l.at]
		l.at++
		if s := &l.slots[r.slot]; s.gen == r.gen && s.c != nil && s.c.post(r.ev) {
			if full {
				s.c.set(r.ev)
				l.turns.push(s.c)
				continue
			}
			return s.c, r.ev
		}
	}
	if full {
		return nil, 0
	}
	if l.turns.n > 0 && (l.quota > 0 || l.polling) {
		l.quota--
		return l.turns.pop(), evTurn
	}
	return nil, 0
}

// poll gets the next batch. It is called and returns under mu.
func (l *loop) poll() {
	l.polling = true
	block := l.turns.n == 0 || l.running >= l.maxRunning
	measured := l.calm.endBatch(len(l.batch))
	into := l.batch[:cap(l.batch)]
	l.mu.Unlock()
	n := l.sys.poll(into, false)
	waited := n == 0 && block
	if waited {
		n = l.sys.poll(into, true)
	}
	l.mu.Lock()
	l.polling = false
	l.polls++
	if waited {
		l.wakes++
	}
	l.batch, l.at = into[:max(n, 0)], 0
	l.quota = l.turns.n
	if measured {
		l.calm.began = clock.Ticks()
	}
}

// Bounds of the goroutines that rest.
const (
	restWithWork = 4 // so many keep their workspaces
	restFor      = 10 * time.Second
)

// rest waits until the goroutine is called; false if it is to end. It is called
// under mu and returns so if it returns true.
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

// retireSome ends goroutines that have rested for long. One stays.
func (l *loop) retireSome() {
	old := clock.Ticks() - clock.Tick(restFor)
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for n < len(l.resting)-1 && l.resting[n].since <= old {
		l.resting[n].call <- false
		n++
	}
	rest := append(l.resting[:0], l.resting[n:]...)
	clear(l.resting[len(rest):])
	l.resting, l.retire = rest, nil
	if len(rest) > 1 {
		l.retire = time.AfterFunc(restFor/2, l.retireSome)
	}
}

// queue lets c, which the caller owns, be visited again behind the others.
func (l *loop) queue(c *eventConn) {
	l.mu.Lock()
	l.turns.push(c)
	l.mu.Unlock()
}

// unqueue takes c out of those that wait for their turn, and reports whether it
// was there: then the caller owns it.
func (l *loop) unqueue(c *eventConn) (found bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range l.turns.n {
		if other := l.turns.pop(); other != c {
			l.turns.push(other)
		} else {
			found = true
		}
	}
	return found
}

// inject has c, which the caller owns, visited for ev.
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

// blocks is called before a goroutine parks in the middle of a visit.
func (l *loop) blocks() {
	l.mu.Lock()
	other := l.standby()
	l.mu.Unlock()
	other.start()
}

// expired is what the wheel calls.
func (l *loop) expired(c *eventConn) {
	if c.post(evTimeout) {
		l.inject(c, evTimeout)
	}
}

// adopt gives c a slot.
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

// forget frees the slot of c.
func (l *loop) forget(c *eventConn) {
	l.mu.Lock()
	if s := &l.slots[c.slot]; s.c == c {
		s.c = nil
		s.gen++
		l.free = append(l.free, c.slot)
	}
	l.mu.Unlock()
}

// ended is the end of a connection.
func (l *loop) ended(c *eventConn, err error) {
	l.conns.Add(-1)
	l.e.n.Add(-1)
	defer l.e.Unhold()
	l.e.Ended(c.sess, err)
}

// each calls f for the connections.
func (l *loop) each(f func(c *eventConn)) {
	l.mu.Lock()
	all := make([]*eventConn, 0, len(l.slots)-len(l.free))
	for _, s := range l.slots {
		if s.c != nil && s.c.sess != nil { // no listener
			all = append(all, s.c)
		}
	}
	l.mu.Unlock()
	for _, c := range all {
		f(c)
	}
}

// end ends the goroutines.
func (l *loop) end() (polls, wakes uint64) {
	l.mu.Lock()
	polls, wakes = l.polls, l.wakes
	l.over = true
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
