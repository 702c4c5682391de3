package load

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/head"
)

const (
	readBuffer = 64 << 10
	// never is a time that doesn't come.
	never = math.MaxInt64
	// maxScan and minScan bound the time between two looks at all connections.
	maxScan, minScan = 100 * time.Millisecond, time.Millisecond
	// backOff is the first pause after an attempt to connect failed. It doubles up to
	// backOff << maxFails.
	backOff  = 10 * time.Millisecond
	maxFails = 7
	// maxEnding is how long the server may take to close a connection. maxLeftOpen is how
	// many in a row it may leave open before the loop no longer waits for that.
	maxEnding   = time.Second
	maxLeftOpen = 3
)

// loop is one thread of the generator with its connections. Its fields belong to its
// goroutine, except those that say otherwise.
type loop struct {
	run     *run
	id      int64
	net     network
	conns   []*conn
	servers []*server
	tally   *tally

	now     int64 // the last reading of the clock
	seen    int64 // when the bytes that are read now could have been seen first
	started bool
	ending  bool // the counted time has ended
	ended   bool
	polled  int64 // when the last poll returned
	settled int   // connections whose first attempt to connect has ended
	flying  int   // requests in flight
	tickets int64
	numbers [2]int64 // the next number of a request and the end of those that were taken
	done    int64    // counted requests that ended since the last call of settle
	scanAt  int64
	thinks  thinks

	unread      []*conn // from which there may be more to read
	unreadSpare []*conn

	buf      []byte // for reads
	plain    []byte // for reads within TLS
	scratch  []byte // for requests that are written together
	heads    []seenHead
	bare     head.Response // has a status only
	requests []*Request    // to reuse

	swap  atomic.Pointer[slice] // from the goroutine of intervals: count into this one
	slice chan *slice           // the one before it
	left  chan struct{}         // closed when the loop has ended: then its fields are free to read

	posts struct { // from goroutines of handshakes
		atomic.Bool
		sync.Mutex
		list []post
	}
}

// seenHead is the last head of a target's responses. Most responses begin with the same
// bytes as the one before, and then their head isn't parsed again.
type seenHead struct {
	raw  []byte
	head head.Response
}

// post says that a handshake wrote something or has ended.
type post struct {
	slot int32
	gen  uint32
}

func (l *loop) clock() int64 {
	l.now = int64(time.Since(l.run.base))
	return l.now
}

// work runs the loop until the run is over.
func (l *loop) work() {
	defer close(l.left)
	runtime.LockOSThread()
	enterThread()
	l.clock()
	for _, c := range l.conns {
		l.open(c)
	}
	l.polled = l.now
	for !l.ended {
		from := l.clock()
		events := l.net.wait(time.Duration(l.until() - from))
		to := l.clock()
		l.rest(from, to)
		if to-l.polled > standstill {
			l.tally.slice.stood(l.polled, to)
		}
		// If poll blocked, there were no bytes before. Otherwise they may have been
		// there since the poll before this one.
		l.seen = l.polled
		if to-from > int64(blocked) {
			l.seen = to
		}
		l.polled = to
		for i := range events {
			l.handle(&events[i])
			if l.due() {
				l.startDue()
			}
		}
		l.readOn()
		l.turn()
	}
	if l.settled < len(l.conns) {
		l.run.ready.Done()
	}
}

// blocked is the time from which on a poll counts as one that blocked. The switch to
// another thread and back takes longer.
const blocked = 3 * time.Microsecond

// rest counts a wait.
func (l *loop) rest(from, to int64) {
	if l.started {
		l.tally.waited += max(min(to, l.run.end.Load())-max(from, l.run.begin), 0)
	}
}

// until returns when the loop must go on without events.
func (l *loop) until() int64 {
	at, end := l.scanAt, l.run.end.Load()
	switch {
	case len(l.unread) > 0:
		return l.now
	case !l.started:
		return at
	case l.now >= end: // an open loop waits for answers
		return min(at, end+l.run.grace)
	}
	at = min(at, l.thinks.next(), end)
	for _, s := range l.servers {
		if !s.waiting {
			at = min(at, s.next.at)
		}
	}
	return at
}

// turn does what is due apart from events.
func (l *loop) turn() {
	if l.posts.Load() {
		l.takePosts()
	}
	if s := l.swap.Swap(nil); s != nil {
		s, l.tally.slice = l.tally.slice, s
		l.slice <- s
	}
	if !l.started {
		l.begin()
	}
	if l.started {
		l.startDue()
		for at := l.thinks.next(); at <= l.now; at = l.thinks.next() {
			if c := l.thinks.pop(l.conns); c != nil {
				l.clock()
				l.fill(c)
			}
		}
	}
	if l.now >= l.scanAt {
		l.scan()
	}
	if l.done > 0 && l.run.plan.Count > 0 {
		l.run.finish(l.done, l.tally.last)
		l.done = 0
	}
	if l.tickets > 0 && l.run.hungry.Load() {
		l.run.tickets.Add(l.tickets)
		l.tickets = 0
	}
	if l.started && l.now >= l.run.end.Load() {
		l.finish()
	}
}

