package streamconn

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// Stream is a stream whose Conn has taken it over. Lock is the lock of the connection that has
// the stream; Unlock also sees to it that what waits is sent. The other methods are called with
// the lock held. Only one Receive and one Send run at a time.
type Stream interface {
	sync.Locker

	// Receive moves bytes that have come to p, which isn't empty, and lets the peer send as
	// many again. If there are none it returns why no more will come, io.EOF for the proper
	// end. If it doesn't know that either, it waits until Wake or something else may have
	// changed that, and may return 0 and nil.
	Receive(p []byte) (n int, err error)

	// SendErr returns why nothing can be sent, or nil. It need not know of Close and EndOutput.
	SendErr() error

	// Send sends bytes of p and returns how many. It is called after SendErr. If there isn't
	// room for all of p, it waits until Wake or something else may have changed that.
	Send(p []byte) (n int)

	// EndOutput tells the peer that nothing more comes. It is called once, after SendErr.
	EndOutput()

	// Close ends the stream, once, and wakes Receive and Send. reset says that what was
	// written may be lost.
	Close(reset bool)

	// Wake makes Receive and Send return.
	Wake()
}

// Conn is a stream as a connection.
type Conn struct {
	s  Stream
	nc net.Conn // which has the stream

	reading, writing sync.Mutex // held by the Read or Write that runs; before the lock of s

	// Under the lock of s.
	readBy, writeBy deadline
	waits           bool // Send runs
	ended           bool // CloseWrite was called
	closed          bool
	resets          bool // Close resets the stream
}

// connTLS is a Conn over TLS.
type connTLS struct {
	*Conn
	nc interface{ ConnectionState() tls.ConnectionState }
}

// ConnectionState returns the state of the connection's TLS.
func (c connTLS) ConnectionState() tls.ConnectionState { return c.nc.ConnectionState() }

// New makes s, a stream of nc, a connection. It has a method ConnectionState if nc has one.
func New(s Stream, nc net.Conn) net.Conn {
	c := &Conn{s: s, nc: nc}
	if secure, ok := nc.(interface{ ConnectionState() tls.ConnectionState }); ok {
		return connTLS{c, secure}
	}
	return c
}

// Of returns what New made nc of, for tests.
func Of(nc net.Conn) (c *Conn, s Stream) {
	if secure, ok := nc.(connTLS); ok {
		nc = secure.Conn
	}
	c = nc.(*Conn)
	return c, c.s
}

// Waits reports whether a Write waits for room, under the lock. It is for tests.
func (c *Conn) Waits() bool { return c.waits }

// LocalAddr and RemoteAddr are those of the connection that has the stream.
func (c *Conn) LocalAddr() net.Addr  { return c.nc.LocalAddr() }
func (c *Conn) RemoteAddr() net.Addr { return c.nc.RemoteAddr() }

// Read returns bytes of the peer, and lets it send as many again. After the peer's end it
// returns io.EOF, and after Close net.ErrClosed.
func (c *Conn) Read(p []byte) (n int, err error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	c.s.Lock()
	defer c.s.Unlock()
	for {
		switch {
		case c.closed:
			return 0, net.ErrClosed
		case c.readBy.late:
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, nil
		}
		if n, err = c.s.Receive(p); n > 0 || err != nil {
			return n, err
		}
	}
}

// Write sends p, and waits while the peer gives no room. After an error, n bytes were sent.
func (c *Conn) Write(p []byte) (n int, err error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.s.Lock()
	defer c.s.Unlock()
	for {
		if err = c.sendErr(); err != nil {
			return n, err
		}
		switch {
		case c.writeBy.late:
			return n, os.ErrDeadlineExceeded
		case n == len(p):
			return n, nil
		}
		c.waits = true
		n += c.s.Send(p[n:])
		c.waits = false
	}
}

// sendErr returns why nothing can be sent, or nil, under the lock.
func (c *Conn) sendErr() error {
	if c.closed || c.ended {
		return net.ErrClosed
	}
	return c.s.SendErr()
}

// CloseWrite ends this side of the stream, after what was written. The peer may still send.
func (c *Conn) CloseWrite() error {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.s.Lock()
	defer c.s.Unlock()
	if err := c.sendErr(); err != nil {
		return err
	}
	c.ended = true
	c.s.EndOutput()
	return nil
}

// SetLinger says how Close ends the stream: with 0 it resets the stream, and the peer may lose
// what was written. Any other value restores the default.
func (c *Conn) SetLinger(seconds int) error {
	c.s.Lock()
	defer c.s.Unlock()
	c.resets = seconds == 0
	return nil
}

// Close ends this side of the stream, after what was written. If a Write is waiting, it fails,
// and the stream is reset. The Stream knows what the peer may still do.
func (c *Conn) Close() error {
	c.s.Lock()
	defer c.s.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	c.closed = true
	c.readBy.stop()
	c.writeBy.stop()
	c.s.Close(c.resets || c.waits)
	return nil
}

// SetDeadline sets the deadlines of Read and Write.
func (c *Conn) SetDeadline(at time.Time) error {
	return errors.Join(c.SetReadDeadline(at), c.SetWriteDeadline(at))
}

// SetReadDeadline sets when a Read, also one that waits, returns os.ErrDeadlineExceeded. A
// later deadline allows to read on. The zero time means never.
func (c *Conn) SetReadDeadline(at time.Time) error { return c.setDeadline(&c.readBy, at) }

// SetWriteDeadline is SetReadDeadline for Write.
func (c *Conn) SetWriteDeadline(at time.Time) error { return c.setDeadline(&c.writeBy, at) }

func (c *Conn) setDeadline(d *deadline, at time.Time) error {
	c.s.Lock()
	defer c.s.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	d.set(at, c.s, c.s.Wake)
	return nil
}
