package gale

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// A stream is the exchange of its request, see exchange. After the end of the stream, the
// methods that a context still calls fail or do nothing.
var _ exchange = (*h2Stream)(nil)

// Conn returns the connection, which the stream shares with others.
func (s *h2Stream) Conn() net.Conn { return s.ss.nc }

// Lend does nothing: deadlines of the connection affect all streams.
func (s *h2Stream) Lend() {}

// LocalAddr and RemoteAddr are those of the connection.
func (s *h2Stream) LocalAddr() net.Addr  { return s.ss.nc.LocalAddr() }
func (s *h2Stream) RemoteAddr() net.Addr { return s.ss.nc.RemoteAddr() }

// Opened returns the number of the connection and when it was accepted.
func (s *h2Stream) Opened() (id uint64, at time.Time) { return s.ss.id, s.ss.opened.Time() }

// Context returns the context of the connection that the hooks have made, or nil.
func (s *h2Stream) Context() context.Context { return s.ss.parent() }

// Watch makes the session tell d of a reset of the stream, and of the end of the
// connection. If the client has ended its side before, it tells d now.
func (s *h2Stream) Watch(d door.Done) (stop func(), over error) {
	ss := s.ss
	ss.mu.Lock()
	defer ss.unlock()
	if s.sendErr != nil {
		return nil, s.sendErr
	}
	if ss.over() {
		over = context.Canceled
	}
	s.done = d
	if ss.halved {
		s.tell(ErrClientGone, false)
	}
	return func() {
		ss.mu.Lock()
		s.done = nil
		ss.mu.Unlock()
	}, over
}

// SetReadDeadline sets when the request's body must have arrived. It affects nothing else
// on the connection.
func (s *h2Stream) SetReadDeadline(t time.Time) error {
	s.ss.mu.Lock()
	s.readBy = clock.TickOf(t)
	s.time()
	s.ss.mu.Unlock()
	s.ss.wake()
	return nil
}

// SetWriteDeadline sets when the response must be sent. It also affects a send that
// already waits.
func (s *h2Stream) SetWriteDeadline(t time.Time) error {
	defer s.ss.wake()
	s.ss.mu.Lock()
	defer s.ss.mu.Unlock()
	s.limits.writeTimeout, s.limits.writeUntil = 0, clock.TickOf(t)
	s.writeDue = s.limits.writeUntil
	s.timeSend()
	s.time()
	return nil
}

// stallLimit is for door.Serving.WriteStall.
func (s *h2Stream) stallLimit() time.Duration { return s.limits.writeStall }

// LimitBody limits how much of a streamed body can be read, in bytes.
func (s *h2Stream) LimitBody(_ *RequestCtx, n int64) {
	s.ss.mu.Lock()
	s.limit = max(n, 0)
	s.ss.mu.Unlock()
}

// CloseBody makes reads of a streamed body fail, unless all of it was read.
func (s *h2Stream) CloseBody(*RequestCtx, bool) {
	s.ss.mu.Lock()
	defer s.ss.mu.Unlock()
	s.closeBody()
}

// closeBody is CloseBody under mu.
func (s *h2Stream) closeBody() {
	if s.streamed && !(s.inErr == errH2End && !s.unread()) {
		s.inErr = errStreamClosed
		s.in.Drop()
		s.time()
	}
	s.readers.Broadcast()
}

// Trailers does nothing: the read that finds the end of the body gives them to the
// context.
func (s *h2Stream) Trailers(*msg.Fields) {}

// Flush sends the body that the response has so far. The first call sends the head before
// it.
func (s *h2Stream) Flush(ctx *RequestCtx) error {
	resp := &ctx.Response
	if !ctx.flush.begun {
		if err := s.beginFlush(resp); err != nil {
			return err
		}
		ctx.flush.begun = true
	}
	err := error(nil)
	if body := resp.bodyBytes(); !s.outBody.skip && s.outBody.Exceeds(body) {
		err = errBodyStreamTooLong // see bodyOut.writePart
		s.fault(err)
	} else {
		_, err = s.outBody.Write(body)
	}
	resp.ResetBody()
	s.ss.wake()
	return err
}

// beginFlush sends the head of a response whose body is still to come.
func (s *h2Stream) beginFlush(resp *Response) error {
	body := resp.swapBody(nil) // its length is not that of the response
	if resp.Header.s.ContentLength == 0 {
		resp.Header.s.ContentLength = -1
	}
	resp.bodyStream = nothing{}
	s.frame(resp)
	resp.bodyStream = nil
	resp.swapBody(body)
	s.sizeOut(resp)
	s.ss.mu.Lock()
	defer s.ss.mu.Unlock()
	if s.sendErr != nil {
		return s.sendErr
	}
	s.askFor(resp, s.streamed)
	s.sendHead(resp, false)
	return nil
}

// SendInterim sends an informational response.
func (s *h2Stream) SendInterim(_ *RequestCtx, statusCode int, h *ResponseHeader) error {
	ss := s.ss
	ss.mu.Lock()
	defer ss.mu.Unlock()
	s.boundWrite()
	for s.sendErr == nil && ss.isFull() {
		ss.wake()
		s.waitToSend(ss.roomCond())
	}
	if s.sendErr != nil {
		return s.sendErr
	}
	if statusCode == StatusContinue {
		s.owes100 = false
	}
	var fields *head.Response
	if h != nil {
		fields = &h.s
	}
	ss.out = ss.proto.AppendInterim(ss.out, s.st, statusCode, fields)
	ss.wake()
	return nil
}

var errH2Hijack = fmt.Errorf("gale: a stream of HTTP/2 can't be hijacked: %w", errors.ErrUnsupported)

// Interrupt makes the stream's writes fail. The response must not look complete.
func (s *h2Stream) Interrupt() {
	s.ss.mu.Lock()
	if s.sendErr == nil {
		s.sendErr = ErrTimeout
	}
	s.senders.Broadcast()
	s.ss.tellRoom()
	s.ss.mu.Unlock()
	s.outcome.abort()
}

func (s *h2Stream) listened() *listening { return s.ss.l }

// Hands says that only the stream of an extended CONNECT can be taken over.
func (s *h2Stream) Hands() door.Hands {
	if s.extended {
		return door.HandsStream
	}
	return door.HandsConn
}

// HijackNow sends the head of the response to an extended CONNECT, and returns the stream
// as a connection. It fails for other requests, since there are other streams on the
// connection.
func (s *h2Stream) HijackNow(ctx *RequestCtx) (net.Conn, error) {
	if !s.extended {
		return nil, errH2Hijack
	}
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	if !ctx.reaches() {
		return nil, ErrNilConnection
	}
	if !s.accepts(&ctx.Response) {
		return nil, errTunnelStatus
	}
	nc, err := s.openTunnel(&ctx.Response, false)
	if err != nil {
		return nil, err
	}
	ctx.reach, ctx.sends, ctx.flush.begun = over, false, true
	ctx.detachDone()
	if s.ss.over() {
		ctx.done.Load().hurry()
	}
	return nc, nil
}
