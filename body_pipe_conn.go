package gale

import (
	"errors"
	"io"
	"net"
	"time"
)

// streamConn is the reader of a pipe as a net.Conn, which is what NewStreamReader
// has always returned in fasthttp: programs set a deadline on it, or hand it
// to code for connections. It is not a BodyWriterTo in its own name, but the
// library uses the pipe's WriteTo all the same.
type streamConn struct{ p *streamPipe }

var _ net.Conn = (*streamConn)(nil)

// Read reads what was written, and waits if there is nothing.
func (c *streamConn) Read(b []byte) (int, error) { return c.p.Read(b) }

// WriteTo writes all that is still to be read to w; see streamPipe.
func (c *streamConn) WriteTo(w io.Writer) (int64, error) { return c.p.WriteTo(w) }

// Close ends the stream for its writer. See NewStreamReader.
func (c *streamConn) Close() error { return c.p.Close() }

var errStreamOneWay = errors.New("gale: a stream reader can't be written to")

// Write returns an error: the other end doesn't read.
func (c *streamConn) Write([]byte) (int, error) { return 0, errStreamOneWay }

// LocalAddr and RemoteAddr return an address whose network and text are "pipe".
func (c *streamConn) LocalAddr() net.Addr  { return streamAddr{} }
func (c *streamConn) RemoteAddr() net.Addr { return streamAddr{} }

type streamAddr struct{}

func (streamAddr) Network() string { return "pipe" }
func (streamAddr) String() string  { return "pipe" }

// SetDeadline is SetReadDeadline.
func (c *streamConn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetWriteDeadline does nothing, as nothing can be written.
func (c *streamConn) SetWriteDeadline(time.Time) error { return nil }

// SetReadDeadline sets when a Read that waits ends with os.ErrDeadlineExceeded;
// the zero time means never. It may be called while one waits.
func (c *streamConn) SetReadDeadline(t time.Time) error {
	p := c.p
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopTimer()
	if t.IsZero() || p.closed {
		return nil
	}
	left := time.Until(t)
	if left <= 0 {
		p.late = true
		p.canRead.Broadcast()
		return nil
	}
	var timer *time.Timer
	timer = time.AfterFunc(left, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.timer == timer { // else the deadline was moved meanwhile
			p.late = true
			p.canRead.Broadcast()
		}
	})
	p.timer = timer
	return nil
}

// stopTimer removes the deadline of a pipe; mu is held.
func (p *streamPipe) stopTimer() {
	if p.timer != nil {
		p.timer.Stop()
	}
	p.timer, p.late = nil, false
}
