package engine

import (
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// calm saves wake-ups. To call a standby costs more than to serve a small request, above
// all if an idle processor must be woken for it. A loop is calm if no handler has blocked for
// the time unrest. Then a goroutine visits connections without a standby, if it will be done
// with the batch before another processor could begin. A timer, the guard, notices a visit
// that takes long: it calls the standby that was not called, and the loop isn't calm for the
// time unrest.
//
// is, again and guarded may be read without locks; they change under loop.mu. A loop that
// isn't calm becomes calm with the first visit that doesn't block and ends after again.
type calm struct {
	is    atomic.Bool
	again atomic.Int64 // if it is not: when it will be
	// guarded: the guard is set, for guardFar at most; see epoll.look.
	guarded atomic.Bool // => guard != nil

	// Under loop.mu:
	visits  uint64 // that have begun
	seen    uint64 // visits when the guard was set; seen <= visits
	guard   *time.Timer
	due     clock.Tick // of the guard, if it is set
	busy    bool       // there were busyVisits in the last period of the guard
	far     bool       // the guard is set for guardFar; far => guarded
	looks   uint       // of the guard, when it was due
	batches uint       // since the loop began
	began   clock.Tick // of the batch, if it is measured
	visit   clock.Tick // what a visit takes about
}

const (
	// guardAfter is the period of the guard. It acts when no visit began in a whole
	// period. So a visit that blocks delays the loop by guardAfter to 2*guardAfter: the
	// guard may have been set, or may have looked, just before that visit began.
	guardAfter = 2 * time.Millisecond
	// guardFar is one more period, after one with at least busyVisits visits, in which no
	// visit is expected: a busy loop rests for short times. The first visit ends it.
	guardFar   = 20 * time.Millisecond
	busyVisits = 16
	// unrest is how long a loop isn't calm after a handler has blocked.
	unrest = time.Second
	// blocked is the least time of a visit that counts as one that blocked, while the loop
	// isn't calm and each visit is measured.
	blocked = 500 * time.Microsecond
	// worthCalling is the least work that another processor is woken for.
	worthCalling = 50 * time.Microsecond
	// measureEach says how many batches come for each one that is measured, since to read
	// the clock costs.
	measureEach = 16
)

// alone reports whether the next visit needs no standby. It sets the guard if so, and in
// batches of several connections. It is called under loop.mu, after that visit was taken from
// the batch: so len(batch)-at+1 are left.
func (m *calm) alone(l *loop) bool {
	left := len(l.batch) - l.at + 1
	alone := m.is.Load() && clock.Tick(left)*m.visit <= clock.Tick(worthCalling)
	m.visits++
	if (alone || len(l.batch) > 1) && (m.far || !m.guarded.Load()) {
		m.set(l, guardAfter)
	}
	return alone
}

// set sets the guard, under loop.mu.
func (m *calm) set(l *loop, d time.Duration) {
	m.seen, m.far = m.visits, d == guardFar
	m.due = clock.Ticks().Add(d)
	m.guarded.Store(true)
	if m.guard == nil {
		m.guard = time.AfterFunc(d, l.checkCalm)
	} else {
		m.guard.Reset(d)
	}
}

// checkCalm is the guard, on a timer's goroutine. While a worker polls none is missing,
// and a visit that is alone sets the guard again.
func (l *loop) checkCalm() {
	l.mu.Lock()
	other := l.calm.check(l)
	l.mu.Unlock()
	other.start()
}

// check is checkCalm under loop.mu. It returns a worker to start.
func (m *calm) check(l *loop) *worker {
	now := clock.Ticks()
	if now < m.due && !l.ending { // it was set anew when it had begun
		return nil
	}
	m.looks++
	offers := len(l.offers) > 0 && !l.ending
	switch {
	case offers && m.looks-l.offers[0].more.Load().offeredAt > 1: // no handler that shares may take so long
		m.far = false
		m.guarded.Store(false)
		m.disturb(now)
		return l.standby()
	case m.visits != m.seen && !l.ending:
		m.busy = m.visits-m.seen >= busyVisits
		m.set(l, guardAfter)
		return nil
	case l.polling && offers:
		m.set(l, guardAfter)
		return nil
	case l.polling && m.busy && !l.ending:
		m.busy = false
		m.set(l, guardFar)
		return nil
	}
	m.far = false
	m.guarded.Store(false)
	if l.polling || l.ending {
		return nil
	}
	m.disturb(now)
	return l.standby()
}

// stop ends the guard, under loop.mu. One that has begun finds ending.
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
