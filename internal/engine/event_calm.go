package engine

import (
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// calm saves wake-ups. To call a standby costs more than to serve a small
// request, above all if a processor that rests has to be woken for it. So for as
// long as no handler has blocked for a while, a goroutine visits connections
// without one where what is left to do would be done before another processor
// has begun. A guard looks after it: if a visit lasts, it calls the standby that
// was not called, and the loop isn't calm for a while.
type calm struct {
	is    atomic.Bool
	again atomic.Int64 // if it is not: when it will be

	// Under loop.mu:
	visits  uint64 // without a standby
	guarded bool   // the guard is set
	seen    uint64 // visits when it was set
	guard   *time.Timer
	batches uint       // since the loop began
	began   clock.Tick // of the batch, if it is measured
	visit   clock.Tick // what a visit takes about
}

const (
	// guardAfter is how long a visit may take before the guard acts.
	guardAfter = 2 * time.Millisecond
	// unrest is how long a loop isn't calm after a handler blocked.
	unrest = time.Second
	// blocked is what counts as such.
	blocked = 500 * time.Microsecond
	// worthCalling is how much work another processor is woken for.
	worthCalling = 50 * time.Microsecond
	// measureEach is how many batches go by until one is measured.
	measureEach = 16
)

// alone reports whether the next visit can do without a standby. It is called
// under mu.
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
			m.guard = time.AfterFunc(guardAfter, l.look)
		} else {
			m.guard.Reset(guardAfter)
		}
	}
	return true
}

// look is the guard.
func (l *loop) look() {
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

func (m *calm) stop() {
	if m.guard != nil {
		m.guard.Stop()
	}
}

// disturb is called under mu when a handler has blocked.
func (m *calm) disturb(now clock.Tick) {
	m.is.Store(false)
	m.again.Store(int64(now) + int64(unrest))
}

// took is called behind visits of a loop that is not calm.
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

// endBatch measures what visits take, now and then, and says whether the next
// batch is one to measure. It is called under mu.
func (m *calm) endBatch(n int) (next bool) {
	if m.began != 0 && n > 0 {
		each := (clock.Ticks() - m.began) / clock.Tick(n)
		m.visit += (each - m.visit) / 4
	}
	m.began = 0
	m.batches++
	return m.batches%measureEach == 0
}
