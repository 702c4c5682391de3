package engine

import (
	"errors"
	"os"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// writeBounds holds the time limits of what Block writes to a connection. It belongs to
// the goroutine of the connection, except cut and broken, which any goroutine may use.
// Below TLS it belongs to the goroutine that writes: TLS lets one write at a time.
//
// On a socket the deadline is set only when a write has to wait. Most writes never wait,
// and setting a deadline takes a lock and a timer of the runtime.
//
//	!waits  => total == due == 0 and alarm == nil
//	due     <= total, where both are set
//	alarm   => lent
type writeBounds struct {
	c       *blockConn
	timeout time.Duration // of each write
	stall   time.Duration // without progress
	limit   clock.Tick    // of all writes, see SetWriteDeadline
	lent    bool          // the program owns the deadlines of the connection, see Lend
	tells   bool          // the connection is an unreader
	cut     atomic.Bool   // see InterruptWrites
	broken  atomic.Bool   // a write has failed: the output is incomplete

	// Of a write that waits:
	waits bool
	total clock.Tick // when it ends, even if the peer goes on reading
	due   clock.Tick // when it ends if the peer reads nothing
	alarm *alarm     // if lent, in place of a deadline
}

// errBroken is what a write returns if an earlier one failed, or after InterruptWrites.
var errBroken = errors.New("engine: an earlier write to the connection failed")

// begin is called before each write, and fails if nothing may be written any more.
func (b *writeBounds) begin() error {
	switch {
	case b.broken.Load(), b.cut.Load():
		return errBroken
	case b.limit != 0 && clock.Ticks() >= b.limit:
		b.broken.Store(true)
		return os.ErrDeadlineExceeded
	}
	return nil
}

// wait makes sure that a write that waits for its peer ends in time. It is called each
// time before the goroutine waits. moved says whether bytes were written since the last
// call. With renews, as for files, that also restarts the time for each write.
func (b *writeBounds) wait(moved, renews bool) {
	if b.waits && !moved {
		return
	}
	now := clock.Ticks()
	if !b.waits || renews {
		b.total = b.limit
		if b.timeout > 0 {
			b.total = clock.Earlier(b.total, now.Add(b.timeout))
		}
	}
	due := b.total
	if b.stall > 0 {
		due = clock.Earlier(due, now.Add(b.stall))
	}
	if b.waits && due == b.due {
		return
	}
	b.waits, b.due = true, due
	switch {
	case due == 0:
	case !b.lent:
		b.setDeadline(due)
	case b.alarm == nil:
		b.alarm = (&alarm{ring: b.poke, sess: b.c.sess}).start(due)
	default:
		b.alarm.move(due)
	}
}

// setDeadline sets the deadline of the connection, 0 for none. interrupt stores cut
// before it sets its deadline, and setDeadline loads cut after it has set its own. So
// after an interrupt, the deadline that was set last has passed.
func (b *writeBounds) setDeadline(t clock.Tick) {
	b.c.nc.SetWriteDeadline(t.Time())
	if b.cut.Load() {
		b.poke() // the interrupt may have come before
	}
}

// poke ends a write that waits. Any goroutine may call it: interrupt, or an alarm.
func (b *writeBounds) poke() { b.c.nc.SetWriteDeadline(clock.LongAgo) }

// through is called with the error of each write that was begun, and returns it. It
// removes the deadline that wait has set.
func (b *writeBounds) through(err error) error {
	if b.waits {
		rang := b.alarm != nil && b.alarm.stop()
		if b.due != 0 && !b.lent {
			b.setDeadline(0)
			rang = clock.Ticks() >= b.due
		}
		if err != nil && rang && IsTimeout(err) && !b.cut.Load() {
			b.c.e.writeTimeouts.Add(1)
		}
		b.waits, b.total, b.due, b.alarm = false, 0, 0, nil
	}
	if err != nil {
		b.broken.Store(true)
	}
	return err
}

// interrupt makes writes fail from now on. Any goroutine may call it.
func (b *writeBounds) interrupt() {
	b.cut.Store(true)
	b.poke()
}
