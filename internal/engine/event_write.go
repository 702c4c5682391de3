package engine

import (
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/galehttp/gale/internal/clock"
)

// stepWrite writes what there is to write, and goes on with what the session
// wanted when it is through. What a socket does not take at once waits with the
// connection; it is not read from and not fed meanwhile.
func (c *eventConn) stepWrite(ev uint32, wk *worker) verdict {
	if ev&evKill != 0 {
		return c.end(errKilled, wk)
	}
	m := c.more.Load()
	blocked := m != nil && m.blocked
	if m != nil && m.late() {
		return c.end(os.ErrDeadlineExceeded, wk)
	}
	if c.over {
		if err := c.sendOver(m); err != nil {
			return c.end(err, wk)
		}
		return c.wrote(wk)
	}
	if w := c.w; w != nil && len(w.Out) > 0 {
		n, errno := c.l.sys.write(c.fd, w.Out)
		switch {
		case n == len(w.Out):
			w.Out = w.Out[:0]
		case n < 0 && errno != syscall.EAGAIN && errno != syscall.EINTR:
			w.Out = w.Out[:0]
			return c.end(c.opError("write", errno), wk)
		default:
			m = c.extra()
			m.pend = append(m.pend[:0], w.Out[max(n, 0):]...)
			w.Out = w.Out[:0]
		}
	}
	if m != nil && (len(m.pend) > 0 || m.file != nil) {
		moved, err := c.drain(m, wk)
		switch {
		case err == errWouldBlock:
			if blocked && !moved && ev&evTimeout != 0 && c.overdue() {
				c.l.e.writeTimeouts.Add(1)
				return c.end(os.ErrDeadlineExceeded, wk)
			}
			if c.op == Abort {
				return c.end(ErrAborted, wk)
			}
			if !blocked {
				m.blocked, m.readDue = true, c.due()
				c.l.e.pending.Add(1)
			}
			if !blocked || moved {
				c.setDue(c.writeDue())
			}
			return wait
		case err != nil:
			return c.end(err, wk)
		}
	}
	if blocked {
		m.blocked = false
		c.l.e.pending.Add(-1)
		c.setDue(m.readDue)
		c.unset(isWriting)
	}
	return c.wrote(wk)
}

// late reports whether nothing may be written any more.
func (m *connMore) late() bool {
	return m.writeLimit != 0 && clock.Ticks() >= m.writeLimit
}

// writeDue returns until when the next write must have got on.
func (c *eventConn) writeDue() clock.Tick {
	if m := c.more.Load(); m != nil && m.writeLimit != 0 {
		return m.writeLimit
	}
	if c.writeTimeout <= 0 {
		return 0
	}
	return clock.Ticks().Add(c.writeTimeout)
}

// drain writes what m holds, as far as the socket takes it; errWouldBlock says
// that it does not take all. moved: it took something.
func (c *eventConn) drain(m *connMore, wk *worker) (moved bool, err error) {
	armed := c.word.Load()&isWriting != 0
more:
	for len(m.pend) > 0 {
		n, errno := c.l.sys.write(c.fd, m.pend)
		switch {
		case n > 0:
			moved = true
			if m.pend = m.pend[n:]; len(m.pend) == 0 {
				m.pend = nil
			}
		case errno == syscall.EINTR:
		case errno != syscall.EAGAIN:
			return moved, c.opError("write", errno)
		case armed:
			return moved, errWouldBlock
		default:
			// An edge that came before now was not of interest.
			c.set(isWriting)
			armed = true
		}
	}
	for f := m.file; f != nil && f.N > 0; {
		n, err := c.l.sys.sendFile(c.fd, f)
		if n > 0 {
			moved = true
			f.Off += int64(n)
			f.N -= int64(n)
			continue
		}
		switch err {
		case nil:
			return moved, io.ErrUnexpectedEOF // the file has become shorter
		case syscall.EINTR:
		case syscall.EAGAIN:
			if armed {
				return moved, errWouldBlock
			}
			c.set(isWriting)
			armed = true
		case errNoSendfile:
			if err := c.readFile(m, f); err != nil {
				return moved, err
			}
			goto more
		default:
			return moved, err
		}
	}
	if f := m.file; f != nil {
		m.file = nil
		if f.Done != nil {
			f.Done.Close()
		}
	}
	return moved, nil
}

// errNoSendfile says that a file can't be sent without reading it.
var errNoSendfile = errors.New("engine: no sendfile for this file")

// readFile reads a piece of f to be written.
func (c *eventConn) readFile(m *connMore, f *File) error {
	b := make([]byte, min(32<<10, f.N))
	n, err := f.F.ReadAt(b, f.Off)
	if n == 0 {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	m.pend = b[:n]
	f.Off += int64(n)
	f.N -= int64(n)
	return nil
}

// closeGracefully ends our side, and the connection if the peer sends nothing
// any more; see Block.
func (c *eventConn) closeGracefully(wk *worker) verdict {
	if !c.linger && !c.unreadWaits(wk) {
		return c.end(nil, wk)
	}
	if c.over {
		if cw, ok := c.more.Load().over.(interface{ CloseWrite() error }); ok {
			cw.CloseWrite() // nothing may go out behind this
		}
	}
	if c.l.sys.shutdown(c.fd, syscall.SHUT_WR) != nil {
		return c.end(nil, wk)
	}
	now := clock.Ticks()
	c.extra().lingerEnd = now + clock.Tick(lingerTotal)
	c.setDue(now + clock.Tick(lingerIdle))
	c.phase, c.drained = lingering, false
	if c.w != nil {
		c.w.r, c.w.w = 0, 0
	}
	c.more.Load().stash = nil
	return again
}

// unreadWaits reports whether bytes of the peer are there that nobody read.
func (c *eventConn) unreadWaits(wk *worker) bool {
	if c.w != nil && len(c.w.Unread()) > 0 || c.more.Load() != nil && len(c.more.Load().stash) > 0 {
		return true
	}
	if c.over || c.drained && c.word.Load()&evIn == 0 {
		return false
	}
	n, _ := c.l.sys.read(c.fd, c.work(wk).room())
	return n > 0
}

// stepLinger discards what has come.
func (c *eventConn) stepLinger(ev uint32, wk *worker) verdict {
	now := clock.Ticks()
	m := c.more.Load()
	switch {
	case c.Stopping():
		m.lingerEnd = min(m.lingerEnd, now+clock.Tick(lingerStop))
		c.setDue(min(c.due(), m.lingerEnd))
	case ev&evStop != 0:
		return c.end(nil, wk) // to make room
	}
	if ev&evKill != 0 || now >= c.due() || now >= m.lingerEnd {
		return c.end(nil, wk)
	}
	w := c.work(wk)
	w.r, w.w = 0, 0
	n, errno := c.l.sys.read(c.fd, w.room())
	switch {
	case n > 0:
		wk.bytes += n
		c.setDue(min(now+clock.Tick(lingerIdle), m.lingerEnd))
		return again
	case errno == syscall.EINTR:
		return again
	case errno == syscall.EAGAIN:
		return wait
	}
	return c.end(nil, wk)
}
