package gale

import (
	"net"
	"sync"
	"time"

	"github.com/galehttp/gale/internal/streamconn"
)

// h2ClientTunnel is the stream of an extended CONNECT that the server has accepted, as the
// Stream of a connection; see HostClient.OpenStream. What arrives is in the h2Reader of the
// call. Its lock, sharedConn.mu, guards all fields.
type h2ClientTunnel struct {
	s       *h2Call
	r       *h2Reader
	changed sync.Cond // broadcast when there may be something to read, or room to write
	closed  bool
	linger  *time.Timer // resets the stream some time after Close, or nil
}

var _ streamconn.Stream = (*h2ClientTunnel)(nil)

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
	return streamconn.New(t, hc.Conn())
}

// Lock locks sharedConn.mu.
func (t *h2ClientTunnel) Lock() { t.s.hc.mu.Lock() }

// Unlock unlocks it, and writes what waits, if no goroutine does. It doesn't wait for the
// server.
func (t *h2ClientTunnel) Unlock() {
	hc := t.s.hc
	hc.maybeEnd()
	hc.unlockToFlush()
}

// Receive implements streamconn.Stream.
func (t *h2ClientTunnel) Receive(p []byte) (n int, err error) {
	r := t.r
	switch {
	case r.in.Len() > 0:
		n = r.in.Take(p)
	case r.err != nil:
		return 0, r.err
	default:
		r.into, r.got = p, 0
		t.changed.Wait()
		n = r.got
		r.into, r.got = nil, 0
	}
	if n > 0 {
		r.credit(n)
	}
	return n, nil
}

// SendErr implements streamconn.Stream.
func (t *h2ClientTunnel) SendErr() error {
	switch {
	case t.s.st != nil:
		return nil
	case t.s.err != nil:
		return t.s.err
	}
	return net.ErrClosed
}

// Send implements streamconn.Stream.
func (t *h2ClientTunnel) Send(p []byte) (n int) {
	s := t.s
	hc := s.hc
	for len(hc.out) < maxH2Sent {
		part := p[n:min(len(p), n+maxH2Part)]
		m := s.appendData(part, false)
		if n += m; n == len(p) {
			return n
		}
		if m < len(part) {
			break
		}
	}
	hc.proto.Queue(s.st)
	if !hc.claim() {
		t.changed.Wait()
		return n
	}
	hc.mu.Unlock()
	defer hc.mu.Lock()
	hc.flush(h2Tries)
	return n
}

// EndOutput implements streamconn.Stream.
func (t *h2ClientTunnel) EndOutput() {
	if s := t.s; !s.st.Ended() {
		s.appendData(nil, true)
		if t.r.err != nil {
			s.finish() // the server has ended its side
		}
	}
}

// Close implements streamconn.Stream; see HostClient.OpenStream.
func (t *h2ClientTunnel) Close(reset bool) {
	s := t.s
	t.closed = true
	t.r.in.Drop()
	switch {
	case s.st == nil:
	case reset:
		s.fail(net.ErrClosed)
	default:
		t.EndOutput()
		if s.st != nil {
			t.linger = time.AfterFunc(h2LingerFor, func() { s.giveUp(net.ErrClosed) })
		}
	}
	t.Wake()
}

// over is called when the stream has ended, under mu.
func (t *h2ClientTunnel) over() {
	if t.linger != nil {
		t.linger.Stop()
	}
}

// Wake implements streamconn.Stream.
func (t *h2ClientTunnel) Wake() { t.changed.Broadcast() }
