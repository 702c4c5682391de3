package gale

import (
	"bytes"
	"fmt"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/h2"
	"github.com/galehttp/gale/internal/msg"
)

// chooseProto decides which protocol can carry req, as far as that is known. If it may be HTTP/2,
// it prepares out.
func (c *HostClient) chooseProto(k *call, req *Request, rules *readRules, out *h2Outgoing) error {
	p := c.speaks()
	k.http1 = k.http1 || req.protocol == "" && (rules.tunnel || req.Header.s.Has(msg.Upgrade))
	switch {
	case p == protoHTTP1:
		return nil
	case k.http1 && c.HTTP2 == HTTP2Only:
		return errH2Upgrade
	case k.http1:
		return nil
	}
	return req.prepareHTTP2(k, out)
}

// prepareHTTP2 prepares req and out for HTTP/2, unless that was done.
func (req *Request) prepareHTTP2(k *call, out *h2Outgoing) (err error) {
	switch {
	case out.ready:
		return nil
	case k.kind == callStream:
		err = req.prepareHeader()
	default:
		*out, err = req.outgoing()
	}
	if err != nil {
		req.dropStream(err)
		return err
	}
	out.ready = true
	return nil
}

// carryHTTP2 is carry over a connection of HTTP/2, also for OpenStream.
func (c *HostClient) carryHTTP2(hc *sharedConn, k *call, req *Request, resp *Response, rules *readRules, out *h2Outgoing) (carryOutcome, error) {
	defer c.passOn(k) // on each way out before the stream is open
	if err := req.prepareHTTP2(k, out); err != nil {
		return carryFailed, err
	}
	k.upstream = hc.upstream
	if k.kind == callStream {
		rules.refuse = rules.stream
		rules.stream, rules.skip, resp.SkipBody = true, false, false
		if err := hc.awaitSettings(k); err != nil {
			return carryFailed, err
		}
	}
	s := h2Calls.Get().(*h2Call)
	s.c = c
	expects := k.kind != callStream && c.awaitsContinue(req)
	got, err := s.begin(k, hc, req, resp, rules, out, expects)
	if got != carryDone {
		c.passOn(k)
		s.sender = nil
		s.reader = nil
		s.release()
		switch {
		case got == carryRetry: // counts as an attempt, so that their number is limited
			k.sent, k.reused, k.verdict, k.unread = false, false, verdictUnprocessed, out.streams()
		case got == carryFailed && out.streams():
			_ = req.closeStream(err)
		}
		return got, err
	}
	returned := false
	defer func() {
		if !returned { // a user's function panicked, or ended the goroutine
			s.giveUp(errBodyEnded)
			s.interruptSender()
		}
	}()
	if err = s.run(k, req, rules, out, expects); err != nil {
		s.giveUp(err)
	}
	resp.ParseNetConn(hc.Conn()) // which may be the user's
	bits := s.bits.Load()
	if bits&h2Done != 0 && s.err != nil && (s.reader == nil || bits&h2HeadCame == 0 || err != nil) {
		returned = true
		err = c.endFailed(k, s, req, out)
		return carryOf(err), err
	}
	if out.streams() && s.sender == nil { // a final response came instead of a 100
		_ = req.closeStream(nil)
	}
	if s.reader != nil {
		if k.kind == callStream && resp.StatusCode()/100 == 2 {
			k.stream = s.toTunnel()
		} else {
			s.stream(k, resp)
		}
		returned = true
		return carryDone, nil
	}
	s.interruptSender()
	returned = true
	s.release()
	return carryDone, nil
}

// endFailed ends an exchange without a response, and returns its error.
func (c *HostClient) endFailed(k *call, s *h2Call, req *Request, out *h2Outgoing) error {
	s.interruptSender()                         // it may use the header of req
	k.unread = out.streams() && s.sender == nil // the request has the stream still
	err := k.failedH2(s, req)
	s.reader = nil
	s.release()
	return err
}

func (s *h2Call) interruptSender() {
	if s.sender != nil {
		s.sender.interrupt()
	}
}

