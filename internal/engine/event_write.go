package engine

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/galehttp/gale/internal/clock"
)

// stepWrite writes what there is to write, in the order w.Out, pend, file, and then goes
// on with op. What a socket does not take at once is copied to pend and waits with the
// connection, without a workspace or a goroutine. Nothing is read and the session isn't
// called meanwhile. The owner calls it, in phase writing.
//
// What LeaveBody has left in pend comes before what is in w.Out. Sessions must not append
// to Out after it; if one did, an answer would be cut in its middle.
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

// leave moves what a write of out has left to the end of pend; n and errno are what the
// write returned.
func (c *eventConn) leave(out []byte, n int, errno syscall.Errno) error {
	if n < 0 && errno != syscall.EAGAIN && errno != syscall.EINTR {
		return c.opError("write", errno)
	}
	m := c.extra()
	m.unsent.pend = append(m.unsent.pend, out[max(n, 0):]...)
	return nil
}

// blockedWrite makes the connection wait for room, until the bounds of writes; moved says
// that the socket took something since it waits.
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
		c.setDue(earlier(c.writeDue(), m.userWrites()))
	}
	return wait
}

// mayWrite returns an error if nothing may be written any more. Any goroutine that may
// write may call it: the owner, or writeSome.
func (c *eventConn) mayWrite() error {
	if c.word.Load()&evCut != 0 {
		return errBroken
	}
	m := c.more.Load()
	if m == nil {
		return nil
	}
	if until := earlier(m.writeLimit, m.userWrites()); until != 0 && clock.Ticks() >= until {
		return os.ErrDeadlineExceeded
	}
	return nil
}

// Lend does nothing: the deadlines of a program are known, and hold until reclaim.
func (c *eventConn) Lend() {}

// reclaim ends the deadlines that a program has set for a message. The owner calls it
// when the message is written.
func (c *eventConn) reclaim() {
	if m := c.more.Load(); m != nil && m.readUntil.Load()|m.writeUntil.Load() != 0 {
		m.readUntil.Store(0)
		m.writeUntil.Store(0)
	}
}

// writeDue returns until when the next write must have written something, 0 for no bound.
func (c *eventConn) writeDue() (due clock.Tick) {
	if m := c.more.Load(); m != nil {
		due = m.writeLimit
	}
	if c.writeTimeout > 0 {
		due = earlier(due, clock.Ticks().Add(c.writeTimeout))
	}
	return due
}

// endWrite ends the connection because of a write that failed. After Abort the session
// gets ErrAborted all the same: it has given the connection up already.
func (c *eventConn) endWrite(err error, wk *worker) verdict {
	if c.wants.op == Abort {
		err = ErrAborted
	}
	return c.end(err, wk)
}

// drain writes what m holds, as far as the socket takes it; errWouldBlock says that it
// does not take all, and that isWriting is set. moved: it took something. The owner calls
// it.
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
			// post has dropped the edges until now, so try once more.
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

// closeGracefully ends our side, and the connection if the peer sends nothing any more:
// the lingering close of RFC 9112 section 9.6. To close a socket with unread bytes, or
// one that gets bytes later, sends RST (RFC 9293 section 3.6.1), and the peer may lose
// the last answer by that. So the connection is half-closed and read until the peer ends
// its side, lingerIdle passes in silence, or lingerTotal in all. TLS sends its closure
// alert before (RFC 8446 section 6.1). The owner calls it, when all output is written.
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
	c.phase, c.drained = lingering, false
	if c.w != nil {
		c.w.r, c.w.w = 0, 0
	}
	c.more.Load().stash = nil
	return again
}

// unreadWaits reports whether bytes of the peer are there that no session has consumed.
// It may read some, which are lost: the connection is about to end.
func (c *eventConn) unreadWaits(wk *worker) bool {
	if c.w != nil && len(c.w.Unread()) > 0 || c.more.Load() != nil && len(c.more.Load().stash) > 0 {
		return true
	}
	if c.layered || c.drained && c.word.Load()&evIn == 0 {
		return false
	}
	n, _ := c.l.sys.read(c.fd, c.work(wk).room())
	return n > 0
}

// stepLinger discards what has come, below TLS too: nothing of it is decrypted. The owner
// calls it; lingerEnd never grows, and due <= lingerEnd.
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
