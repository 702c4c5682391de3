package clientconn

import (
	"errors"

	"github.com/galehttp/gale/internal/clock"
)

// One goroutine may read from a connection while another one writes. The functions of this file
// are how each of them reaches the other while it waits.

// errHalted is the error of writes after HaltWrites.
var errHalted = errors.New("gale: writing was stopped")

// OnStir sets the function that Stir and Break make the reader call, nil for none. It is called
// by the goroutine that reads, or before another one knows the connection.
func (c *Conn) OnStir(f func() error) { c.onStir = f }

// Stir makes the reader call the function of OnStir: at once if it waits, else when it waits the
// next time. That function must not return before Stir has. If it returns an error, the read
// fails with it; otherwise the read goes on, with the bound that BoundReads has set by then. Any
// goroutine may call Stir, but not after Calm. After an error the reader may go on to wait.
func (c *Conn) Stir() error {
	c.stirred.Store(true)
	err := c.nc.SetReadDeadline(clock.LongAgo)
	c.deaf.Store(err != nil)
	return err
}

// Break is Stir, and Cancel instead of a deadline: what the reader waits for won't come.
func (c *Conn) Break() {
	c.stirred.Store(true)
	c.Cancel()
}

// stir calls the function of OnStir.
func (c *Conn) stir() error {
	c.stirred.Store(false)
	if c.onStir != nil {
		if err := c.onStir(); err != nil {
			return err
		}
	}
	return c.unstir()
}

// unstir sets the deadline of BoundReads again. If Stir could set none, there is none to undo.
func (c *Conn) unstir() error {
	if err := c.setReadDeadline(); err != nil && (c.read.want != 0 || !c.deaf.Load()) {
		return err
	}
	return nil
}

// Calm undoes a Stir that no read has noticed. No goroutine calls Stir any more.
func (c *Conn) Calm() error {
	c.onStir = nil
	if !c.stirred.Swap(false) {
		return nil
	}
	return c.unstir()
}

// HaltWrites makes a Write that waits fail, and later ones too, until ResumeWrites. Any
// goroutine may call it. It breaks off a connection that has no deadlines.
func (c *Conn) HaltWrites() {
	c.halted.Store(true)
	if c.nc.SetWriteDeadline(clock.LongAgo) != nil {
		c.Cancel()
	}
}

// ResumeWrites undoes HaltWrites. No goroutine writes.
func (c *Conn) ResumeWrites() error {
	c.halted.Store(false)
	return c.setWriteDeadline()
}
