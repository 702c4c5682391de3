package gale

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/h2"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// h2Tunnel is the stream of an extended CONNECT that a handler has taken over, as a
// connection (RFC 8441 section 5). The request and its context are over: the stream belongs
// to the program, and no timeout of the server applies to it. It counts for MaxStreams
// until Close.
//
// Bytes that arrive go where they go for other streams: to the reader that waits
// (h2Stream.into), or to h2Stream.in. h2Session.mu guards the fields after writing.
type h2Tunnel struct {
	s *h2Stream

	reading, writing sync.Mutex // held by the Read or Write that runs; before h2Session.mu

	readBy, writeBy streamDeadline
	waits           bool // a Write waits for room
	closed          bool
	resets          bool       // Close resets the stream
	lingerDue       clock.Tick // after Close: when the client must have ended its side, 0 before
}

// h2TunnelTLS is a tunnel over TLS.
type h2TunnelTLS struct{ *h2Tunnel }

// ConnectionState returns the state of the connection's TLS.
func (t h2TunnelTLS) ConnectionState() tls.ConnectionState {
	return t.s.ss.nc.(interface{ ConnectionState() tls.ConnectionState }).ConnectionState()
}

var (
	_ net.Conn = (*h2Tunnel)(nil)
	_ net.Conn = h2TunnelTLS{}
)

var errTunnelStatus = errors.New("gale: an extended CONNECT is accepted with a 2xx status: the response has another one")

// handsOver reports whether the HijackHandler gets the stream of an extended CONNECT after the
// head of resp.
func (s *h2Stream) handsOver(resp *Response) bool {
	return s.ctx.granted(resp, placeStream) && s.accepts(resp)
}

// accepts reports whether resp accepts an extended CONNECT: its status is 2xx.
func (s *h2Stream) accepts(resp *Response) bool {
	if s.ctx.flush.begun {
		return s.accepted && s.outBody.Left < 0
	}
	return resp.StatusCode()/100 == 2
}

// isHandedOver reports whether the stream was handed over.
func (s *h2Stream) isHandedOver() bool {
	s.ss.mu.Lock()
	defer s.ss.mu.Unlock()
	return s.tunnel != nil
}

// handOver gives the stream to the HijackHandler, on a goroutine of its own, after the head
// of resp. If the client has gone, it does nothing.
func (s *h2Stream) handOver(resp *Response) {
	handler := s.ctx.handover.to
	s.ctx.keepConn()
	if nc, err := s.openTunnel(resp, true); err == nil {
		go s.ss.serveTunnel(nc, handler)
	}
}

// serveTunnel runs a HijackHandler.
func (ss *h2Session) serveTunnel(nc net.Conn, handler HijackHandler) {
	defer ss.endApart()
	defer func() {
		if r := recover(); r != nil {
			ss.s.logPanic("in a HijackHandler", r, stack())
		}
	}()
	if ss.l.fixed.faults {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	}
	if !ss.s.KeepHijackedConns {
		defer nc.Close()
	}
	handler(nc)
}

// openTunnel sends the head of resp, unless Flush has done that, and makes the stream a
// connection. A body of resp is not sent: the response to a CONNECT has none (RFC 9110
// section 9.3.6). serves says that the caller starts serveTunnel.
func (s *h2Stream) openTunnel(resp *Response, serves bool) (net.Conn, error) {
	ss := s.ss
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if s.sendErr != nil {
		return nil, s.sendErr
	}
	if !s.begun {
		s.sendTunnelHead(resp)
	}
	t := &h2Tunnel{s: s}
	s.tunnel = t
	ss.tunnels++
	if serves {
		ss.apart++
	}
	s.limits, s.readBy, s.writeDue, s.stalled = requestLimits{}, 0, 0, 0
	s.complete = true
	s.time()
	ss.wake()
	if ss.isTLS {
		return h2TunnelTLS{t}, nil
	}
	return t, nil
}

// sendTunnelHead sends the head of a response that accepts an extended CONNECT, under mu. It
// has no Content-Length, and no Content-Type that the program hasn't set.
func (s *h2Stream) sendTunnelHead(resp *Response) {
	h := &resp.Header.s
	implied := h.Implied
	h.Implied |= s.ss.l.fixed.implied | head.NoDefaultType
	h.ContentLength = msg.LenChunked
	s.sendHead(resp, false)
	h.Implied = implied
}

// lingers reports whether the program has closed the stream, and the client has not ended
// its side. It is called under mu.
func (s *h2Stream) lingers() bool { return s.tunnel != nil && s.tunnel.lingerDue != 0 }

// LocalAddr and RemoteAddr are those of the connection of HTTP/2.
func (t *h2Tunnel) LocalAddr() net.Addr  { return t.s.LocalAddr() }
func (t *h2Tunnel) RemoteAddr() net.Addr { return t.s.RemoteAddr() }

// Read returns DATA of the client, and lets it send as much again. It returns io.EOF after
// END_STREAM, a *StreamResetError after a reset, ErrClientGone if the connection was lost, and
// net.ErrClosed after Server.Close.
func (t *h2Tunnel) Read(p []byte) (n int, err error) {
	t.reading.Lock()
	defer t.reading.Unlock()
	s := t.s
	ss := s.ss
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for {
		switch {
		case t.closed:
			return 0, net.ErrClosed
		case t.readBy.late:
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, nil
		case s.unread():
			n = s.in.take(p)
			t.consumed(n)
			return n, nil
		case s.inErr == errH2End:
			return 0, io.EOF
		case s.inErr != nil:
			return 0, s.inErr
		}
		s.into = p
		s.readers.Wait()
		n = s.got
		s.into, s.got = nil, 0
		if n > 0 {
			t.consumed(n)
			return n, nil
		}
	}
}

