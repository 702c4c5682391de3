package engine

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// The blocking half of Conn: it parks the goroutine that runs the session until the loop
// tells that it can go on. Other workers do the loop's work meanwhile. The owner calls
// all functions here, while a message is in flight, except Interrupt, InterruptWrites and
// the methods of eventWatch. While one goroutine is in Fill, another one may write: they
// count as the owner together, and share nothing that changes but the word. Fill waits in
// waitFor, writes wait in awaitRoom.

// NetConn returns the connection as sessions and handlers know it: TLS on top of it, if
// there is that.
func (c *eventConn) NetConn() net.Conn {
	if c.layered {
		return c.more.Load().top
	}
	return (*eventSocket)(c)
}

// SetWriteTimeout bounds the time in which the peer takes nothing of a write, by the
// shorter of d and stall that is above 0. What the peer takes restarts it.
func (c *eventConn) SetWriteTimeout(d, stall time.Duration) {
	if d <= 0 || stall > 0 && stall < d {
		d = stall
	}
	c.writeTimeout = d
}

// SetWriteDeadline bounds all of the writes that follow; 0 means no bound.
func (c *eventConn) SetWriteDeadline(t clock.Tick) { c.extra().writeLimit = t }

// InterruptWrites makes writes fail from now on. Any goroutine may call it, without
// locks.
func (c *eventConn) InterruptWrites() {
	c.set(evCut) // it lasts
	if c.post(evCut) {
		c.l.inject(c, evCut) // not while a message is in flight
	}
}

// Interrupt makes Fill fail from now on. Any goroutine may call it, without locks.
func (c *eventConn) Interrupt() {
	c.set(evInterrupt) // it lasts
	if c.post(evInterrupt) {
		c.l.inject(c, evInterrupt) // not while a message is in flight
	}
}

// Fill reads more into w and waits for it, until due at most. w is c.w. What Unread
// returned before isn't valid after it: w.room moves bytes.
func (c *eventConn) Fill(w *Work, due clock.Tick) error {
	for {
		if c.word.Load()&evInterrupt != 0 {
			return os.ErrDeadlineExceeded
		}
		until := due
		if m := c.more.Load(); m != nil {
			until = earlier(due, m.userReads())
			if until != due && clock.Ticks() >= until {
				return os.ErrDeadlineExceeded // although there may be bytes
			}
		}
		n, err := c.readNow(w.room())
		if n > 0 {
			w.w += n
			w.Now = clock.Ticks()
			return nil
		}
		if err != errWouldBlock {
			return err
		}
		if err := c.waitFor(evIn|evHup|evReset|evInterrupt, until); err != nil {
			return err
		}
	}
}

// readNow reads what is there; errWouldBlock says that nothing is. p must not be empty: a
// read of 0 bytes means the end.
func (c *eventConn) readNow(p []byte) (n int, err error) {
	if c.layered {
		return c.readTop(p)
	}
	return c.readSocket(p)
}

// readSocket is readNow for the socket itself. After a short read of a stream no read is
// needed before the next edge (epoll(7), question 9), with the exceptions at drained.
func (c *eventConn) readSocket(p []byte) (n int, err error) {
	for {
		n, errno := c.l.sys.read(c.fd, p)
		switch {
		case n > 0:
			c.drained = n < len(p) && !c.hup && !c.whole
			return n, nil
		case errno == syscall.EINTR:
		case errno == syscall.EAGAIN:
			c.drained = true
			return 0, errWouldBlock
		case errno == 0:
			return 0, io.EOF
		default:
			return 0, c.opError("read", errno)
		}
	}
}

// waitFor parks the owner until one of want was posted, or due has come. nil may also
// mean that neither is so yet: the caller tries again, and looks at the clock. The wheel
// is armed and a standby called before it parks. Only reads use it.
func (c *eventConn) waitFor(want uint32, due clock.Tick) error {
	if due != 0 && clock.Ticks() >= due {
		return os.ErrDeadlineExceeded
	}
	c.l.wheel.arm(c, due)
	c.l.blocks()
	got := c.await(want | evTimeout | evKill)
	c.note(got)
	if got&evKill != 0 {
		return net.ErrClosed
	}
	return nil // or it is time to look at the clock again
}

