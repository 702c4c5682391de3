package engine

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/galehttp/gale/internal/clock"
)

// stepWrite writes pend, w.Out and the file, in this order, and then goes on with op.
// What the socket does not take at once is copied to pend and waits with the connection,
// without a workspace or a goroutine. Meanwhile nothing is read and the session isn't
// called. The owner calls it, in phase writing.
//
// pend has bytes before w.Out is written only after LeaveBody. Sessions must not append
// to Out after LeaveBody. If one does, its output still goes out in order, after pend.
func (c *eventConn) stepWrite(ev uint32, wk *worker) verdict {
	if ev&evKill != 0 {
		return c.end(net.ErrClosed, wk)
	}
	m := c.more.Load()
	blocked := m != nil && m.unsent.blocked
	if c.layered {
		if err := c.sendTop(m); err != nil {
			return c.endWrite(err, wk)
		}
		return c.wrote(wk)
	}
	has := c.w != nil && len(c.w.Out) > 0
	if has || m.hasOutput() {
		if err := c.mayWrite(); err != nil {
			if blocked {
				c.l.e.writeTimeouts.Add(1)
			}
			return c.endWrite(err, wk)
		}
	}
	if has {
		n, errno, out := -1, syscall.EAGAIN, c.w.Out
		c.w.Out = out[:0]
		if m == nil || len(m.unsent.pend) == 0 {
			n, errno = c.l.sys.write(c.fd, out)
		}
		if n != len(out) {
			if err := c.leave(out, n, errno); err != nil {
				return c.end(err, wk)
			}
			m = c.more.Load()
		}
	}
	if m.hasOutput() {
		switch moved, err := c.drain(m, wk); {
		case err == errWouldBlock:
			return c.blockedWrite(m, moved, ev, wk)
		case err != nil:
			return c.end(err, wk)
		}
	}
	if blocked {
		m.unsent.blocked = false
		c.l.e.pending.Add(-1)
		c.setDue(m.unsent.readDue)
		c.unset(isWriting)
	}
	return c.wrote(wk)
}

// leave moves the part of out that was not written to the end of pend. n and errno are
// the results of the write.
func (c *eventConn) leave(out []byte, n int, errno syscall.Errno) error {
	if n < 0 && errno != syscall.EAGAIN && errno != syscall.EINTR {
		return c.opError("write", errno)
	}
	m := c.extra()
	m.unsent.pend = append(m.unsent.pend, out[max(n, 0):]...)
	return nil
}

// blockedWrite makes the connection wait for room, within the time limits of writes.
// moved says that the socket has taken something in this visit.
func (c *eventConn) blockedWrite(m *connMore, moved bool, ev uint32, wk *worker) verdict {
	switch {
	case m.unsent.blocked && !moved && ev&evTimeout != 0 && c.overdue():
		c.l.e.writeTimeouts.Add(1)
		return c.end(os.ErrDeadlineExceeded, wk)
	case c.wants.op == Abort:
		return c.end(ErrAborted, wk)
	case !m.unsent.blocked:
		m.unsent.blocked, m.unsent.readDue = true, c.due()
		c.l.e.pending.Add(1)
		moved = true
	}
	if moved {
		c.setDue(clock.Earlier(c.writeDue(), m.userWrites()))
	}
	return wait
}

// mayWrite returns an error if nothing may be written any more. The owner calls it, and
// writeSome on any goroutine.
func (c *eventConn) mayWrite() error {
	if c.word.Load()&evCut != 0 {
		return errBroken
	}
	m := c.more.Load()
	if m == nil {
		return nil
	}
	if until := clock.Earlier(m.writeLimit, m.userWrites()); until != 0 && clock.Ticks() >= until {
		return os.ErrDeadlineExceeded
	}
	return nil
}

// Lend does nothing: the engine knows the deadlines of a program, and they hold until
// reclaim.
func (c *eventConn) Lend() {}

// reclaim ends the deadlines that a program has set for a message. The owner calls it
// when the message is written.
func (c *eventConn) reclaim() {
	if m := c.more.Load(); m != nil && m.readUntil.Load()|m.writeUntil.Load() != 0 {
		m.readUntil.Store(0)
		m.writeUntil.Store(0)
	}
}