// begin opens a stream and sends the request, or as much of it as the server gives room for.
// Its outcome is carryDone if the stream is open; otherwise see open.
func (s *h2Call) begin(k *call, hc *sharedConn, req *Request, resp *Response, rules *readRules, out *h2Outgoing, expects bool) (carryOutcome, error) {
	s.hc = hc
	s.listen(k, resp, rules, out, expects)
	if req.lendAuthorization() {
		defer req.takeAuthorization()
	}
	hc.mu.Lock()
	if got, err := s.open(k, req, out); got != carryDone {
		hc.setRoom()
		hc.mu.Unlock()
		return got, err
	}
	s.req, s.resp, s.trails = req, resp, out.trails
	if req.ConnectionClose() {
		hc.advance(sharedRetired)
	}
	switch {
	case s.opens, out.isEmpty():
		s.allSent()
	case expects:
	case out.streams():
		s.beginStream(req, out)
	default:
		s.beginBody(out.body)
	}
	hc.upkeep.wakeUp()
	hc.setRoom()
	mine := hc.claim()
	hc.mu.Unlock()
	s.c.passOn(k) // before the call writes, which may take long
	if mine {
		how := h2Tries
		if k.ctx == nil && k.deadline == 0 && !s.timed && s.c.WriteTimeout <= 0 && !expects {
			how = h2Waits // nothing can end the call while it waits
		}
		hc.flush(how)
	}
	return carryDone, nil
}

// listen sets what s records of the exchange, and for what the call is woken.
func (s *h2Call) listen(k *call, resp *Response, rules *readRules, out *h2Outgoing, expects bool) {
	c := s.c
	s.limit, s.skip, s.tells, s.refuse = rules.limit, rules.skip, k.ctx != nil, rules.refuse
	s.timed = c.ReadTimeout > 0 || c.ResponseHeaderTimeout > 0
	s.wants = h2Done | h2Whole
	if s.timed && (len(out.body) > 0 || out.streams()) {
		s.wants |= h2AllSent
	}
	if c.WriteTimeout > 0 {
		s.began = clock.Ticks()
	}
	if rules.stream {
		s.reader = &h2Reader{s: s, call: *k, sink: &resp.Header}
		s.wants |= h2HeadCame
	}
	if s.tells {
		s.wants |= h2Interim
	}
	if c.Trace != nil {
		s.wants |= h2HeadCame | h2AllSent
	}
	if expects {
		s.wants |= h2HeadCame | h2Continue
	}
}

// open opens the stream with the head of req, under mu. Its outcome is carryDone; carryFull;
// carryFailed if the request can't be sent; or carryRetry if the connection has never taken a
// stream, and never will.
func (s *h2Call) open(k *call, req *Request, out *h2Outgoing) (carryOutcome, error) {
	hc := s.hc
	if !hc.takesCalls() {
		if hc.proto.Last() == 0 {
			return carryRetry, hc.lossOf(hc.cause)
		}
		return carryFull, nil
	}
	s.opens = k.kind == callStream
	from := hc.taken + uint64(len(hc.out))
	var err error
	switch {
	case !s.opens:
		takes := k.kind == callTrailers && !req.Header.s.Has(msg.Te)
		if takes {
			req.Header.Set(HeaderTE, "trailers")
		}
		hc.out, s.st, err = hc.proto.AppendRequest(hc.out, &req.Header.s, hc.scheme, out.isEmpty())
		if takes {
			req.Header.Del(HeaderTE)
		}
	case !hc.proto.PeerConnects():
		return carryFailed, ErrNoExtendedConnect
	default:
		hc.out, s.st, err = hc.proto.AppendConnect(hc.out, &req.Header.s, hc.scheme, req.protocol)
	}
	switch err {
	case nil:
		s.from = from
		s.st.Owner = s
		return carryDone, nil
	case h2.ErrStreamLimit, h2.ErrNoMoreStreams:
		return carryFull, nil
	}
	return carryFailed, fmt.Errorf("gale: the request can't be sent over HTTP/2: %w", err)
}

