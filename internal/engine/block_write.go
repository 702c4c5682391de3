package engine

import (
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

func (c *blockConn) SetWriteTimeout(d time.Duration) { c.writeTimeout = d }

func (c *blockConn) SetWriteDeadline(t clock.Tick) { c.writeLimit = t }

// armWrite makes sure that the writes that follow end in time.
func (c *blockConn) armWrite() {
	if c.writeTimeout > 0 || c.writeLimit|c.writeUntil != 0 {
		c.setWriteDeadline()
	}
}

// setWriteDeadline sets a write deadline if the one that is set is too early or too
// late by more than a quarter. It is always set with that margin, so that a
// busy connection sets it once in a while only.
func (c *blockConn) setWriteDeadline() {
	until := c.writeLimit
	if d := c.writeTimeout; until == 0 && d > 0 {
		until = clock.Ticks().Add(d)
		if until <= c.writeUntil && c.writeUntil <= until.Add(d/4) {
			return
		}
		until = until.Add(d / 4)
	}
	c.writeUntil = until
	c.nc.SetWriteDeadline(until.Time())
}

func (c *blockConn) Flush(w *Work) error {
	if len(w.Out) == 0 {
		return nil
	}
	c.armWrite()
	_, err := c.nc.Write(w.Out)
	w.Out = w.Out[:0]
	return err
}

// vectored is the size from which on a body goes out beside the head instead
// of being copied behind it.
const vectored = 16 << 10

// LeaveBody is WriteBody: the goroutine has nothing else to do.
func (c *blockConn) LeaveBody(w *Work, b []byte) (left bool, err error) {
	return false, c.WriteBody(w, b)
}

func (c *blockConn) WriteBody(w *Work, b []byte) error {
	if len(b) < vectored {
		w.Out = append(w.Out, b...)
		return c.Flush(w)
	}
	c.armWrite()
	bufs := net.Buffers{w.Out, b}
	if len(w.Out) == 0 {
		bufs = bufs[1:]
	}
	_, err := bufs.WriteTo(c.nc)
	w.Out = w.Out[:0]
	return err
}

// send writes Out and then f, if there is one.
func (c *blockConn) send(f *File) error {
	w := c.w
	if w != nil {
		if err := c.Flush(w); err != nil {
			if f != nil && f.Done != nil {
				f.Done.Close()
			}
			return err
		}
	}
	if f == nil {
		return nil
	}
	c.armWrite()
	err := c.sendFile(f)
	if f.Done != nil {
		f.Done.Close()
	}
	return err
}

// copyFile sends f through a workspace.
func (c *blockConn) copyFile(f *File) error {
	w := c.work()
	for f.N > 0 {
		if cap(w.Out) < 32<<10 {
			w.Out = make([]byte, 0, 32<<10)
		}
		b := w.Out[:min(int64(cap(w.Out)), f.N)]
		n, err := f.F.ReadAt(b, f.Off)
		w.Out = b[:n]
		f.Off += int64(n)
		f.N -= int64(n)
		if n > 0 {
			if err := c.Flush(w); err != nil {
				return err
			}
		}
		if err != nil && f.N > 0 {
			if errors.Is(err, io.EOF) {
				return io.ErrUnexpectedEOF // the file has become shorter
			}
			return err
		}
	}
	return nil
}

// Bounds of closeGracefully.
const (
	lingerIdle  = time.Second
	lingerTotal = 5 * time.Second
	lingerStop  = 100 * time.Millisecond // both, once the engine stops
)

// closeGracefully ends our side and, if the peer sends still, discards what
// comes for a while: closing with unread bytes resets the connection, and the
// answer would be lost on its way.
func (c *blockConn) closeGracefully(linger bool) {
	cw, ok := c.nc.(interface{ CloseWrite() error })
	if !ok || !c.mayReset() || !linger && !c.unreadWaits() {
		return
	}
	if cw.CloseWrite() != nil {
		return
	}
	end := time.Now().Add(lingerTotal)
	w := c.work()
	c.state.Store(parting)
	stopping := false
	for {
		if !stopping && c.Stopping() {
			stopping = true
			end = time.Now().Add(lingerStop)
		}
		now := time.Now()
		if !now.Before(end) {
			return
		}
		until := now.Add(lingerIdle)
		if until.After(end) {
			until = end
		}
		c.nc.SetReadDeadline(until)
		if !stopping && c.Stopping() {
			continue // the stop may have woken it before the deadline was set
		}
		w.r, w.w = 0, 0
		if _, err := c.nc.Read(w.room()); err != nil && (stopping || !c.Stopping() || !IsTimeout(err)) {
			return
		}
	}
}

// mayReset reports whether closing with unread bytes may cost the peer the last
// answer: on sockets, with TLS or without. Connections in memory keep it.
func (c *blockConn) mayReset() bool {
	if c.raw != nil {
		return true
	}
	_, wraps := c.nc.(interface{ NetConn() net.Conn })
	return wraps
}

// unreadWaits reports whether bytes of the peer are there that nobody read.
func (c *blockConn) unreadWaits() bool {
	if c.w != nil && len(c.w.Unread()) > 0 || len(c.stash) > 0 {
		return true
	}
	if c.raw == nil {
		return c.buffered()
	}
	c.nc.SetReadDeadline(time.Time{})
	c.once = true
	err := c.readRaw()
	c.once = false
	return err == nil
}

var errWouldBlock = os.ErrDeadlineExceeded
