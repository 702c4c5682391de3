package engine

import (
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// Parked is a connection that left the goroutine that served it, because it was idle for
// a while. It then waits on a new goroutine, which has a small stack. A goroutine that
// has run handlers keeps a stack as large as they needed, and thousands of these, waiting
// for the next request, are most of what idle connections cost. When the connection has
// something to do, the engine calls Dispatch, which makes a goroutine with a large stack
// call Resume. Dispatch also gets the standby of a shared connection as a Parked.
type Parked interface {
	// Session returns the session of the connection.
	Session() Session
	// Resume goes on where Start returned ErrParked, and returns like Start.
	Resume() (last Session, err error)
}

// parkAfter is the shortest idle time before a connection is parked. Parking and resuming
// cost about a microsecond together.
const parkAfter = 100 * time.Millisecond

// A connection that looked idle but was not is spared: its parkDelay becomes four times
// as long, up to 64 times parkAfter. It was not idle if a request came within soon times
// parkDelay after it became idle and was parked, or if a request came before the deadline
// that was set to park it had passed. Otherwise thousands of busy connections, which wait
// for each other longer than parkAfter, would be parked and resumed all the time.
const (
	sparedMore = 2 // shifts
	sparedMost = 6
	soon       = 16
)

// parking is the part of a blockConn that says whether it is parked. Only the owner uses
// it.
//
//	parked, resumed => may; not both
//	why != nil      => parked or resumed
type parking struct {
	may     bool       // it may be parked
	parked  bool       // it is
	resumed bool       // it was parked, and stepRead has not looked at why yet
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

// waitParked waits until the connection has something to do. It runs on a goroutine of
// its own, with a small stack. That goroutine owns c until it calls Dispatch, and must
// not touch c after that. parking.why says how the wait ended; stepRead uses it instead
// of waiting.
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
