package gale

import (
	"errors"
	"sync"
	"time"
)

// h2LingerFor is how long a peer may take to end its side of a stream that is a net.Conn after
// Close. Then the stream is reset.
const h2LingerFor = 5 * time.Second

// errTunnelTrailers says why a stream that is a net.Conn was reset: only DATA may come (RFC
// 9113 section 8.5).
var errTunnelTrailers = errors.New("gale: an extended CONNECT has a trailer section")

// streamDeadline is the deadline of one direction of a stream of HTTP/2 that is a net.Conn.
// The lock of the HTTP/2 connection guards it. It has one timer, however often it is set.
type streamDeadline struct {
	at    time.Time // zero for none
	late  bool      // it has passed
	timer *time.Timer
}

// set sets the deadline. The zero time means none. tell wakes those that wait, and is called
// under mu when the deadline has passed. The caller holds mu.
func (d *streamDeadline) set(t time.Time, mu sync.Locker, tell func()) {
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
func (d *streamDeadline) fire(mu sync.Locker, tell func()) {
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
func (d *streamDeadline) stop() {
	d.at, d.late = time.Time{}, false
	if d.timer != nil {
		d.timer.Stop()
	}
}
