package engine

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// wheel is a timing wheel of connections. A connection is queued in the slot of the time
// at which the wheel must look at it. When it is due is only a number that its owner
// stores, because that changes with every request. If a connection isn't due yet when the
// wheel looks at it, the wheel queues it again. So a busy connection touches the wheel
// once per turn of the wheel, and the cost of a timer does not depend on how many timers
// there are.
//
// Owners call arm and remove. Invariants, whenever mu is free:
//
//	c is in slots[q % wheelSlots] <=> q == c.timer.queued != 0
//	at < q < at+wheelSlots for every queued q: a slot holds one step, not two turns'
//	bit i of full <=> slots[i] != nil
//	n > 0 => the timer is set for next <= first(), or its run has begun
type wheel struct {
	// fire is called for each connection that is due, on the timer's goroutine, without
	// mu. By then the connection may have ended, or may have a later due.
	fire func(c *eventConn)

	mu    sync.Mutex
	slots [wheelSlots]*eventConn // rings, by wheelLink
	full  [wheelSlots / 64]uint64
	n     int   // connections that are queued
	at    int64 // the last step that run has finished
	timer *time.Timer
	next  int64 // the step for which timer is set, 0 for none
	spare []*eventConn
}

const (
	wheelSlots = 1024
	// A step is 2^24 ns, 16.8 ms. Timeouts are late by at most one step, plus the delay
	// of the timer. A turn is 17.2 s: a connection that is due later than that is looked
	// at once per turn.
	wheelShift = 24
)

// wheelLink is a connection's part of the wheel. queued is stored under wheel.mu, and
// read without it by arm and remove.
type wheelLink struct {
	due           atomic.Int64 // a clock.Tick, 0 for never; stored by the owner
	queued        atomic.Int64 // the step it is queued for, 0 for none
	before, after *eventConn   // under wheel.mu
}

// arm sets when c is due, 0 for never. The caller must own c, and hold no lock. If c is
// queued for that step or an earlier one, arm costs one or two atomic loads and a store.
// A due of 0 leaves c queued, and run drops it.
func (w *wheel) arm(c *eventConn, due clock.Tick) {
	if due == 0 {
		if c.timer.due.Load() != 0 {
			c.timer.due.Store(0)
		}
		return
	}
	if c.timer.due.Load() != int64(due) {
		c.timer.due.Store(int64(due))
	}
	step := stepOf(due)
	// Either run sees the new due, or this load sees that c is not queued.
	if q := c.timer.queued.Load(); q != 0 && q <= step {
		return
	}
	w.mu.Lock()
	w.unlink(c)
	if w.n == 0 {
		w.at = int64(clock.Ticks()) >> wheelShift
	}
	w.link(c, step)
	w.schedule()
	w.mu.Unlock()
}

// stepOf returns the step after the one that due lies in: stepOf(due)<<wheelShift > due,
// by one step at most. A due exactly at the beginning of a step gets the next step.
func stepOf(due clock.Tick) int64 { return int64(due)>>wheelShift + 1 }

// remove takes c out of the wheel permanently. The caller must own c, which ends or
// leaves the engine. A run that has begun may still call fire for it.
func (w *wheel) remove(c *eventConn) {
	c.timer.due.Store(0)
	if c.timer.queued.Load() == 0 {
		return // if run queues it again at this moment, a later run finds due 0 and drops it
	}
	w.mu.Lock()
	w.unlink(c)
	w.mu.Unlock()
}

// link queues c for step, or for the nearest step that the wheel has, under mu. c isn't
// queued.
func (w *wheel) link(c *eventConn, step int64) {
	step = min(max(step, w.at+1), w.at+wheelSlots-1)
	i := step % wheelSlots
	if head := w.slots[i]; head == nil {
		c.timer.before, c.timer.after = c, c
	} else {
		last := head.timer.before
		c.timer.before, c.timer.after = last, head
		last.timer.after, head.timer.before = c, c
	}
	w.slots[i] = c
	w.full[i/64] |= 1 << (i % 64)
	c.timer.queued.Store(step)
	w.n++
}

// unlink undoes link, under mu; it does nothing if c isn't queued.
func (w *wheel) unlink(c *eventConn) {
	step := c.timer.queued.Load()
	if step == 0 {
		return
	}
	i := step % wheelSlots
	if c.timer.after == c {
		w.slots[i] = nil
		w.full[i/64] &^= 1 << (i % 64)
	} else {
		c.timer.before.timer.after, c.timer.after.timer.before = c.timer.after, c.timer.before
		if w.slots[i] == c {
			w.slots[i] = c.timer.after
		}
	}
	c.timer.before, c.timer.after = nil, nil
	c.timer.queued.Store(0)
	w.n--
}

// schedule sets the timer for the first step that has connections, under mu. If the timer
// is set for an earlier step, that stays: run then finds nothing and schedules again.
func (w *wheel) schedule() {
	if w.n == 0 {
		return // if the timer is set, it fires and finds nothing
	}
	step := w.first()
	if w.next != 0 && w.next <= step {
		return
	}
	w.next = step
	d := time.Duration(step<<wheelShift - int64(clock.Ticks()))
	if w.timer == nil {
		w.timer = time.AfterFunc(d, w.run)
	} else {
		w.timer.Reset(d)
	}
}

// first returns the first step after at that has connections, under mu; n > 0. It looks
// at 64 slots at a time, and twice at the word of at+1: first for its upper bits, last
// for its lower bits.
func (w *wheel) first() int64 {
	from := w.at + 1
	i := from % wheelSlots
	for k := int64(0); k <= wheelSlots/64; k++ {
		word := (i/64 + k) % (wheelSlots / 64)
		b := w.full[word]
		if k == 0 {
			b = b >> (i % 64) << (i % 64)
		}
		if b != 0 {
			slot := word*64 + int64(bits.TrailingZeros64(b))
			return from + (slot-i+wheelSlots)%wheelSlots
		}
	}
	return from
}

// run handles the steps up to now. It is the timer's function. It calls fire without mu,
// since fire takes loop.mu. It takes spare under mu, so that two runs that overlap don't
// share it.
func (w *wheel) run() {
	w.mu.Lock()
	w.next = 0
	expired := w.spare[:0]
	w.spare = nil
	now := clock.Ticks()
	end := int64(now) >> wheelShift
	if end-w.at > wheelSlots {
		w.at = end - wheelSlots
	}
	for w.n > 0 && w.at < end {
		step := w.first()
		if step > end {
			break
		}
		w.at = step
		for c := w.slots[step%wheelSlots]; c != nil; c = w.slots[step%wheelSlots] {
			w.unlink(c)
			switch due := c.timer.due.Load(); {
			case due == 0:
			case due > int64(now):
				w.link(c, stepOf(clock.Tick(due)))
			default:
				expired = append(expired, c)
			}
		}
	}
	w.at = max(w.at, end)
	w.schedule()
	w.mu.Unlock()
	if len(expired) == 0 {
		return
	}
	for _, c := range expired {
		w.fire(c)
	}
	clear(expired)
	w.mu.Lock()
	w.spare = expired[:0]
	w.mu.Unlock()
}

// stop ends the timer. A run that has begun goes on. Only loop.end calls it, when no
// connection is left.
func (w *wheel) stop() {
	w.mu.Lock()
	if w.timer != nil {
		w.timer.Stop()
	}
	w.next = 0
	w.mu.Unlock()
}