// begin starts the requests when the run has begun.
func (l *loop) begin() {
	if !l.run.started.Load() {
		return
	}
	l.started = true
	l.clock() // the last reading may be from before the warm-up
	for _, s := range l.servers {
		s.next = l.after(s, start{index: -1})
	}
	for _, c := range l.conns {
		if c.state == stateOpen {
			l.clock() // the writes before it took their time
			l.fill(c)
		}
	}
}

// finish ends the loop at the end of the run. An open loop waits for the answers to what
// it has sent.
func (l *loop) finish() {
	if !l.ending {
		l.ending = true
		l.startLast()
	}
	if l.run.schedule != nil && l.flying > 0 && l.now < l.run.end.Load()+l.run.grace && !l.run.stopped.Load() {
		return
	}
	l.ended = true
	for _, c := range l.conns {
		l.noteStreams(c)
		cut := c.inFlight() > 0
		for c.inFlight() > 0 {
			e := l.takeBack(c)
			if e.step != uncounted {
				l.tally.count(&e, unanswered, l.now-e.start, l.run.schedule != nil)
			}
		}
		l.leaveAgain(c)
		if c.state == stateOpen && c.websocket != nil && !cut && !c.writing() {
			l.sendClose(c)
		}
		if c.state == stateOpen && c.tls != nil && !cut {
			l.closeTLS(c)
		}
		if c.tls != nil {
			c.tls.pipe.end()
		}
		l.net.close(c.slot, cut)
	}
	l.skipRest()
}

// scan looks at all connections for what takes too long.
func (l *loop) scan() {
	pause := l.run.scan
	p := l.run.plan
	for _, c := range l.conns {
		l.expireAgain(c)
		switch c.state {
		case stateClosed:
			if c.since <= l.now {
				l.open(c)
			}
			if c.state == stateClosed {
				pause = min(pause, int64(backOff))
			}
		case stateConnecting, stateHandshaking, stateUpgrading:
			if p.ConnectTimeout > 0 && l.now-c.since > int64(p.ConnectTimeout) {
				l.failOpen(c, "timeout of "+p.ConnectTimeout.String())
			}
		case stateEnding:
			if l.now-c.since > int64(maxEnding) {
				c.server.leftOpen++
				l.reopen(c, true)
			}
		case stateOpen:
			if c.http2 != nil {
				l.scanHTTP2(c)
			} else if p.Timeout > 0 && c.flight.n > 0 && l.now-c.flight.oldest().start > int64(p.Timeout) {
				l.lose(c, kindTimeout, "no complete response within "+p.Timeout.String())
			}
			if l.isStuck(c) {
				l.reopen(c, true)
			}
			if c.state == stateOpen && l.started && c.inFlight() == 0 && l.run.schedule == nil && !c.pausing {
				l.clock()
				l.fill(c) // another loop may have given tickets back
			}
		}
	}
	l.scanAt = l.now + pause
}

// isStuck reports whether the server has answered all requests on c without taking all of
// their bodies, and still doesn't take the rest: then nothing can be sent anymore.
func (l *loop) isStuck(c *conn) bool {
	timeout := int64(l.run.plan.Timeout)
	return timeout > 0 && c.state == stateOpen && c.served > 0 && c.inFlight() == 0 && l.now-c.answered > timeout && c.writing()
}

// thinks are the connections that pause, in the order in which they go on: all pauses have
// the same length.
type thinks struct {
	list  []think
	first int
}

// think is a pause of a connection, or of its place if it was closed meanwhile.
type think struct {
	at   int64
	slot int32
}

func (t *thinks) next() int64 {
	if t.first == len(t.list) {
		return never
	}
	return t.list[t.first].at
}

func (t *thinks) push(at int64, c *conn) {
	if t.first > 0 && len(t.list) == cap(t.list) {
		t.list = t.list[:copy(t.list, t.list[t.first:])]
		t.first = 0
	}
	t.list = append(t.list, think{at, c.slot})
	c.pausing = true
}

// pop returns the next connection, nil if it isn't open.
func (t *thinks) pop(conns []*conn) *conn {
	e := t.list[t.first]
	if t.first++; t.first == len(t.list) {
		t.list, t.first = t.list[:0], 0
	}
	c := conns[e.slot]
	if c.pausing = false; c.state != stateOpen {
		return nil
	}
	return c
}
