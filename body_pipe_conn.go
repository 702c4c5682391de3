package gale

import (
	"errors"
	"io"
	"net"
	"time"
)

// streamConn is the reader of a pipe as a net.Conn, because that is what NewStreamReader
// returns in fasthttp: programs set a deadline on it, or pass it to code for connections.
// It doesn't implement BodyWriterTo, but the library uses the pipe's WriteTo anyway.
type streamConn struct{ p *streamPipe }

var _ net.Conn = (*streamConn)(nil)

// Read reads what sw has written, and waits if there is nothing to read.
func (c *streamConn) Read(b []byte) (int, error) { return c.p.Read(b) }

// WriteTo writes all unread bytes to w; see streamPipe.
func (c *streamConn) WriteTo(w io.Writer) (int64, error) { return c.p.WriteTo(w) }

// Close makes later writes of the StreamWriter fail. See NewStreamReader.
func (c *streamConn) Close() error { return c.p.Close() }

var errStreamOneWay = errors.New("gale: a stream reader can't be written to")

// Write returns an error, because the other end doesn't read.
func (c *streamConn) Write([]byte) (int, error) { return 0, errStreamOneWay }

// LocalAddr and RemoteAddr return an address whose network and text are "pipe".
func (c *streamConn) LocalAddr() net.Addr  { return streamAddr{} }
func (c *streamConn) RemoteAddr() net.Addr { return streamAddr{} }

type streamAddr struct{}

func (streamAddr) Network() string { return "pipe" }
func (streamAddr) String() string  { return "pipe" }

// SetDeadline does what SetReadDeadline does.
func (c *streamConn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetWriteDeadline does nothing, because nothing can be written.
func (c *streamConn) SetWriteDeadline(time.Time) error { return nil }

// SetReadDeadline sets the time after which a Read that waits returns
// os.ErrDeadlineExceeded. The zero time means never. It may be called while a Read waits.
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
		if p.timer == timer { // else the deadline was changed in the meantime
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
