package engine

import (
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// calm saves wake-ups. Calling a standby costs more than serving a small request,
// especially if that wakes an idle processor. A loop is calm if no handler has blocked
// for the duration unrest. Then a goroutine visits connections without a standby, if it
// will finish the batch before another processor could begin. A timer, the guard, notices
// a visit that takes long. It then calls the standby, and the loop isn't calm for the
// duration unrest.
//
// is, again and guarded may be read without locks; they change under loop.mu. A loop that
// isn't calm becomes calm at the end of the first visit that doesn't block and ends after
// again.
type calm struct {
	is    atomic.Bool
	again atomic.Int64 // the earliest tick at which is can become true again
	// guarded says that the guard is set, for guardFar at most; see epoll.look.
	guarded atomic.Bool // => guard != nil

	// Under loop.mu:
	visits  uint64 // that have begun
	seen    uint64 // visits when the guard was set; seen <= visits
	guard   *time.Timer
	due     clock.Tick // of the guard, if it is set
	busy    bool       // there were at least busyVisits visits in the last period of the guard
	far     bool       // the guard is set for guardFar; far => guarded
	looks   uint       // how often the guard was due
	batches uint       // since the loop began
	began   clock.Tick // when the batch began, if it is measured; else 0
	visit   clock.Tick // the average duration of a visit
}

const (
	// guardAfter is the period of the guard. It acts when no visit began in a whole
	// period. So a visit that blocks delays the loop by guardAfter to 2*guardAfter: the
	// guard may have been set, or may have looked, just before that visit began.
	guardAfter = 2 * time.Millisecond
	// guardFar is one more, longer period after a period with at least busyVisits visits:
	// a busy loop often rests for a short time. The first visit ends it.
	guardFar   = 20 * time.Millisecond
	busyVisits = 16
	// unrest is how long a loop isn't calm after a handler has blocked.
	unrest = time.Second
	// blocked is the shortest duration of a visit that counts as blocked, while the loop
	// isn't calm and each visit is measured.
	blocked = 500 * time.Microsecond
	// worthCalling is the smallest amount of work for which another processor is woken.
	worthCalling = 50 * time.Microsecond
	// One batch in measureEach is measured, since reading the clock costs time.
	measureEach = 16
)

// alone reports whether the next visit needs no standby. It sets the guard then, and also
// if the batch has several events. It is called under loop.mu, after that visit was taken
// from the batch: so len(batch)-at+1 visits are left.
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

// checkCalm is the guard, on a timer's goroutine. While a worker polls, no standby is
// needed, and a visit that is alone sets the guard again.
func (l *loop) checkCalm() {
	l.mu.Lock()
	other := l.calm.check(l)
	l.mu.Unlock()
	other.start()
}

// check is checkCalm under loop.mu. It returns a worker that must be started, or nil.
func (m *calm) check(l *loop) *worker {
	now := clock.Ticks()
	if now < m.due && !l.ending { // it was set again after it had begun to run
		return nil
	}
	m.looks++
	offers := len(l.offers) > 0 && !l.ending
	switch {
	case offers && m.looks-l.offers[0].more.Load().offeredAt > 1: // offered for a whole period: a handler blocks
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

// stop ends the guard, under loop.mu. If the guard has begun to run, it sees l.ending.
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
// was not calm. began and now are its beginning and its end.
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