// writeDue returns when the next write must have written something; 0 means never.
func (c *eventConn) writeDue() (due clock.Tick) {
	if m := c.more.Load(); m != nil {
		due = m.writeLimit
	}
	if c.writeTimeout > 0 {
		due = clock.Earlier(due, clock.Ticks().Add(c.writeTimeout))
	}
	return due
}

// endWrite ends the connection because of a write that failed. After Abort the session
// gets ErrAborted, not err: it has already given the connection up.
func (c *eventConn) endWrite(err error, wk *worker) verdict {
	if c.wants.op == Abort {
		err = ErrAborted
	}
	return c.end(err, wk)
}

// drain writes what m holds, as far as the socket takes it. It returns errWouldBlock if
// the socket does not take all of it; then isWriting is set. moved says that the socket
// took something. The owner calls it.
func (c *eventConn) drain(m *connMore, wk *worker) (moved bool, err error) {
	armed := c.word.Load()&isWriting != 0
more:
	for len(m.unsent.pend) > 0 {
		n, errno := c.l.sys.write(c.fd, m.unsent.pend)
		switch {
		case n > 0:
			moved = true
			if m.unsent.pend = m.unsent.pend[n:]; len(m.unsent.pend) == 0 {
				m.unsent.pend = nil
			}
		case errno == syscall.EINTR:
		case errno != syscall.EAGAIN:
			return moved, c.opError("write", errno)
		case armed:
			return moved, errWouldBlock
		default:
			// tell has dropped evOut until now, so try once more.
			c.set(isWriting)
			armed = true
		}
	}
	for f := m.unsent.file; f != nil && f.N > 0; {
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
	if f := m.unsent.file; f != nil {
		m.unsent.file = nil
		if f.Done != nil {
			f.Done.Close()
		}
	}
	return moved, nil
}

// errNoSendfile says that a file can't be sent without reading it.
var errNoSendfile = errors.New("engine: no sendfile for this file")

// readFile reads a piece of f into pend, which is empty.
func (c *eventConn) readFile(m *connMore, f *File) error {
	b := make([]byte, min(32<<10, f.N))
	n, err := f.F.ReadAt(b, f.Off)
	if n == 0 {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	m.unsent.pend = b[:n]
	f.Off += int64(n)
	f.N -= int64(n)
	return nil
}

// closeGracefully ends the connection, by the lingering close of RFC 9112 section 9.6 if
// the peer may still send. Closing a socket with unread bytes, or one that gets bytes
// later, sends RST (RFC 9293 section 3.6.1), and the peer may then lose the last answer.
// So the connection is half-closed and read until the peer ends its side, until nothing
// comes for lingerIdle, or for lingerTotal in all. TLS sends its closure alert first (RFC
// 8446 section 6.1). The owner calls it, when all output is written.
func (c *eventConn) closeGracefully(wk *worker) verdict {
	if !c.wants.linger && !c.unreadWaits(wk) {
		return c.end(nil, wk)
	}
	if c.layered {
		if cw, ok := c.more.Load().top.(interface{ CloseWrite() error }); ok {
			cw.CloseWrite() // nothing may go out after the closure alert
		}
	}
	if c.l.sys.shutdown(c.fd, syscall.SHUT_WR) != nil {
		return c.end(nil, wk)
	}
	now := clock.Ticks()
	c.extra().lingerEnd = now + clock.Tick(lingerTotal)
	c.setDue(now + clock.Tick(lingerIdle))
	c.phase = lingering
	c.lookAgain()
	if c.w != nil {
		c.w.r, c.w.w = 0, 0
	}
	c.more.Load().stash = nil
	return again
}

// unreadWaits reports whether there are bytes of the peer that no session has consumed.
// It may read and discard some: the connection is about to end.
func (c *eventConn) unreadWaits(wk *worker) bool {
	if c.w != nil && len(c.w.Unread()) > 0 || len(c.stashed()) > 0 {
		return true
	}
	if c.layered || c.drained && c.word.Load()&evIn == 0 {
		return false
	}
	n, _ := c.l.sys.read(c.fd, c.work(wk).room())
	return n > 0
}

// stepLinger discards what has come. It reads from the socket even if there is TLS on
// top: nothing is decrypted. The owner calls it. lingerEnd never grows, and due <=
// lingerEnd.
func (c *eventConn) stepLinger(ev uint32, wk *worker) verdict {
	now := clock.Ticks()
	m := c.more.Load()
	switch {
	case c.over():
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