// awaitRoom parks a goroutine that writes, and has set wantsRoom, until there may be room or
// the connection has ended, or due has come. nil may also mean that none of it is so yet: the
// caller tries its write again, which tells, and looks at the clock.
func (c *eventConn) awaitRoom(due clock.Tick) error {
	var late <-chan time.Time
	if due != 0 {
		left := time.Duration(due - clock.Ticks())
		if left <= 0 {
			return os.ErrDeadlineExceeded
		}
		t := time.NewTimer(left)
		defer t.Stop()
		late = t.C
	}
	c.l.blocks()
	select {
	case <-c.more.Load().room:
	case <-late:
	}
	if c.word.Load()&evKill != 0 {
		return net.ErrClosed
	}
	return nil
}

// wantRoom sets wantsRoom. The write that found no room must be tried again after it:
// until now, room was not reported.
func (c *eventConn) wantRoom() {
	if m := c.extra(); m.room == nil {
		m.room = make(chan struct{}, 1)
	}
	c.set(wantsRoom)
}

// Flush writes w.Out and empties it, after an error too: what was written isn't known.
func (c *eventConn) Flush(w *Work) error {
	if len(w.Out) == 0 {
		return nil
	}
	err := c.writeAll(w.Out)
	w.Out = w.Out[:0]
	return err
}

// writeAll writes b, waiting for room where there is none.
func (c *eventConn) writeAll(b []byte) error {
	if c.layered {
		return c.writeTop(b)
	}
	return c.writeSocket(b)
}

// writeSocket is writeAll to the socket itself, within the bounds of writes. After
// an error all other writes fail.
func (c *eventConn) writeSocket(b []byte) error {
	err := c.writeWithin(b)
	if err != nil {
		c.set(evCut)
	}
	return err
}

// writeWithin writes b and waits for room, where there is none, until the bounds of
// writes. The first EAGAIN sets wantsRoom and the write is tried again, since edges
// that came before are not reported. The bound is computed only when the goroutine has to wait:
// most writes never look at the clock.
func (c *eventConn) writeWithin(b []byte) error {
	if err := c.mayWrite(); err != nil {
		return err
	}
	armed := false
	due := clock.Tick(0)
	for {
		n, errno := c.l.sys.write(c.fd, b)
		if n > 0 {
			if b = b[n:]; len(b) == 0 {
				break
			}
			due = 0 // it got on
		} else {
			switch errno {
			case syscall.EINTR:
				continue
			case syscall.EAGAIN:
			default:
				return c.opError("write", errno)
			}
		}
		if !armed {
			armed = true
			c.wantRoom()
			defer c.unset(wantsRoom)
			continue
		}
		if n > 0 {
			continue
		}
		if due == 0 {
			due = c.writeDue()
		} else if err := c.mayWrite(); err != nil { // a program may have set a deadline
			return err
		}
		until := due
		if m := c.more.Load(); m != nil {
			until = earlier(due, m.userWrites())
		}
		if err := c.awaitRoom(until); err != nil {
			if err == os.ErrDeadlineExceeded {
				c.l.e.writeTimeouts.Add(1)
			}
			return err
		}
		if c.word.Load()&evCut != 0 {
			return errBroken
		}
	}
	return nil
}