// run waits for the response: its end, or its head if it is streamed.
func (s *h2Call) run(k *call, req *Request, rules *readRules, out *h2Outgoing, expects bool) error {
	if expects {
		if err := s.awaitContinue(k, req, out); err != nil {
			return err
		}
	}
	t := s.c.Trace
	if t == nil && !rules.stream && !s.tells {
		_, err := s.await(k, h2Done)
		return err
	}
	streams, wrote, first := rules.stream, t == nil, t == nil
	for {
		want := h2Done
		if streams || !first {
			want |= h2HeadCame
		}
		if !wrote {
			want |= h2AllSent
		}
		if s.tells {
			want |= h2Interim
		}
		bits, err := s.await(k, want)
		if bits&h2Interim != 0 {
			s.takeInterims(k)
		}
		if !wrote && bits&want != 0 {
			wrote = true
			if bits&(h2AllSent|h2HeadCame) == 0 && bits&h2Done != 0 && s.err != nil {
				t.wrote(req, s.err)
			} else if bits&(h2AllSent|h2HeadCame|h2Done) != 0 {
				t.wrote(req, nil)
			} else {
				wrote = false
			}
		}
		if !first && bits&h2HeadCame != 0 {
			first = true
			t.firstByte(req)
		}
		switch {
		case err != nil, bits&h2Done != 0:
			return err
		case streams && bits&h2HeadCame != 0:
			if s.reader != nil {
				return nil
			}
			streams = false // a response without a body
		}
	}
}

// awaitContinue waits until the server wants the body, at most for ExpectContinueTimeout, and
// begins to send it. If a final response comes instead, the body isn't sent, unless the server may
// read it after that: see readsOn, and the response may have come together with the 100.
func (s *h2Call) awaitContinue(k *call, req *Request, out *h2Outgoing) error {
	hc := s.hc
	wait := s.c.ExpectContinueTimeout
	if wait == 0 {
		wait = DefaultExpectContinueTimeout
	}
	var bits uint32
	var err error
	s.continueDue = clock.Ticks().Add(wait)
	for bits&(h2Continue|h2HeadCame|h2Done) == 0 && err == nil {
		if bits, err = s.await(k, h2Continue|h2HeadCame|h2Done|h2Interim); bits&h2Interim != 0 {
			s.takeInterims(k)
		}
	}
	s.continueDue = 0
	if err == ErrTimeout && k.mustEnd() == nil {
		err = nil
	}
	if err != nil {
		return err
	}
	if s.c.WriteTimeout > 0 {
		s.began = clock.Ticks()
	}
	hc.mu.Lock()
	switch {
	case s.st == nil:
	case s.bits.Load()&(h2HeadCame|h2Continue) == h2HeadCame && !s.readsOn():
		s.answered = true
		s.allSent()
	case out.streams():
		s.beginStream(req, out)
	default:
		s.beginBody(out.body)
	}
	mine := hc.claim()
	hc.mu.Unlock()
	if mine {
		hc.flush(h2Tries)
	}
	return nil
}

// readsOn is clientConn.readsOn for HTTP/2, under mu.
func (s *h2Call) readsOn() bool {
	return s.resp != nil && s.resp.Header.s.Status/100 == 2 && s.reader != nil && s.reader.err == nil
}

// stream makes the body of a response a stream. The request and the response belong to the
// caller from now on, so what is still needed of them is copied.
func (s *h2Call) stream(k *call, resp *Response) {
	r := s.reader
	hc := s.hc
	hc.mu.Lock()
	r.call = *k
	open := s.st != nil
	if open && s.trails && s.req != nil {
		s.req.Header.s.Trailers.CopyTo(&s.trailersOut)
	}
	if open && s.sender != nil && s.req != nil {
		s.sender.copySection(s.req)
	}
	s.req, s.resp = nil, nil
	s.rest = bytes.Clone(s.rest)
	s.tells = false
	hc.mu.Unlock()
	if k.asks(door.WholeKey{}) && r.whole(resp) {
		s.interruptSender()
		return
	}
	if open {
		r.watch(k.ctx)
	}
	resp.bodyStream = r
}
