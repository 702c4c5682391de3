package engine

import (
	"errors"
	"net"
	"sync"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// watch notices that the peer leaves while a handler runs. It is a goroutine that waits
// for the connection to become readable, and looks without reading anything. If the
// connection isn't a socket, it reads one byte ahead.
type watch struct {
	c    *blockConn
	gone func(reset bool)

	// Under mu. quit != nil => a goroutine runs, or has found something and ended.
	mu      sync.Mutex
	quit    chan struct{} // closed to end the goroutine; nil after that
	done    chan struct{} // closed when it has ended
	halved  bool          // gone was called for the end of the peer's side: only a reset may follow
	settled bool          // there is nothing more to notice
}

// Watch starts a watch. Only the goroutine that runs the session may call it and stop: see
// Conn.Watch.
func (c *blockConn) Watch(gone func(reset bool)) (stop func()) {
	wt := &watch{c: c, gone: gone}
	c.startWatch(wt)
	return func() {
		c.watchMu.Lock()
		if c.watch == wt {
			c.watch = nil // so that Fill doesn't resume it
		}
		c.watchMu.Unlock()
		wt.pause()
	}
}

// startWatch makes wt the watch. If Fill is reading, the watch doesn't run yet: endFill
// starts it.
func (c *blockConn) startWatch(wt *watch) {
	c.watchMu.Lock()
	defer c.watchMu.Unlock()
	c.watch = wt
	if !c.filling {
		wt.resume()
	}
}

// beginFill keeps watches from reading until endFill. lent says that the program owns the
// deadlines. Then a watch may still run, see fillLent.
func (c *blockConn) beginFill() (lent bool) {
	c.watchMu.Lock()
	lent, c.filling = c.bounds.lent, true
	wt := c.watch
	c.watchMu.Unlock()
	if wt != nil && !lent {
		wt.pause()
	}
	return lent
}

// endFill lets the watch go on, if it wasn't stopped meanwhile. If a Lend waits, endFill
// gives the deadlines to the program, lets Lend go on and returns true.
func (c *blockConn) endFill() (yielded bool) {
	c.watchMu.Lock()
	defer c.watchMu.Unlock()
	c.filling = false
	if c.lends != nil {
		defer close(c.lends) // also if the connection panics
		c.lends, c.bounds.lent, yielded = nil, true, true
		c.yields.Store(false)
		c.dropDeadline()
	}
	if c.watch != nil {
		c.watch.resume()
	}
	return yielded
}

// resume starts the goroutine, unless it runs or has nothing more to notice. It is called
// under watchMu, while nothing else reads.
func (wt *watch) resume() {
	wt.mu.Lock()
	defer wt.mu.Unlock()
	if wt.settled || wt.quit != nil {
		return
	}
	if !wt.c.bounds.lent {
		if err := wt.c.nc.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, net.ErrClosed) {
			wt.settled = true // without deadlines pause could not end it
			return
		}
		wt.c.armed.read, wt.c.armed.lapsed = 0, false
	}
	wt.quit, wt.done = make(chan struct{}), make(chan struct{})
	go wt.run(wt.quit, wt.done)
}

// pause ends the goroutine and waits for its end: no other goroutine may read before
// that. It closes quit before it sets the deadline, so that the goroutine sees why its
// read ended. gone must not call pause.
func (wt *watch) pause() {
	wt.mu.Lock()
	quit, done := wt.quit, wt.done
	wt.quit = nil
	wt.mu.Unlock()
	if quit == nil {
		if done != nil {
			<-done // another call of pause or leave ends it
		}
		return
	}
	close(quit)
	wt.c.nc.SetReadDeadline(clock.LongAgo)
	<-done
	wt.c.dropDeadline()
}

// leave is like pause, except that it doesn't change the deadline: it waits until the
// goroutine has found something to read, or the deadline has passed.
func (wt *watch) leave() {
	wt.mu.Lock()
	quit, done := wt.quit, wt.done
	wt.quit = nil
	wt.mu.Unlock()
	if quit != nil {
		close(quit)
	}
	if done != nil {
		<-done
	}
}

// run is the goroutine of the watch. It holds no lock while it waits and while it calls
// gone.
func (wt *watch) run(quit, done chan struct{}) {
	defer close(done)
	gone, reset := true, true // if a method of the connection panics, or ends the goroutine
	defer func() { wt.end(quit, gone, reset, recover()) }()
	if gone, reset = wt.c.peerGone(quit); gone && !reset {
		gone = false // end doesn't call wt.gone again if halve panics
		if wt.halve(quit) {
			reset = wt.c.awaitReset(quit)
			gone = reset
		}
	}
}

// halve calls wt.gone for the end of the peer's side, if it wasn't called for that yet. It
// returns false if quit is closed.
func (wt *watch) halve(quit chan struct{}) bool {
	select {
	case <-quit:
		return false
	default:
	}
	wt.mu.Lock()
	before := wt.halved
	wt.halved = true
	wt.mu.Unlock()
	if !before {
		wt.gone(false)
	}
	return true
}

// end calls wt.gone if the peer has left, unless quit is closed. r is the value of a
// panic in a method of the connection, or nil.
func (wt *watch) end(quit chan struct{}, gone, reset bool, r any) {
	if r != nil {
		wt.c.sess.Panicked(r)
	}
	select {
	case <-quit:
		return
	default:
	}
	if gone {
		wt.mu.Lock()
		wt.settled = true
		wt.mu.Unlock()
		wt.gone(reset)
	}
}

// readAhead is peerGone for connections that only a read can tell about: it reads one
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
