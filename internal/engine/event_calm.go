package engine

import (
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// calm saves wake-ups. To call a standby costs more than to serve a small request, above
// all if a processor that rests must be woken for it. So while no handler has blocked for
// a time of unrest, a goroutine visits connections without a standby if the rest of the
// batch would be done before another processor has begun. A timer, the guard, checks it:
// if a visit lasts, the guard calls the standby that was not called, and the loop isn't
// calm for unrest.
//
// is and again may be read without locks; they change under loop.mu. A loop that isn't
// calm is so again after a visit that did not block and ended after again.
type calm struct {
	is    atomic.Bool
	again atomic.Int64 // if it is not: when it will be

	// Under loop.mu:
	visits  uint64 // without a standby
	guarded bool   // the guard is set: guarded => guard != nil
	seen    uint64 // visits when it was set, or looked last; seen <= visits
	guard   *time.Timer
	batches uint       // since the loop began
	began   clock.Tick // of the batch, if it is measured
	visit   clock.Tick // what a visit takes about
}

const (
	// guardAfter is the period of the guard. It acts when no visit began in a whole
	// period. So a visit that blocks delays the loop by guardAfter to 2*guardAfter: the
	// guard may have been set, or may have looked, just before that visit began.
	guardAfter = 2 * time.Millisecond
	// unrest is how long a loop isn't calm after a handler has blocked.
	unrest = time.Second
	// blocked is how long a visit takes at least to count as one that blocked, while the
	// loop isn't calm and each visit is measured.
	blocked = 500 * time.Microsecond
	// worthCalling is the least work that another processor is woken for.
	worthCalling = 50 * time.Microsecond
	// measureEach: one batch in so many is measured, since each look at the clock costs.
	measureEach = 16
)

// alone reports whether the next visit can do without a standby, and sets the guard then.
// It is called under loop.mu, when that visit has been taken from the batch: so one more
// than len(batch)-at is left.
func (m *calm) alone(l *loop) bool {
	if !m.is.Load() {
		return false
	}
	if left := len(l.batch) - l.at + 1; clock.Tick(left)*m.visit > clock.Tick(worthCalling) {
		return false
	}
	m.visits++
	if !m.guarded {
		m.guarded, m.seen = true, m.visits
		if m.guard == nil {
			m.guard = time.AfterFunc(guardAfter, l.checkCalm)
		} else {
			m.guard.Reset(guardAfter)
		}
	}
	return true
}

// checkCalm is the guard, on a timer's goroutine. While a worker polls none is missing,
// and the next visit that is alone sets the guard again.
func (l *loop) checkCalm() {
	m := &l.calm
	l.mu.Lock()
	var other *worker
	switch {
	case l.polling || l.over:
		m.guarded = false
	case m.visits != m.seen:
		m.seen = m.visits
		m.guard.Reset(guardAfter)
	default:
		m.guarded = false
		m.disturb(clock.Ticks())
		other = l.standby()
	}
	l.mu.Unlock()
	other.start()
}

// stop ends the guard, under loop.mu. One that has begun finds over.
func (m *calm) stop() {
	if m.guard != nil {
		m.guard.Stop()
	}
}

// disturb is called under loop.mu when a handler has blocked.
func (m *calm) disturb(now clock.Tick) {
	m.is.Store(false)
	m.again.Store(int64(now) + int64(unrest))
}

// took is called by a worker, without loop.mu, after each visit that began while the loop
// was not calm: from began to now.
func (l *loop) took(now, began clock.Tick) {
	long := now-began >= clock.Tick(blocked)
	if !long && now < clock.Tick(l.calm.again.Load()) {
		return
	}
	l.mu.Lock()
	if long {
		l.calm.disturb(now)
	} else {
		l.calm.is.Store(true)
	}
	l.mu.Unlock()
}

// endBatch ends a batch of n connections before the next poll, and reports whether to
// measure the next one. It is called under loop.mu. visit is a moving average: each
// measured batch counts a quarter.
func (m *calm) endBatch(n int) (next bool) {
	if m.began != 0 && n > 0 {
		each := (clock.Ticks() - m.began) / clock.Tick(n)
		m.visit += (each - m.visit) / 4
	}
	m.began = 0
	m.batches++
	return m.batches%measureEach == 0
}
