package gale

import (
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/pool"
)

// A call for which there is no room waits in one of two lines: connPool.line if it needs a
// wire alone, sharedWires.line if it shares one. serveLines gives the
// first calls of the lines what there is. So one rule keeps anyone from waiting while there is
// room: who makes room, or doesn't use the room that was given to it, calls serveLines after
// that, on each way out.

// room is what the pool gives to a call.
type room struct {
	kind roomKind
	w    wire  // with roomAlone and roomShared
	err  error // with roomNone
}

// roomKind says what a room is.
type roomKind uint8

const (
	roomAlone  roomKind = iota // a wire that the call has alone
	roomShared                 // room for a request on a shared wire
	roomDial                   // the right to make a connection, whose place is counted in connPool.open
	roomLead                   // as roomDial, and calls in the line for shared wires wait for the result
	roomOther                  // nothing: the other line is that of the call, as the host has turned out
	roomNone                   // nothing, because of err
)

// noRoom returns the room of a call that gets none because of err.
func noRoom(err error) room { return room{kind: roomNone, err: err} }

// connWaiter is a call that waits. After it was removed from its line, ready gets exactly one
// value, and got is what the call gets.
type connWaiter struct {
	ready      chan struct{}
	got        room
	line       *waiterList // nil once it was served
	number     uint64      // the order in which calls came, in both lines
	since      clock.Tick  // when it began to wait for room, 0 while it waits for a dial
	any        bool        // in connPool.line: a shared wire would do, too
	prev, next *connWaiter
}

var connWaiters = pool.Pool{New: func() any { return &connWaiter{ready: make(chan struct{}, 1)} }}

// waiterList is a line of calls that wait. connPool.mu guards it.
type waiterList struct {
	first, last *connWaiter
	n           int
}

// insert puts w after those that came before it.
func (l *waiterList) insert(w *connWaiter) {
	next := (*connWaiter)(nil)
	if l.last != nil && l.last.number > w.number { // w has waited before
		for next = l.first; next.number < w.number; {
			next = next.next
		}
	}
	w.next, w.line = next, l
	if next != nil {
		w.prev, next.prev = next.prev, w
	} else {
		w.prev, l.last = l.last, w
	}
	if w.prev != nil {
		w.prev.next = w
	} else {
		l.first = w
	}
	l.n++
}

func (l *waiterList) remove(w *connWaiter) {
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		l.first = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	} else {
		l.last = w.prev
	}
	w.prev, w.next, w.line = nil, nil, nil
	l.n--
}

// isTurnOf reports whether k has come before those who wait.
func (l *waiterList) isTurnOf(k *call) bool {
	return l.n == 0 || k.number > 0 && k.number < l.first.number
}

// wait puts k into a line. If k waits again, because it couldn't use the room that it was
// given, it keeps its number and its time. The caller holds the pool's lock, and has added the
// call to connPool.waiting before it looked for room.
func (c *HostClient) wait(k *call, line *waiterList) *connWaiter {
	w := connWaiters.Get().(*connWaiter)
	if k.number == 0 {
		c.pool.stats.Waits++
		k.number = c.pool.stats.Waits
	}
	if k.since == 0 && !c.pool.shared.waitsForDial(line) {
		k.since = clock.Ticks()
	}
	w.number, w.since = k.number, k.since
	w.any = line == &c.pool.line && k.mayShare()
	line.insert(w)
	return w
}

// releaseWaiter gives back w, which is in no line and has got its value.
func releaseWaiter(w *connWaiter) {
	w.got, w.number, w.since, w.any = room{}, 0, 0, false
	connWaiters.Put(w)
}

// serve gives w, which is in a line, what it waits for. The caller holds the pool's lock.
func (c *HostClient) serve(w *connWaiter, got room) {
	w.line.remove(w)
	if got.kind != roomShared {
		c.pool.waiting.Add(-1) // otherwise when it has used the room, see passOn
	}
	w.got = got
	w.ready <- struct{}{}
}