// consumed lets the client send n bytes more, under mu.
func (t *h2Tunnel) consumed(n int) {
	s := t.s
	if s.st == nil {
		return
	}
	s.consumed(n)
	if s.ss.proto.HasControl() {
		s.ss.takeBuf()
		s.ss.out = s.ss.proto.AppendControl(s.ss.out)
		s.ss.wake()
	}
}

// Write sends p as DATA, and waits while the client gives no room. After an error, n bytes
// were sent.
func (t *h2Tunnel) Write(p []byte) (n int, err error) {
	t.writing.Lock()
	defer t.writing.Unlock()
	s := t.s
	ss := s.ss
	ss.touch(p)
	ss.mu.Lock()
	defer ss.mu.Unlock()
	defer ss.wake()
	for {
		switch {
		case s.sendErr != nil:
			return n, s.sendErr
		case t.writeBy.late:
			return n, os.ErrDeadlineExceeded
		case n == len(p):
			return n, nil
		case ss.isFull():
			t.wait(ss.roomCond())
			continue
		}
		piece := ss.pieceOf(p[n:])
		m := 0
		ss.roomData(min(len(piece), ss.proto.SendRoom(s.st)))
		ss.out, m = ss.proto.AppendData(ss.out, s.st, piece, false)
		if n += m; m == len(piece) {
			continue
		}
		if s.st.WasReset() || s.st.Ended() {
			return n, ErrClientGone // sendErr will say so soon
		}
		if s.stall(m > 0); s.sendErr != nil {
			continue
		}
		ss.proto.Queue(s.st)
		t.wait(&s.senders)
		s.stalled = 0
	}
}

// wait waits for c before more is written, under mu.
func (t *h2Tunnel) wait(c *sync.Cond) {
	t.waits = true
	t.s.ss.wake()
	c.Wait()
	t.waits = false
}

// CloseWrite ends the server's side of the stream, after what was written. The client may
// still send.
func (t *h2Tunnel) CloseWrite() error {
	t.writing.Lock()
	defer t.writing.Unlock()
	s := t.s
	s.ss.mu.Lock()
	defer s.ss.mu.Unlock()
	if s.sendErr != nil {
		return s.sendErr
	}
	t.endOutput()
	return nil
}

// endOutput sends END_STREAM, under mu.
func (t *h2Tunnel) endOutput() {
	s := t.s
	s.sendErr = net.ErrClosed
	s.ss.out, _ = s.ss.proto.AppendData(s.ss.out, s.st, nil, true)
	s.ss.wake()
}

// SetLinger says how Close ends the stream: with 0 it resets the stream with CANCEL, and the
// client may lose what was written. Any other value restores the default.
func (t *h2Tunnel) SetLinger(seconds int) error {
	mu := &t.s.ss.mu
	mu.Lock()
	defer mu.Unlock()
	t.resets = seconds == 0
	return nil
}

// Close ends the server's side of the stream, after what was written. If a Write is waiting,
// it fails, and the stream is reset. The client then has h2LingerFor to end its side. If it
// sends more, or doesn't end, the stream is reset with NO_ERROR.
func (t *h2Tunnel) Close() error {
	s := t.s
	ss := s.ss
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if t.closed {
		return net.ErrClosed
	}
	t.closed = true
	t.readBy.stop()
	t.writeBy.stop()
	switch {
	case t.resets, t.waits:
		ss.proto.ResetStream(s.st, h2.Cancel)
		s.sendErr = net.ErrClosed
	case s.sendErr == nil:
		t.endOutput()
	}
	unread := s.unread()
	s.in.drop()
	if unread || ss.gone || ss.halved || s.st.WasReset() || s.st.PeerEnded() {
		t.end()
	} else {
		t.lingerDue = clock.Ticks().Add(h2LingerFor)
		s.readers.Broadcast()
		s.senders.Broadcast()
		ss.tellRoom()
		s.time()
	}
	ss.wake()
	return nil
}

// end ends a stream that the program has closed, under mu.
func (t *h2Tunnel) end() {
	s := t.s
	t.lingerDue = 0
	if s.inErr == nil {
		s.inErr = net.ErrClosed
	}
	if s.sendErr == nil {
		s.sendErr = net.ErrClosed
	}
	s.leave()
}

// SetDeadline sets the deadlines of Read and Write.
func (t *h2Tunnel) SetDeadline(at time.Time) error {
	return errors.Join(t.SetReadDeadline(at), t.SetWriteDeadline(at))
}

// SetReadDeadline sets when a Read, also one that waits, returns os.ErrDeadlineExceeded. A
// later deadline allows to read on. The zero time means never.
func (t *h2Tunnel) SetReadDeadline(at time.Time) error {
	return t.setDeadline(&t.readBy, at, t.tellReaders)
}

// SetWriteDeadline is SetReadDeadline for Write.
func (t *h2Tunnel) SetWriteDeadline(at time.Time) error {
	return t.setDeadline(&t.writeBy, at, t.tellSenders)
}

func (t *h2Tunnel) setDeadline(d *streamDeadline, at time.Time, tell func()) error {
	mu := &t.s.ss.mu
	mu.Lock()
	defer mu.Unlock()
	if t.closed {
		return net.ErrClosed
	}
	d.set(at, mu, tell)
	return nil
}

func (t *h2Tunnel) tellReaders() { t.s.readers.Broadcast() }

func (t *h2Tunnel) tellSenders() {
	t.s.senders.Broadcast()
	t.s.ss.tellRoom()
}
