package gale

import (
	"errors"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/h2"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// serve calls the handler, or refuses the request, and sends the response.
func (s *h2Stream) serve() {
	ss, ctx := s.ss, s.ctx
	fine := true
	switch {
	case s.answered:
	case s.refusal != nil:
		s.beginServing()
		fine = s.refuse()
	default:
		s.beginServing()
		fine = ss.handle(ctx, &s.outcome)
	}
	s.left = ctx.wrestLate(fine)
	if s.extended && s.isHandedOver() {
		s.finish() // by HijackNow
		return
	}
	of := door.HijackNever
	if s.extended {
		of = door.HijackStream
	}
	resp, h := ss.choose(ctx, of, &s.outcome)
	if resp == nil {
		s.abort(errNotSent)
		s.finish()
		return
	}
	hands := h.Handler != nil && s.accepts(resp)
	streams := resp.hasStream() && !hands
	if ctx.done.Load() != nil && ctx.doneWith(!s.left && streams) {
		s.finish() // the client has reset the stream
		return
	}
	if hands {
		s.handOver(resp)
		s.finish()
		return
	}
	if fine && streams && s.ctx.loan != nil {
		s.ctx.renew(resp)
	}
	if s.send(resp, fine || ctx.timedOut.Load() != nil) {
		s.finish()
	}
}

// beginServing adds the trailer section to the request, if the body was collected, and
// lets the context use the stream.
func (s *h2Stream) beginServing() {
	ctx := s.ctx
	if !s.streamed {
		s.giveAllTrailers()
	}
	ctx.mu.Lock()
	waits := ctx.reach == paused
	ctx.mu.Unlock()
	if waits {
		ctx.resumeDone()
	} else {
		s.reach(running)
	}
}

// abort resets the stream, since its response is incomplete because of err. gone says that nothing
// could be sent any more even before.
func (s *h2Stream) abort(err error) (gone bool) {
	s.ss.mu.Lock()
	defer s.ss.mu.Unlock()
	s.ss.proto.ResetStream(s.st, h2.InternalError)
	if gone = s.sendErr != nil; !gone {
		s.sendErr = err
	}
	return gone
}

// fault resets the stream because of err. It logs err as for a connection of HTTP/1.1,
// unless the client has gone or took too long.
func (s *h2Stream) fault(err error) {
	if gone := s.abort(err); !gone {
		s.ss.s.logError(s.ss.nc, "serving", err)
	}
}

// refuse makes the answer to a request that could not be read or was refused.
func (s *h2Stream) refuse() (returned bool) {
	ss, err := s.ss, s.refusal
	if re := (*RequestError)(nil); errors.As(err, &re) {
		re.RemoteAddr = ss.nc.RemoteAddr()
	}
	if _, decided := err.(*statusError); !decided {
		ss.s.logError(ss.nc, "serving", err)
	}
	return ss.handleRefused(s.ctx, err, &s.outcome)
}

// frame decides what the head says about the body: its length, and whether there is one.
func (s *h2Stream) frame(resp *Response) {
	h := &resp.Header
	h.s.Implied |= s.ss.l.fixed.implied
	status := resp.sendableStatus()
	if status < 200 { // there is no 101 in HTTP/2 (RFC 9113 section 8.6)
		status = s.ss.refuseInterim(resp)
	}
	none := status == StatusResetContent
	switch {
	case bodyless(status), s.isHead:
		resp.SkipBody = true
	case resp.SkipBody:
		none = true // see h1Session.frame
	}
	if n := len(resp.bodyBytes()); !resp.hasStream() && (n > 0 || !resp.SkipBody) {
		h.s.ContentLength = int64(n)
	}
	if h.s.ContentLength < 0 && !resp.SkipBody {
		h.s.ContentLength = msg.LenChunked
	}
	if none {
		h.s.ContentLength = 0
	}
}

// sendHead sends the head of the final response, under mu. end says that nothing follows.
func (s *h2Stream) sendHead(resp *Response, end bool) {
	ss := s.ss
	by := head.Sender{Server: ss.l.fixed.name, Date: clock.Date(), ZeroLength: true}
	ss.out = ss.proto.AppendHead(ss.out, s.st, &resp.Header.s, by, end)
	s.progress, s.accepted = h2Begun, resp.StatusCode()/100 == 2
}

// completed notes that the whole response was sent, unless the stream has broken, under mu.
func (s *h2Stream) completed() {
	if s.sendErr == nil && !s.st.WasReset() {
		s.progress = h2Complete
	}
}

// boundWrite sets when the next write must be done, under mu. As for HTTP/1.1,
// Server.WriteTimeout limits each write, not the sum of what a handler flushes.
func (s *h2Stream) boundWrite() {
	if d := s.limits.writeTimeout; d > 0 {
		s.writeDue = clock.Ticks().Add(d)
	}
}

// send sends the response, or what is left of one that was flushed. It returns true if
// all of it was sent or the rest can't be sent. Otherwise the session sends the rest.
// stays is false for the response to a panic: that says "Connection: close" for HTTP/1.1,
// but here it must not end the connection, which has other streams.
func (s *h2Stream) send(resp *Response, stays bool) (over bool) {
	ss := s.ss
	if !s.ctx.flush.begun {
		s.frame(resp)
		s.sizeOut(resp)
	}
	if stays && resp.Header.mayClose() && resp.ConnectionClose() {
		ss.stopLater()
	}
	if resp.hasStream() {
		s.shared = true
		if err := s.sendStream(resp); err != nil {
			s.fault(err)
		}
		return true
	}
	s.closeIn()
	trailers := s.sendsTrailers(resp)
	body := resp.bodyBytes()
	if s.outBody.skip {
		body = nil
	}
	if err := s.outBody.misses(body); err != nil {
		s.fault(err)
		return true
	}
	ss.touch(body)
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if s.progress == h2Unsent {
		end := len(body) == 0 && !trailers
		if s.sendHead(resp, end); end {
			s.completed()
			return true
		}
	}
	s.boundWrite()
	s.rest, s.resp = body, resp
	if s.sendRest() {
		return true
	}
	s.keepUnsent()
	s.step, s.turn = h2Send, h2Rests
	ss.proto.Queue(s.st)
	s.time()
	return false
}

// sendsTrailers reports whether a trailer section ends the response. A response without
// content has none (RFC 9110 sections 15.3.5 and 15.4.5).
func (s *h2Stream) sendsTrailers(resp *Response) bool {
	return !s.outBody.skip && resp.Header.s.Trailers.ToSend()
}

// closeIn ends the reading of a streamed body, on all goroutines.
func (s *h2Stream) closeIn() {
	if s.streamed {
		s.CloseBody(s.ctx, false)
	}
}
