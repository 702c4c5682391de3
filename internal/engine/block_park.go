package engine

import (
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// Parked is a connection that left the goroutine that served it, because it was idle for
// a while. It then waits on a goroutine with a small stack: one that has run handlers has
// a stack that is as large as they needed, and thousands of those, waiting for the next
// request, are most of what idle connections cost. When it has something to do, the
// engine calls Dispatch, which makes a goroutine with a large stack call Resume.
type Parked interface {
	// Session returns the session of the connection.
	Session() Session
	// Resume goes on where Start returned ErrParked, and returns like it.
	Resume() (last Session, err error)
}

// parkAfter is how long a connection must be idle at least to be parked. Parking and
// resuming cost about a microsecond in all.
const parkAfter = 100 * time.Millisecond

// A connection is spared, which makes parkDelay four times as long, up to 64 times
// parkAfter, when it looked idle and was not. That was so if a request came soon after
// it was parked, within soon times parkDelay, or before a deadline that was set to park
// it. Thousands of busy connections, which wait for each other longer than parkAfter,
// would be parked and resumed all the time else.
const (
	sparedMore = 2 // shifts
	sparedMost = 6
	soon       = 16
)

// parking is the part of a blockConn that says whether it is parked. Its owner alone uses
// it.
//
//	parked, resumed => may; not both
//	why != nil      => parked or resumed
type parking struct {
	may     bool       // it may be parked
	parked  bool       // it is
	resumed bool       // it was until just now
	spared  uint8      // see parkDelay
	why     error      // what ended the wait while it was parked
	since   clock.Tick // since when the connection is idle
}

// parkDelay returns how long the connection must be idle to be parked.
func (c *blockConn) parkDelay() time.Duration { return parkAfter << c.parking.spared }

// spare makes parkDelay longer.
func (c *blockConn) spare() { c.parking.spared = min(c.parking.spared+sparedMore, sparedMost) }

// Session returns the session of the connection.
func (c *blockConn) Session() Session { return c.sess }

// Resume serves the connection on the calling goroutine.
func (c *blockConn) Resume() (last Session, err error) { return c.serve() }

// waitParked waits on a goroutine of its own, with a small stack, for something to do. That
// goroutine owns c until it calls Dispatch, and must not touch c after that. why says how
// the wait ended; stepRead takes it in place of a wait.
func (c *blockConn) waitParked() {
	c.putAside()
	c.parking.parked = true
	c.parking.why = ErrGoexit
	defer func() {
		if r := recover(); r != nil {
			c.sess.Panicked(r)
		}
		c.parking.parked, c.parking.resumed = false, true
		c.e.Dispatch(c)
	}()
	c.parking.why = c.wait(true, c.next.Deadline)
	if clock.Ticks() < c.parking.since.Add(soon*c.parkDelay()) {
		c.spare()
	} else {
		c.parking.spared = 0
	}
}
