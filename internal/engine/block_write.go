package engine

import (
	"errors"
	"io"
	"net"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/race"
)

// SetWriteTimeout limits the time of the writes that follow. Only the goroutine that runs
// the session may call it. The same holds for all functions of this file, except
// InterruptWrites.
func (c *blockConn) SetWriteTimeout(d, stall time.Duration) {
	if b := &c.bounds; b.timeout != d || b.stall != stall {
		b.timeout, b.stall, c.armed.trusted = d, stall, 0
	}
}

// SetWriteDeadline sets when all of the writes that follow must have ended; 0 means
// never.
func (c *blockConn) SetWriteDeadline(t clock.Tick) { c.bounds.limit, c.armed.trusted = t, 0 }

// InterruptWrites makes writes fail from now on. Any goroutine may call it.
func (c *blockConn) InterruptWrites() { c.bounds.interrupt() }

// Flush writes w.Out and empties it, even after an error, since it isn't known how much
// was written. Until armed.trusted, the deadline that is set is far enough in the future.
func (c *blockConn) Flush(w *Work) error {
	if len(w.Out) == 0 {
		return nil
	}
	var err error
	if c.armed.trusted != 0 && len(w.Out) <= tlsPiece && clock.Coarse() < c.armed.trusted {
		var n int
		if n, err = c.nc.Write(w.Out); err != nil {
			err = c.writeAgain(w, n, err)
		}
	} else {
		err = c.write(w, w.Out, nil)
	}
	w.Out = w.Out[:0]
	return err
}

// vectored is the smallest size of a body that is written with the head by one writev,
// instead of being copied after it.
const vectored = 16 << 10

// LeaveBody is WriteBody, since the goroutine has nothing else to do. left is always
// false.
func (c *blockConn) LeaveBody(w *Work, b []byte) (left bool, err error) {
	return false, c.WriteBody(w, b)
}

// WriteBody writes w.Out and b, and empties w.Out. b belongs to the caller again when it
// returns.
func (c *blockConn) WriteBody(w *Work, b []byte) error {
	if len(b) < vectored {
		w.Out = append(w.Out, b...)
		return c.Flush(w)
	}
	err := c.write(w, w.Out, b)
	w.Out = w.Out[:0]
	return err
}

// write writes a and then b.
func (c *blockConn) write(w *Work, a, b []byte) error {
	if c.raw != nil {
		if err := c.writeRaw(w, a, b); err != nil {
			return c.failed(err)
		}
		return nil
	}
	if err := c.bounds.begin(); err != nil {
		return c.failed(err)
	}
	end := c.writeEnd()
	err := c.writeForeign(a, end)
	if err == nil {
		err = c.writeForeign(b, end)
	}
	if err != nil {
		c.bounds.broken.Store(true)
		return c.failed(err)
	}
	return nil
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

// closeGracefully ends our side of the connection. If the peer still sends, it discards
// what comes for a while: the lingering close of RFC 9112 section 9.6. Closing a socket
// with unread bytes resets the connection (RFC 9293 section 3.6.1), and the peer may then
// lose the answer. CloseWrite of TLS sends the closure alert first (RFC 8446 section
// 6.1). The caller closes the connection when this returns.
func (c *blockConn) closeGracefully(linger bool) {
	cw, ok := c.nc.(interface{ CloseWrite() error })
	if !ok || !c.mayReset() || !linger && !c.unreadWaits() {
		return
	}
	c.unpace() // the closure alert of TLS has a deadline of its own
	race.Publish()
	if cw.CloseWrite() != nil {
		return
	}
	end := time.Now().Add(lingerTotal)
	w := c.work()
	c.state.Store(parting)
	stopping := false
	for {
		if !stopping && c.over() {
			stopping = true
			c.unclaim()
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
		if !stopping && c.over() {
			continue // the stop may have woken it before the deadline was set
		}
		w.r, w.w = 0, 0
		if _, err := c.nc.Read(w.room()); err != nil && (stopping || !c.over() || !IsTimeout(err)) {
			return
		}
	}
}

// mayReset reports whether closing with unread bytes may make the peer lose the last
// answer. That is so on sockets, with TLS or without. Connections in memory keep the
// answer.
func (c *blockConn) mayReset() bool {
	if c.raw != nil {
		return true
	}
	_, wraps := c.nc.(interface{ NetConn() net.Conn })
	return wraps
}

// unreadWaits reports whether there are bytes of the peer that no session has consumed.
func (c *blockConn) unreadWaits() bool {
	if c.w != nil && len(c.w.Unread()) > 0 || len(c.stash) > 0 {
		return true
	}
	if c.raw == nil {
		return c.buffered()
	}
	c.nc.SetReadDeadline(time.Time{})
	return c.readOnce() == nil
}