// WriteBody writes w.Out and b, and empties w.Out. b is the caller's when it returns.
func (c *eventConn) WriteBody(w *Work, b []byte) error {
	if len(b) < vectored {
		w.Out = append(w.Out, b...)
		return c.Flush(w)
	}
	for len(w.Out) > 0 {
		if c.layered || c.mayWrite() != nil {
			if err := c.Flush(w); err != nil {
				return err
			}
			break
		}
		n, errno := c.l.sys.writev(c.fd, w.Out, b)
		if n < 0 {
			if errno == syscall.EINTR {
				continue
			}
			n = 0 // the next write gets the error, or waits
		}
		if n < len(w.Out) {
			w.Out = w.Out[:copy(w.Out, w.Out[n:])]
			if err := c.Flush(w); err != nil {
				return err
			}
			break
		}
		b = b[n-len(w.Out):]
		w.Out = w.Out[:0]
	}
	if len(b) == 0 {
		return nil
	}
	return c.writeAll(b)
}

// maxLeft is how much LeaveBody keeps: about what a waiting goroutine costs.
const maxLeft = 64 << 10

// LeaveBody writes w.Out and b, as far as there is room, and waits until at most maxLeft
// bytes are left. It copies those to pend, which stepWrite writes after the session has
// returned: b is the caller's again either way.
func (c *eventConn) LeaveBody(w *Work, b []byte) (left bool, err error) {
	if c.layered || len(b) < vectored || c.mayWrite() != nil {
		return false, c.WriteBody(w, b)
	}
	n, errno := c.l.sys.writev(c.fd, w.Out, b)
	if n < 0 {
		if errno != syscall.EAGAIN && errno != syscall.EINTR {
			return false, c.opError("write", errno)
		}
		n = 0
	}
	b = b[max(n-len(w.Out), 0):]
	w.Out = w.Out[:copy(w.Out, w.Out[min(n, len(w.Out)):])]
	if most := len(b) - maxLeft; most > 0 {
		if err := c.Flush(w); err != nil {
			return false, err
		}
		if err := c.writeAll(b[:most]); err != nil {
			return false, err
		}
		b = b[most:]
		if n, _ := c.l.sys.write(c.fd, b); n > 0 { // stepWrite gets an error again
			b = b[n:]
		}
	}
	if len(w.Out)+len(b) == 0 {
		return false, nil
	}
	pend := make([]byte, 0, len(w.Out)+len(b))
	c.extra().unsent.pend = append(append(pend, w.Out...), b...)
	w.Out = w.Out[:0]
	return true, nil
}

// eventWatch tells a session that the peer has left. mu guards settled, and is held while
// gone runs, so that stop waits for it; gone must not call stop. settled: gone was called,
// or must not be any more.
type eventWatch struct {
	mu      sync.Mutex
	gone    func(reset bool)
	settled bool
}

// Watch tells when the peer leaves: the poller reports it, whatever is unread. The owner
// calls it; any goroutine may call stop. Bytes need not be read for that: EPOLLRDHUP is
// an edge of its own. One that came before isWatched was set is found by hungUp. gone
// runs on a goroutine of its own.
func (c *eventConn) Watch(gone func(reset bool)) (stop func()) {
	wt := &eventWatch{gone: gone}
	c.extra().watch.Store(wt)
	c.set(isWatched)
	if hup, reset := c.l.sys.hungUp(c.fd); hup {
		go wt.tell(reset)
	}
	return func() {
		if c.more.Load().watch.CompareAndSwap(wt, nil) {
			c.unset(isWatched)
		}
		wt.stop()
	}
}

// stop waits for gone, if it runs, and keeps it from running later.
func (wt *eventWatch) stop() {
	wt.mu.Lock()
	wt.settled = true
	wt.mu.Unlock()
}

// tellWatch tells the watch, if there is one, that the peer has left. post calls it, on
// any goroutine, with loop.mu held or not: so it only starts a goroutine.
func (c *eventConn) tellWatch(reset bool) {
	if wt := c.more.Load().watch.Load(); wt != nil {
		go wt.tell(reset)
	}
}

// tell calls gone, once, unless stop came first.
func (wt *eventWatch) tell(reset bool) {
	wt.mu.Lock()
	defer wt.mu.Unlock()
	if !wt.settled {
		wt.settled = true
		wt.gone(reset)
	}
}
