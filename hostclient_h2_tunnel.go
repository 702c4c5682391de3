package gale

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// h2ClientTunnel is the stream of an extended CONNECT that the server has accepted, as a
// connection; see HostClient.OpenStream. What arrives is in the h2Reader of the call.
// sharedConn.mu guards the fields after writing.
type h2ClientTunnel struct {
	s *h2Call
	r *h2Reader

	reading, writing sync.Mutex // held by the Read or Write that runs; before sharedConn.mu

	changed         sync.Cond // broadcast when there may be something to read, or room to write
	readBy, writeBy streamDeadline
	waits           bool // a Write waits for room
	closed          bool
	resets          bool        // Close resets the stream
	ended           bool        // CloseWrite was called
	linger          *time.Timer // resets the stream some time after Close, or nil
}

// h2ClientTunnelTLS is a tunnel over TLS.
type h2ClientTunnelTLS struct{ *h2ClientTunnel }

// ConnectionState returns the state of the connection's TLS.
func (t h2ClientTunnelTLS) ConnectionState() tls.ConnectionState {
	return t.s.hc.Conn().(interface{ ConnectionState() tls.ConnectionState }).ConnectionState()
}

var (
	_ net.Conn = (*h2ClientTunnel)(nil)
	_ net.Conn = h2ClientTunnelTLS{}
)

// toTunnel makes the stream of a call whose response has come a connection. The messages
// belong to the caller from now on.
func (s *h2Call) toTunnel() net.Conn {
	hc := s.hc
	t := &h2ClientTunnel{s: s, r: s.reader}
	t.changed.L = &hc.mu
	hc.mu.Lock()
	s.tunnel = t
	s.req, s.resp = nil, nil
	s.tells, s.wants = false, 0
	t.r.sink, t.r.call = nil, call{}
	hc.mu.Unlock()
	if _, ok := hc.Conn().(interface{ ConnectionState() tls.ConnectionState }); ok {
		return h2ClientTunnelTLS{t}
	}
	return t
}

// LocalAddr and RemoteAddr are those of the connection of HTTP/2.
func (t *h2ClientTunnel) LocalAddr() net.Addr  { return t.s.hc.Conn().LocalAddr() }
func (t *h2ClientTunnel) RemoteAddr() net.Addr { return t.s.hc.Conn().RemoteAddr() }

// Read returns DATA of the server, and lets it send as much again.
func (t *h2ClientTunnel) Read(p []byte) (n int, err error) {
	t.reading.Lock()
	defer t.reading.Unlock()
	r, hc := t.r, t.s.hc
	hc.mu.Lock()
	for {
		switch {
		case t.closed:
			err = net.ErrClosed
		case t.readBy.late:
			err = os.ErrDeadlineExceeded
		case len(p) == 0:
		case r.in.n > 0:
			n = r.in.take(p)
			r.consumed(n)
			return n, nil
		case r.err != nil:
			err = r.err
		default:
			r.into, r.got = p, 0
			t.changed.Wait()
			n = r.got
			r.into, r.got = nil, 0
			if n > 0 {
				r.consumed(n)
				return n, nil
			}
			continue
		}
		hc.mu.Unlock()
		return 0, err
	}
}

// Write sends p as DATA, and waits while the server gives no room. After an error, n bytes
// were sent.
func (t *h2ClientTunnel) Write(p []byte) (n int, err error) {
	t.writing.Lock()
	defer t.writing.Unlock()
	s := t.s
	hc := s.hc
	hc.mu.Lock()
	for {
		if err = t.sendErr(); err != nil || n == len(p) {
			break
		}
		if t.writeBy.late {
			err = os.ErrDeadlineExceeded
			break
		}
		if len(hc.out) < maxH2Sent {
			part := p[n:min(len(p), n+maxH2Part)]
			m := s.appendData(part, false)
			if n += m; m == len(part) {
				continue
			}
		}
		hc.proto.Queue(s.st)
		t.waits = true
		if !t.flush() {
			t.changed.Wait()
		}
		t.waits = false
	}
	t.flush()
	hc.mu.Unlock()
	return n, err
}

