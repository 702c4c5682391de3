package engine

import "time"

// Parked is a connection that left the goroutine that served it, because it was
// idle for a while. It waits on a goroutine with a small stack then: one that
// has run handlers has a stack to their measure, and thousands of those, waiting
// for the next request, are most of what idle connections cost. When it has
// something to do, the engine calls Dispatch, which lets a goroutine that has
// the stack for it call Resume.
type Parked interface {
	// Session returns the session of the connection.
	Session() Session
	// Resume goes on where Start returned ErrParked, and returns like it.
	Resume() error
}

// parkAfter is how long a connection must be idle to be parked. Parking and
// resuming cost about a microsecond in all.
const parkAfter = 100 * time.Millisecond

// Session returns the session of the connection.
func (c *blockConn) Session() Session { return c.sess }

// Resume serves the connection on the calling goroutine.
func (c *blockConn) Resume() error { return c.serve() }

// rest waits on a goroutine of its own, and little stack, for something to do.
func (c *blockConn) rest() {
	c.park()
	c.resting = true
	c.why = c.wait(true, c.next.Deadline)
	c.resting, c.woken = false, true
	c.e.Dispatch(c)
}
