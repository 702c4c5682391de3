package gale

import (
	"errors"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/h2"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/pool"
)

// h2Streams holds streams that have ended and that no other code can still refer to.
var h2Streams = pool.Pool{New: func() any { return new(h2Stream) }}

// open begins a request, under mu.
func (ss *h2Session) open(ev *h2.Event, now clock.Tick) {
	lender := ss.l.fixed.lender
	if lender != nil && !lender.Sample() {
		lender = nil
	}
	ctx := (*RequestCtx)(nil)
	if lender == nil {
		ctx = acquireCtx()
	} else {
		ctx = newCtx() // accept lends it
	}
	head := &ctx.Request.Header.s
	refusal := error(nil)
	if err := ss.proto.DecodeRequest(&head.RequestHead); err != nil {
		if refusal = ss.s.h2Refusal(err); refusal == nil {
			ctx.reset()
			releaseCtx(ctx)
			return
		}
	}
	s := h2Streams.Get().(*h2Stream)
	s.ss, s.ctx, s.st, s.refusal, s.lender = ss, ctx, ev.Stream, refusal, lender
	s.body.s = s
	s.readers.L, s.senders.L = &ss.mu, &ss.mu
	s.limits = ss.l.fixed.each
	s.isHead = head.MethodID == msg.MethodHead
	if p := ev.Stream.Protocol(); p != nil && refusal == nil {
		s.extended = true
		ctx.Request.protocol = connectProtocol(p)
	}
	if refusal != nil {
		head.MethodID = msg.MethodOther // as for HTTP/1.1, hooks don't see the method
	}
	s.came, s.lastIn = now, now
	s.boundRead()
	ev.Stream.Owner = s
	ss.num++
	ss.idleDue = 0
	if ss.num >= ss.l.fixed.requests || ss.s.DisableKeepalive {
		ss.stop()
	}
	ss.beginRequest(ctx, s, ss.num)
	if !ss.l.fixed.lazyTime {
		ctx.tick = now
	}
	if ev.End {
		s.inErr = errH2End
	}
	ss.push(s)
}

// h2Refusal returns the error for the answer to a request that could not be decoded
// because of err. It is nil if the request gets no answer. refuse adds the client's
// address.
func (s *Server) h2Refusal(err error) error {
	he := (*h2.Error)(nil)
	if !errors.As(err, &he) || he.Status == 0 {
		return nil
	}
	if he.Status == StatusRequestHeaderFieldsTooLarge {
		return &ErrSmallBuffer{err: &RequestError{Err: s.headLimit(err == h2.ErrTooManyFields, true)}}
	}
	return &RequestError{Err: &statusError{he.Status, StatusMessage(he.Status)}}
}

// accept decides about a request by its head: limits, hooks, expectations. It returns
// true if the runner goes on with s.step, false if the session collects the body first.
func (s *h2Stream) accept() bool {
	ss, ctx := s.ss, s.ctx
	srv, head := ss.s, &ctx.Request.Header.s
	if s.lender != nil {
		s.lender.lend(ctx, ss.nc.RemoteAddr(), ctx.ID())
	}
	if s.refusal == nil {
		if srv.HeaderReceived != nil {
			s.override(srv.HeaderReceived(&ctx.Request.Header), false)
		}
		s.answered = srv.RequestStarted != nil && ss.start(ctx, s, &s.outcome)
		if !s.answered {
			s.judge()
		}
	}
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if s.answered {
		s.step = h2Handle // without a look at the request, which a late hook may be changing
		return true
	}
	if s.sendErr != nil {
		s.step = h2Finish // the client has left while the hooks ran
		return true
	}
	empty := head.ContentLength == msg.LenUnknown || head.ContentLength == 0 && s.inErr != nil
	if s.refusal != nil || empty {
		s.step = h2Handle
		return true
	}
	head.Trailers.Open = head.ContentLength == msg.LenChunked
	if s.limits.stream {
		s.openBody(head.ContentLength)
		if s.limits.bounded {
			s.limit = int64(s.limits.maxBody)
		}
		s.step = h2Handle
		return true
	}
	if s.owes100 && s.inErr == nil && !s.unread() {
		ss.out = ss.proto.AppendInterim(ss.out, s.st, StatusContinue, nil)
	}
	s.owes100 = false
	return s.collect()
}

// override applies the result of Server.HeaderReceived or Server.RequestStarted to the request.
func (s *h2Stream) override(c RequestConfig, bounds bool) *requestLimits {
	limits := s.limits
	limits.override(c, bounds)
	s.ss.mu.Lock()
	defer s.ss.mu.Unlock()
	s.limits = limits
	s.boundRead()
	return &s.limits
}

// protocolWebSocket is the :protocol of WebSockets (RFC 8441 section 5).
const protocolWebSocket = "websocket"

// connectProtocol returns the text of a :protocol.
func connectProtocol(p []byte) string {
	if bytesconv.EqualFoldString(p, protocolWebSocket) {
		return protocolWebSocket
	}
	return string(p)
}

// errOtherProtocol refuses an extended CONNECT for another protocol (RFC 9220 section 3
// recommends 501).
var errOtherProtocol = &statusError{StatusNotImplemented, ""}

// boundRead sets when the whole request must have arrived, under mu.
func (s *h2Stream) boundRead() {
	s.readBy = 0
	if d := s.limits.readTimeout; d > 0 {
		s.readBy = s.came.Add(d)
	}
}

// judge refuses a request because of its head, or asks the program whether it wants the
// body.
func (s *h2Stream) judge() {
	if s.extended && s.ctx.Request.protocol != protocolWebSocket {
		s.refusal = errOtherProtocol
		return
	}
	v, refusal := s.ss.judge(s.ctx, &s.limits, &s.outcome)
	s.refusal, s.answered, s.owes100 = refusal, v == answered, v == awaited
}