// serveLines gives room to the calls that wait, in the order in which they came, as far as
// there is some. The caller holds the pool's lock.
func (c *HostClient) serveLines() {
	for {
		a, b := &c.pool.line, &c.pool.shared.line
		if a.n == 0 || b.n > 0 && b.first.number < a.first.number {
			a, b = b, a
		}
		if !c.serveFirst(a) && !c.serveFirst(b) {
			return
		}
	}
}

// serveFirst serves the first call of a line, if there is one and room for it.
func (c *HostClient) serveFirst(line *waiterList) bool {
	if line.n == 0 {
		return false
	}
	got, ok := c.find(line)
	if ok {
		c.serve(line.first, got)
	}
	return ok
}

// callsWait reports whether calls wait in a line, or had waited and have not begun to use their room.
func (c *HostClient) callsWait() bool { return c.pool.waiting.Load() > 0 }

// tellLines is serveLines without the lock, if a call waits.
func (c *HostClient) tellLines() {
	if !c.callsWait() {
		return
	}
	c.pool.mu.Lock()
	c.serveLines()
	c.pool.mu.Unlock()
}

// await waits until w gets room. If k must end before that, or a method of its context panics,
// w leaves its line.
func (c *HostClient) await(k *call, w *connWaiter) (got room) {
	var late error
	var t *time.Timer
	served := false
	defer func() {
		if t != nil {
			ReleaseTimer(t)
		}
		if !served {
			got = c.leaveLine(w, late)
		}
	}()
	var done <-chan struct{}
	if k.ctx != nil {
		done = k.ctx.Done()
	}
	for {
		var fires <-chan time.Time
		due, why := c.waitsUntil(k, w)
		if due != 0 {
			left := time.Duration(due - clock.Ticks())
			switch {
			case left <= 0:
				late = why
				return got // see above
			case t == nil:
				t = AcquireTimer(left)
			default:
				t.Reset(left)
			}
			fires = t.C
		}
		select {
		case <-w.ready:
			served = true
			got = w.got
			k.since = w.since
			releaseWaiter(w)
			return got
		case <-done:
			late = k.ctx.Err()
			return got // see above
		case <-fires:
		}
	}
}

// waitsUntil returns when w must stop to wait, and why; 0 for never. While it waits for a
// dial, MaxConnWaitTimeout hasn't begun: it is then when to ask again.
func (c *HostClient) waitsUntil(k *call, w *connWaiter) (due clock.Tick, why error) {
	c.pool.mu.Lock()
	since := w.since
	c.pool.mu.Unlock()
	if since == 0 && c.MaxConnWaitTimeout > 0 {
		since = clock.Ticks()
	}
	if since != 0 {
		due, why = since.Add(c.MaxConnWaitTimeout), ErrNoFreeConns
	}
	if k.deadline != 0 && (due == 0 || k.deadline < due) {
		due, why = k.deadline, ErrTimeout
	}
	return due, why
}

// leaveLine stops waiting. If w was served at the same moment, the room is used, unless the
// call has ended.
func (c *HostClient) leaveLine(w *connWaiter, late error) (got room) {
	p := &c.pool
	p.mu.Lock()
	if w.line != nil {
		w.line.remove(w)
		c.pool.waiting.Add(-1)
		p.mu.Unlock()
		releaseWaiter(w)
		return noRoom(late)
	}
	p.mu.Unlock()
	<-w.ready
	got = w.got
	releaseWaiter(w)
	if late == ErrNoFreeConns {
		return got
	}
	c.returnRoom(got)
	return noRoom(late)
}

// returnRoom gives back what a call has got and doesn't use.
func (c *HostClient) returnRoom(got room) {
	if got.kind == roomAlone {
		c.release(got.w)
		return
	}
	p := &c.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	switch got.kind {
	case roomShared:
		got.w.giveBack(p)
		p.waiting.Add(-1)
	case roomDial:
		p.open--
	case roomLead:
		p.open--
		p.shared.dialing = false
	}
	c.serveLines()
}
