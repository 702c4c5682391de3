package engine

import (
	"os"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// Lend gives the deadlines of the connection to the program, for the message in flight.
// The engine clears its own deadlines and enforces its limits with timers that end what
// waits. The engine can't see which deadlines a program sets on a connection of package
// net. So until reclaim it must not set any, nor take one that passes for its own. The
// goroutine that runs the session calls Lend. Lend pauses a watch while it works, and
// makes a Fill of another goroutine begin again.
func (c *blockConn) Lend() {
	c.watchMu.Lock()
	if c.bounds.lent {
		c.watchMu.Unlock()
		return
	}
	c.armed.trusted = 0
	if c.armed.write != 0 {
		c.armed.write = 0
		c.bounds.setDeadline(0)
	}
	if c.filling {
		lent := make(chan struct{})
		c.lends = lent
		c.yields.Store(true)
		func() {
			defer c.watchMu.Unlock() // also if the connection panics
			c.nc.SetReadDeadline(clock.LongAgo)
		}()
		<-lent
		return
	}
	defer c.watchMu.Unlock()
	if wt := c.watch; wt != nil {
		wt.pause()
		defer wt.resume()
	}
	c.bounds.lent = true
	if c.armed.read != 0 || c.armed.lapsed {
		c.dropDeadline()
	}
}

// reclaim undoes Lend: deadlines that the program has set end with its message. It is
// called when the session has returned and its output is written.
func (c *blockConn) reclaim() {
	c.bounds.lent = false
	c.nc.SetDeadline(time.Time{})
	c.armed.read, c.armed.write, c.armed.trusted, c.armed.lapsed = 0, 0, 0, false
}

// fillLent is Fill while the program owns the deadlines. It is called after beginFill.
func (c *blockConn) fillLent(due clock.Tick) error {
	a := (&alarm{ring: func() { c.nc.SetReadDeadline(clock.LongAgo) }, sess: c.sess}).start(due)
	c.watchMu.Lock()
	wt := c.watch
	c.watchMu.Unlock()
	if wt != nil {
		wt.leave()
	}
	var err error = os.ErrDeadlineExceeded
	if !c.interrupted.Load() {
		err = c.read(false)
	}
	a.stop()
	c.endFill()
	return err
}
