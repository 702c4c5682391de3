package engine

import (
	"sync"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// alarm calls ring at a set time, unless it is stopped before. It replaces a deadline of
// a connection while the program owns the deadlines, see Conn.Lend. moved and ring run on
// a timer's goroutine, under mu: they must not call methods of the alarm. After stop
// neither runs. rang => settled.
type alarm struct {
	// moved, if set, is called before ring. If it returns true, the alarm is put off by
	// patience, and ring is not called.
	moved    func() bool
	patience time.Duration
	ring     func()
	sess     Session // its Panicked is called after a panic in moved or ring

	mu      sync.Mutex
	timer   *time.Timer
	due     clock.Tick
	rang    bool
	settled bool
}

// start sets the alarm, once; 0 means never, and then move has no effect.
func (a *alarm) start(due clock.Tick) *alarm {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.due = due; due != 0 {
		a.timer = time.AfterFunc(time.Duration(due-clock.Ticks()), func() { calmly(a.sess, a.fire) })
	}
	return a
}

// fire is what the timer calls. due may have moved since the timer was set.
func (a *alarm) fire() {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := clock.Ticks()
	switch {
	case a.settled:
	case now < a.due:
		a.timer.Reset(time.Duration(a.due - now))
	case a.moved != nil && a.moved():
		a.due = now.Add(a.patience)
		a.timer.Reset(a.patience)
	default:
		a.rang, a.settled = true, true
		a.ring()
	}
}

// move puts the alarm off: due must not be earlier than before.
func (a *alarm) move(due clock.Tick) {
	a.mu.Lock()
	a.due = due // the timer looks again when it fires
	a.mu.Unlock()
}

// stop ends the alarm and reports whether it rang. If ring is running, stop waits for it.
func (a *alarm) stop() (rang bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.settled = true
	if a.timer != nil {
		a.timer.Stop()
	}
	return a.rang
}
