package gale

import (
	"errors"
	"io"
	"net"
	"runtime/debug"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/h2"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/streamconn"
)

// h2Tunnel is the stream of an extended CONNECT that a handler has taken over, as the Stream of
// a connection (RFC 8441 section 5). The request and its context are over: the stream belongs
// to the program, and no timeout of the server applies to it. It counts for MaxStreams until
// Close. Its lock is h2Session.mu.
//
// Bytes that arrive go where they go for other streams: to the reader that waits
// (h2Stream.into), or to h2Stream.in.
type h2Tunnel struct {
	s         *h2Stream
	lingerDue clock.Tick // after Close: when the client must have ended its side, 0 before
}

var _ streamconn.Stream = (*h2Tunnel)(nil)

var errTunnelStatus = errors.New("gale: an extended CONNECT is accepted with a 2xx status: the response has another one")

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
	if s.progress == h2Unsent {
		s.sendTunnelHead(resp)
	}
	t := &h2Tunnel{s: s}
	s.tunnel = t
	ss.tunnels++
	if serves {
		ss.apart++
	}
	s.limits, s.readBy, s.writeDue, s.stalled = requestLimits{}, 0, 0, 0
	s.progress = h2Complete
	s.time()
	ss.wake()
	return streamconn.New(t, ss.nc), nil
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

// Lock locks h2Session.mu.
func (t *h2Tunnel) Lock() { t.s.ss.mu.Lock() }

// Unlock unlocks it. What changes the output has woken the session.
func (t *h2Tunnel) Unlock() { t.s.ss.mu.Unlock() }

// Receive implements streamconn.Stream. After a reset the error is a *StreamResetError, after
// the loss of the connection ErrClientGone, and after Server.Close net.ErrClosed.
func (t *h2Tunnel) Receive(p []byte) (n int, err error) {
	s := t.s
	switch {
	case s.unread():
		n = s.in.Take(p)
	case s.inErr == errH2End:
		return 0, io.EOF
	case s.inErr != nil:
		return 0, s.inErr
	default:
		s.into = p
		s.readers.Wait()
		n = s.got
		s.into, s.got = nil, 0
	}
	if n > 0 && s.st != nil {
		s.consumed(n)
		if s.ss.proto.HasControl() {
			s.ss.takeBuf()
			s.ss.out = s.ss.proto.AppendControl(s.ss.out)
			s.ss.wake()
		}
	}
	return n, nil
}

// SendErr implements streamconn.Stream. If the stream is reset or over, sendErr says so soon.
func (t *h2Tunnel) SendErr() error {
	s := t.s
	if s.sendErr == nil && (s.st.WasReset() || s.st.Ended()) {
		return ErrClientGone
	}
	return s.sendErr
}

// Send implements streamconn.Stream.
func (t *h2Tunnel) Send(p []byte) (n int) {
	s := t.s
	ss := s.ss
	ss.touch(p)
	defer ss.wake()
	for n < len(p) {
		if ss.isFull() {
			ss.wake()
			ss.roomCond().Wait()
			return n
		}
		piece := ss.pieceOf(p[n:])
		m := 0
		ss.roomData(min(len(piece), ss.proto.SendRoom(s.st)))
		ss.out, m = ss.proto.AppendData(ss.out, s.st, piece, false)
		if n += m; m == len(piece) {
			continue
		}
		if t.SendErr() != nil {
			return n
		}
		if s.stall(m > 0); s.sendErr != nil {
			return n
		}
		ss.proto.Queue(s.st)
		ss.wake()
		s.senders.Wait()
		s.stalled = 0
		return n
	}
	return n
}

// EndOutput implements streamconn.Stream.
func (t *h2Tunnel) EndOutput() {
	s := t.s
	s.sendErr = net.ErrClosed
	s.ss.out, _ = s.ss.proto.AppendData(s.ss.out, s.st, nil, true)
	s.ss.wake()
}

// Close implements streamconn.Stream. The client has h2LingerFor to end its side. If it sends
// more, or doesn't end, the stream is reset with NO_ERROR.
func (t *h2Tunnel) Close(reset bool) {
	s := t.s
	ss := s.ss
	switch {
	case reset:
		ss.proto.ResetStream(s.st, h2.Cancel)
		s.sendErr = net.ErrClosed
	case s.sendErr == nil:
		t.EndOutput()
	}
	unread := s.unread()
	s.in.Drop()
	if unread || ss.gone || ss.halved || s.st.WasReset() || s.st.PeerEnded() {
		t.end()
	} else {
		t.lingerDue = clock.Ticks().Add(h2LingerFor)
		t.Wake()
		s.time()
	}
	ss.wake()
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

// Wake implements streamconn.Stream.
func (t *h2Tunnel) Wake() {
	t.s.readers.Broadcast()
	t.s.senders.Broadcast()
	t.s.ss.tellRoom()
}
