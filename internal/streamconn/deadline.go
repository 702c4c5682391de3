package streamconn

import (
	"sync"
	"time"
)

// deadline is the deadline of one direction. The lock of the stream guards it. It has one
// timer, however often it is set.
type deadline struct {
	at    time.Time // zero for none
	late  bool      // it has passed
	timer *time.Timer
}

// set sets the deadline. The zero time means none. tell wakes those that wait, and is called
// under mu when the deadline has passed. The caller holds mu.
func (d *deadline) set(t time.Time, mu sync.Locker, tell func()) {
	d.at, d.late = t, false
	if t.IsZero() {
		d.stop()
		return
	}
	left := time.Until(t)
	switch {
	case left <= 0:
		d.late = true
		tell()
	case d.timer == nil:
		d.timer = time.AfterFunc(left, func() { d.fire(mu, tell) })
	default:
		d.timer.Reset(left)
	}
}

// fire is the timer's function. The deadline may have moved since the timer was set.
func (d *deadline) fire(mu sync.Locker, tell func()) {
	mu.Lock()
	defer mu.Unlock()
	if d.at.IsZero() || d.late {
		return
	}
	if left := time.Until(d.at); left > 0 {
		d.timer.Reset(left)
		return
	}
	d.late = true
	tell()
}

// stop removes the deadline. The caller holds the lock.
func (d *deadline) stop() {
	d.at, d.late = time.Time{}, false
	if d.timer != nil {
		d.timer.Stop()
	}
}
