package engine

import (
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
	c.watch = wt
	wt.resume()
	return func() {
		wt.pause()
		c.watch = nil
	}
}

// resume starts the goroutine, unless it has nothing to notice any more.
func (wt *watch) resume() {
	wt.mu.Lock()
	defer wt.mu.Unlock()
	if wt.over || wt.quit != nil {
		return
	}
	wt.c.nc.SetReadDeadline(time.Time{})
	wt.c.readUntil = time.Time{}
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
		return
	}
	close(quit)
	wt.c.nc.SetReadDeadline(longAgo)
	<-done
	wt.c.nc.SetReadDeadline(time.Time{})
	wt.c.readUntil = time.Time{}
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
