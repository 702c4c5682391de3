package engine

import (
	"io"
	"os"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// How a connection of Block waits for bytes. Its goroutine calls these functions.

// wait blocks until bytes were read or the instant until has passed; 0 means never. If
// the connection is idle, wait also returns ErrStopped when it must be closed, and
// ErrParked when it must be parked. After nil the bytes are in c.w, except those for
// ReadInto.
func (c *blockConn) wait(isIdle bool, until clock.Tick) error {
	parks := isIdle && c.parking.may && !c.parking.parked
	if parks {
		c.beginIdle()
	}
	stray := false // there was a timeout that no deadline explains
	for {
		if parks || c.armed.lapsed || until != 0 {
			c.armEarlier(until, parks)
		}
		if isIdle {
			c.state.Store(idle)
			if c.over() && !c.wakes() && c.state.CompareAndSwap(idle, closing) {
				return c.lastLook()
			}
		}
		if c.interrupted.Load() || c.yields.Load() {
			return os.ErrDeadlineExceeded
		}
		var err error
		if c.waker == nil {
			err = c.read(isIdle)
		} else {
			err = c.readOrWake(isIdle)
		}
		if isIdle && !c.state.CompareAndSwap(idle, busy) {
			// It must be closed. But bytes that were read, or a wake-up, come first, unless
			// they came after the close: no answer can be sent.
			if c.unclaim() {
				return ErrStopped
			}
			if err != nil && c.wakes() {
				err = errWoken // the Wake has begun, but has not interrupted the read
			}
			if err == nil || err == errWoken {
				c.dropDeadline()
				return err
			}
			return c.lastLook()
		}
		if err == nil || err == errWoken || !IsTimeout(err) {
			return err
		}
		// The deadline that is set may be an old one: see arm.
		if until != 0 && clock.Ticks() >= until {
			return err
		}
		if c.armed.read == 0 || clock.Ticks() < c.armed.read {
			if stray {
				return err // not one of our deadlines: this loop might never end
			}
			stray = true
		}
		c.armed.lapsed = true
		if parks {
			if clock.Ticks() >= c.parking.since.Add(c.parkDelay()) {
				return ErrParked
			}
			c.spare()
		}
	}
}

// armedDeadlines holds the deadlines that are set on the connection; 0 is none. Only the
// owner uses it. It is empty while the program owns the deadlines: see Lend.
//
//	lapsed  => the deadline for reads has passed, or is none of ours
//	trusted <= write: writes before it need not look at deadlines
type armedDeadlines struct {
	read    clock.Tick // see arm
	lapsed  bool
	write   clock.Tick // see armWrite
	trusted clock.Tick
}

// beginIdle notes since when the connection is idle.
func (c *blockConn) beginIdle() {
	if c.w != nil {
		c.parking.since = c.w.Now
	} else {
		c.parking.since = clock.Ticks()
	}
}

// dropDeadline clears the deadline for reads. watch.pause calls it too, when no goroutine
// reads.
func (c *blockConn) dropDeadline() {
	c.nc.SetReadDeadline(time.Time{})
	c.armed.read, c.armed.lapsed = 0, false
}

// lastLook reads a request that has arrived on a connection that is about to be closed
// because it is idle: the peer could not know that. It returns ErrStopped if there is
// none.
func (c *blockConn) lastLook() error {
	var err error
	switch {
	case c.raw != nil:
		c.dropDeadline()
		err = c.readOnce()
	case c.thrifty:
		// Only a read of one byte can tell, and it has to wait a little.
		c.nc.SetReadDeadline(time.Now().Add(lastLookWait))
		c.rousing.Lock()
		c.closeIfDeaf()
		c.rousing.Unlock()
		err = c.read(true)
		if c.unclaim() {
			return ErrStopped
		}
		c.dropDeadline()
	case c.buffered():
		c.dropDeadline()
		err = c.read(false)
	default:
		return ErrStopped
	}
	if err != nil {
		return ErrStopped
	}
	c.state.Store(busy)
	return nil
}

// buffered reports whether bytes can be read at once. Only connections with a method
// Buffered can tell, such as those in memory of package galeutil.
func (c *blockConn) buffered() bool {
	b, ok := c.nc.(interface{ Buffered() int })
	return ok && b.Buffered() > 0
}

// lastLookWait is how long lastLook waits for a byte on thrifty connections that aren't
// sockets, mainly those of TLS.
const lastLookWait = 2 * time.Millisecond

// armEarlier calls arm with until, or with the time to park if parks is set and that is
// earlier.
func (c *blockConn) armEarlier(until clock.Tick, parks bool) {
	if parks {
		if t := c.parking.since.Add(c.parkDelay()); until == 0 || t < until {
			until = t
		}
	}
	c.arm(until)
}

// arm makes sure that a read wakes up at until at the latest; 0 means never. It keeps an
// earlier deadline that is already set: when that passes, wait looks at the clock and
// sets the right one. So a busy connection doesn't set a deadline for each request.
func (c *blockConn) arm(until clock.Tick) {
	switch {
	case c.armed.lapsed:
	case until == 0, c.armed.read != 0 && c.armed.read <= until:
		return
	}
	c.nc.SetReadDeadline(until.Time())
	c.armed.read, c.armed.lapsed = until, false
}

// read adds bytes to the workspace.
func (c *blockConn) read(idle bool) error {
	if c.raw != nil {
		return c.readRaw()
	}
	if c.nAhead > 0 || c.thrifty && idle {
		return c.readByte()
	}
	w := c.work()
	if len(c.into) > 0 && w.empty() {
		return c.readInto(w)
	}
	n, err := c.nc.Read(w.room())
	w.w += n
	if n > 0 {
		w.Now = clock.Ticks()
		return nil // an error comes again
	}
	return orEOF(err)
}

// readInto reads into the buffer that ReadInto got. The caller makes sure that the
// workspace has no unread bytes: bytes must not overtake others.
func (c *blockConn) readInto(w *Work) error {
	n, err := c.nc.Read(c.into)
	if n > 0 {
		w.took(n, len(c.into), true)
		w.Now = clock.Ticks()
		return nil
	}
	return orEOF(err)
}

// readByte is read for connections that wait with a single byte.
func (c *blockConn) readByte() error {
	if c.nAhead == 0 {
		c.putAside()
		n, err := c.nc.Read(c.ahead[:])
		if n == 0 {
			return orEOF(err)
		}
	}
	c.takeAhead()
	return nil
}

// takeAhead adds the byte that was read ahead to the workspace.
func (c *blockConn) takeAhead() {
	w := c.work()
	w.put(c.ahead[:])
	c.nAhead = 0
	w.Now = clock.Ticks()
}

// errWouldBlock is the result of a read or write of a socket that would have to wait. It
// and errWoken never leave the engine, and no connection returns them. Each has a type of
// its own, so comparing it with another error costs nothing.
var errWouldBlock error = wouldBlock{}

type wouldBlock struct{}

func (wouldBlock) Error() string { return "engine: nothing can be done by now" }

// readOnce is readRaw, except that it doesn't wait: it returns errWouldBlock if nothing
// is there.
func (c *blockConn) readOnce() error {
	c.once = true
	defer func() { c.once = false }()
	return c.readRaw()
}

// orEOF returns err, or EOF for a Read that returned nothing at all.
func orEOF(err error) error {
	if err == nil {
		return io.EOF
	}
	return err
}
