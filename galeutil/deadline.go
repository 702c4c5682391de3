package galeutil

import (
	"sync"
	"time"
)

// deadline wakes the goroutines that wait on a condition when its time has come. Moving
// it to a later time, as protocols do with each message, starts no timer: the running
// timer checks the time again when it fires.
type deadline struct {
	mu     *sync.Mutex // guards all the rest
	waits  *sync.Cond
	at     time.Time // zero: never
	passed bool
	timer  *time.Timer
	fires  time.Time // when timer does; zero while it is not running

	stopped bool // no goroutine will wait anymore
}

func (d *deadline) init(mu *sync.Mutex, waits *sync.Cond) { d.mu, d.waits = mu, waits }

// set changes the deadline, also for goroutines that already wait. After stop it returns
// ErrConnectionClosed.
func (d *deadline) set(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		return ErrConnectionClosed
	}
	d.at, d.passed = t, false
	if t.IsZero() {
		return nil
	}
	left := time.Until(t)
	switch {
	case left <= 0:
		d.passed = true
		d.waits.Broadcast()
	case d.timer == nil:
		d.fires = t
		d.timer = time.AfterFunc(left, d.fire)
	case d.fires.IsZero(), d.fires.After(t):
		d.fires = t
		d.timer.Reset(left)
	}
	return nil
}

func (d *deadline) fire() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fires = time.Time{}
	if d.at.IsZero() || d.passed {
		return
	}
	if left := time.Until(d.at); left > 0 {
		d.fires = d.at
		d.timer.Reset(left)
		return
	}
	d.passed = true
	d.waits.Broadcast()
}

// stop ends the timer of a connection that no longer needs a deadline. The caller holds
// mu.
func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
	d.at, d.fires, d.stopped = time.Time{}, time.Time{}, true
}
