package engine

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// wheel is a timing wheel of connections. A connection is queued in the slot of
// a time when it is to be looked at; when it is due is only a number that its
// owner stores, for it changes with every request. Whoever is looked at and is
// not due yet is queued again. So a busy connection touches the wheel once in
// a turn of it, and what a timer costs does not depend on how many there are.
type wheel struct {
	fire func(c *eventConn) // is called for those that are due

	mu    sync.Mutex
	slots [wheelSlots]*eventConn // rings, by wheelLink
	full  [wheelSlots / 64]uint64
	n     int   // connections that are queued
	at    int64 // the last step that was worked off
	timer *time.Timer
	next  int64 // the step for which timer is set, 0 for none
	spare []*eventConn
}

const (
	wheelSlots = 1024
	// A step is 2^24 ns, 16.8 ms: time-outs are late by no more.
	wheelShift = 24
)

// wheelLink is a connection's part of the wheel.
type wheelLink struct {
	due           atomic.Int64 // a clock.Tick, 0 for never; stored by the owner
	queued        atomic.Int64 // the step it is queued for, 0 for none
	before, after *eventConn   // under wheel.mu
}

// arm sets when c is due, 0 for never. The caller owns c.
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
	// Either run sees the new due, or this sees that c is not queued.
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

// stepOf returns the first step that is not before due.
func stepOf(due clock.Tick) int64 { return int64(due)>>wheelShift + 1 }

// remove takes c out of the wheel for good.
func (w *wheel) remove(c *eventConn) {
	c.timer.due.Store(0)
	if c.timer.queued.Load() == 0 {
		return // unless run is queueing it at this moment: then it is found ended
	}
	w.mu.Lock()
	w.unlink(c)
	w.mu.Unlock()
}

// link queues c for step, or for the farthest there is, under mu.
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

// unlink undoes link, under mu.
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

// schedule sets the timer for the first step that has something, under mu.
func (w *wheel) schedule() {
	if w.n == 0 {
		return // what is set may fire for nothing
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

// first returns the first step behind at that has something.
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

// run works off the steps up to now.
func (w *wheel) run() {
	w.mu.Lock()
	w.next = 0
	over := w.spare[:0]
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
				over = append(over, c)
			}
		}
	}
	w.at = max(w.at, end)
	w.schedule()
	w.mu.Unlock()
	if len(over) == 0 {
		return
	}
	for _, c := range over {
		w.fire(c)
	}
	clear(over)
	w.mu.Lock()
	w.spare = over[:0]
	w.mu.Unlock()
}

// stop ends the timer.
func (w *wheel) stop() {
	w.mu.Lock()
	if w.timer != nil {
		w.timer.Stop()
	}
	w.next = 0
	w.mu.Unlock()
}