// flush writes what waits, if no goroutine does, and reports whether it did. It releases mu
// meanwhile. It doesn't wait for the server.
func (t *h2ClientTunnel) flush() bool {
	hc := t.s.hc
	if !hc.claim() {
		return false
	}
	hc.mu.Unlock()
	defer hc.mu.Lock()
	hc.flush(h2Tries)
	return true
}

// sendErr returns why nothing can be sent, under mu.
func (t *h2ClientTunnel) sendErr() error {
	switch {
	case t.closed, t.ended:
		return net.ErrClosed
	case t.s.st != nil:
		return nil
	case t.s.err != nil:
		return t.s.err
	}
	return net.ErrClosed
}

// CloseWrite ends the client's side of the stream, after what was written. The server may
// still send.
func (t *h2ClientTunnel) CloseWrite() error {
	t.writing.Lock()
	defer t.writing.Unlock()
	hc := t.s.hc
	hc.mu.Lock()
	err := t.sendErr()
	if err == nil {
		t.endOutput()
	}
	t.settle()
	return err
}

// endOutput sends END_STREAM, unless that was done, under mu.
func (t *h2ClientTunnel) endOutput() {
	t.ended = true
	if s := t.s; !s.st.Ended() {
		s.appendData(nil, true)
		if t.r.err != nil {
			s.finish() // the server has ended its side
		}
	}
}

// settle writes what waits, and releases mu.
func (t *h2ClientTunnel) settle() {
	hc := t.s.hc
	hc.maybeEnd()
	hc.wakeAll()
	t.flush()
	hc.unlock()
}

// SetLinger says how Close ends the stream: with 0 it resets the stream with CANCEL, and the
// server may lose what was written. Any other value restores the default.
func (t *h2ClientTunnel) SetLinger(seconds int) error {
	mu := &t.s.hc.mu
	mu.Lock()
	defer mu.Unlock()
	t.resets = seconds == 0
	return nil
}

// Close ends the stream; see HostClient.OpenStream.
func (t *h2ClientTunnel) Close() error {
	s := t.s
	s.hc.mu.Lock()
	if t.closed {
		s.hc.mu.Unlock()
		return net.ErrClosed
	}
	t.closed = true
	t.readBy.stop()
	t.writeBy.stop()
	t.r.in.drop()
	switch {
	case s.st == nil:
	case t.waits, t.resets:
		s.fail(net.ErrClosed)
	default:
		t.endOutput()
		if s.st != nil {
			t.linger = time.AfterFunc(h2LingerFor, func() { s.giveUp(net.ErrClosed) })
		}
	}
	t.changed.Broadcast()
	t.settle()
	return nil
}

// over is called when the stream has ended, under mu.
func (t *h2ClientTunnel) over() {
	if t.linger != nil {
		t.linger.Stop()
	}
}

// SetDeadline sets the deadlines of Read and Write.
func (t *h2ClientTunnel) SetDeadline(at time.Time) error {
	return errors.Join(t.SetReadDeadline(at), t.SetWriteDeadline(at))
}

// SetReadDeadline sets when a Read, also one that waits, returns os.ErrDeadlineExceeded. A
// later deadline allows to read on. The zero time means never.
func (t *h2ClientTunnel) SetReadDeadline(at time.Time) error { return t.setDeadline(&t.readBy, at) }

// SetWriteDeadline is SetReadDeadline for Write.
func (t *h2ClientTunnel) SetWriteDeadline(at time.Time) error { return t.setDeadline(&t.writeBy, at) }

func (t *h2ClientTunnel) setDeadline(d *streamDeadline, at time.Time) error {
	mu := &t.s.hc.mu
	mu.Lock()
	defer mu.Unlock()
	if t.closed {
		return net.ErrClosed
	}
	d.set(at, mu, t.changed.Broadcast)
	return nil
}
