package engine

import (
	"errors"
	"net"
	"sync"
	"time"
)

// watch notices that the peer leaves while a handler runs. It is a goroutine
// that waits for the connection to become readable and looks without taking
// anything; where the connection is no socket, it reads one byte ahead.
type watch struct {
	c    *blockConn
	gone func(reset bool)

	mu   sync.Mutex
	quit chan struct{} // closed to end the goroutine; nil while there is none
	done chan struct{} // closed when it has ended
	over bool          // there is nothing more to notice
}

func (c *blockConn) Watch(gone func(reset bool)) (stop func()) {
	wt := &watch{c: c, gone: gone}
	c.watchMu.Lock()
	c.watch = wt
	if !c.filling {
		wt.resume()
	}
	c.watchMu.Unlock()
	return func() {
		c.watchMu.Lock()
		if c.watch == wt {
			c.watch = nil // so that Fill doesn't resume it
		}
		c.watchMu.Unlock()
		wt.pause()
	}
}

// beginFill keeps watches from reading until endFill.
func (c *blockConn) beginFill() {
	c.watchMu.Lock()
	c.filling = true
	wt := c.watch
	c.watchMu.Unlock()
	if wt != nil {
		wt.pause()
	}
}

func (c *blockConn) endFill() {
	c.watchMu.Lock()
	c.filling = false
	if c.watch != nil {
		c.watch.resume()
	}
	c.watchMu.Unlock()
}

// resume starts the goroutine, unless it has nothing to notice any more.
func (wt *watch) resume() {
	wt.mu.Lock()
	defer wt.mu.Unlock()
	if wt.over || wt.quit != nil {
		return
	}
	if err := wt.c.nc.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, net.ErrClosed) {
		wt.over = true // without deadlines there would be no end to it
		return
	}
	wt.c.readUntil, wt.c.lapsed = 0, false
	wt.quit, wt.done = make(chan struct{}), make(chan struct{})
	go wt.run(wt.quit, wt.done)
}

// pause ends the goroutine and waits for it: nobody else may read meanwhile.
func (wt *watch) pause() {
	wt.mu.Lock()
	quit, done := wt.quit, wt.done
	wt.quit = nil
	wt.mu.Unlock()
	if quit == nil {
		if done != nil {
			<-done // somebody else has ended it
		}
		return
	}
	close(quit)
	wt.c.nc.SetReadDeadline(longAgo)
	<-done
	wt.c.dropDeadline()
}

func (wt *watch) run(quit, done chan struct{}) {
	defer close(done)
	gone, reset := wt.c.peerGone(quit)
	select {
	case <-quit:
		return
	default:
	}
	if gone {
		wt.mu.Lock()
		wt.over = true
		wt.mu.Unlock()
		wt.gone(reset)
	}
}

// readAhead is peerGone for connections that can't be looked at: it takes one
// byte and keeps it for the next read.
func (c *blockConn) readAhead() (gone, reset bool) {
	if c.nAhead > 0 {
		return false, false
	}
	n, err := c.nc.Read(c.ahead[:])
	if n > 0 {
		c.nAhead = n
		return false, false
	}
	if IsTimeout(err) {
		return false, false
	}
	return true, !isEOF(err)
}
