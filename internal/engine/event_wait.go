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

// The blocking half of Conn: it parks the goroutine that runs the session until
// the loop tells that it can go on. Others do the loop's work meanwhile.

// NetConn returns the connection as sessions and handlers know it.
func (c *eventConn) NetConn() net.Conn {
	if c.over {
		return c.more.Load().over
	}
	return (*eventSocket)(c)
}

// SetWriteTimeout bounds each of the writes that follow.
func (c *eventConn) SetWriteTimeout(d time.Duration) { c.writeTimeout = d }

// SetWriteDeadline bounds all of the writes that follow.
func (c *eventConn) SetWriteDeadline(t clock.Tick) { c.extra().writeLimit = t }

// Interrupt makes Fill fail from now on.
func (c *eventConn) Interrupt() {
	c.set(evInterrupt) // it lasts
	if c.post(evInterrupt) {
		c.l.inject(c, evInterrupt) // not while a message is in flight
	}
}

// Fill reads more.
func (c *eventConn) Fill(w *Work, due clock.Tick) error {
	if err := c.Flush(w); err != nil {
		return err
	}
	for {
		if c.word.Load()&evInterrupt != 0 {
			return os.ErrDeadlineExceeded
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
		if err := c.waitFor(evIn|evHup|evReset|evInterrupt, due); err != nil {
			return err
		}
	}
}

// readNow reads what is there; errWouldBlock says that nothing is.
func (c *eventConn) readNow(p []byte) (n int, err error) {
	if c.over {
		return c.readOver(p)
	}
	return c.readSocket(p)
}

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

// waitFor parks the owner until one of want was posted, or due has come.
func (c *eventConn) waitFor(want uint32, due clock.Tick) error {
	if due != 0 && clock.Ticks() >= due {
		return os.ErrDeadlineExceeded
	}
	c.l.wheel.arm(c, due)
	c.l.blocks()
	got := c.await(want | evTimeout | evKill)
	c.note(got)
	if got&evKill != 0 {
		return errKilled
	}
	return nil // or it is time to look at the clock again
}

// Flush writes w.Out.
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
	if c.over {
		return c.writeOver(b)
	}
	return c.writeSocket(b, 0)
}

// writeSocket is writeAll to the socket itself, until the deadline until or, if
// that is 0, within the time-out for writes.
func (c *eventConn) writeSocket(b []byte, until clock.Tick) error {
	if m := c.more.Load(); m != nil && m.late() {
		return os.ErrDeadlineExceeded
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
			c.set(isWriting)
			continue
		}
		if n > 0 {
			continue
		}
		if due == 0 {
			if due = until; due == 0 {
				due = c.writeDue()
			}
		}
		if err := c.waitFor(evOut|evReset, due); err != nil {
			return err
		}
	}
	if armed {
		c.unset(isWriting)
	}
	return nil
}

// WriteBody writes w.Out and b.
func (c *eventConn) WriteBody(w *Work, b []byte) error {
	if len(b) < vectored {
		w.Out = append(w.Out, b...)
		return c.Flush(w)
	}
	for len(w.Out) > 0 {
		if c.over {
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
			n = 0 // writeAll meets it again
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

// maxLeft is how much LeaveBody keeps: about what a goroutine costs that waits.
const maxLeft = 64 << 10

// LeaveBody writes w.Out and b, as far as there is room, and waits only for all
// but the last maxLeft bytes.
func (c *eventConn) LeaveBody(w *Work, b []byte) (left bool, err error) {
	if m := c.more.Load(); c.over || len(b) < vectored || m != nil && m.late() {
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
		if n, _ := c.l.sys.write(c.fd, b); n > 0 { // an error comes again
			b = b[n:]
		}
	}
	if len(w.Out)+len(b) == 0 {
		return false, nil
	}
	pend := make([]byte, 0, len(w.Out)+len(b))
	c.extra().pend = append(append(pend, w.Out...), b...)
	w.Out = w.Out[:0]
	return true, nil
}

// eventWatch tells somebody that the peer has left.
type eventWatch struct {
	mu   sync.Mutex
	gone func(reset bool)
	over bool
}

// Watch tells when the peer leaves: the loop sees it, whatever is unread.
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

// stop waits for gone, if it runs, and keeps it from running.
func (wt *eventWatch) stop() {
	wt.mu.Lock()
	wt.over = true
	wt.mu.Unlock()
}

// tellWatch tells whoever watches that the peer has left.
func (c *eventConn) tellWatch(reset bool) {
	if wt := c.more.Load().watch.Load(); wt != nil {
		go wt.tell(reset)
	}
}

func (wt *eventWatch) tell(reset bool) {
	wt.mu.Lock()
	defer wt.mu.Unlock()
	if !wt.over {
		wt.over = true
		wt.gone(reset)
	}
}
