package gale

import (
	"bufio"
	"io"
	"math"

	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/msg"
)

// h2Outgoing is a request that is about to be sent over HTTP/2. Its head is in the header of
// the request.
type h2Outgoing struct {
	body   []byte
	stream io.Reader    // the body, or nil
	writer StreamWriter // the body, or nil
	length int64        // of a stream, or msg.LenChunked
	trails bool         // a trailer section follows the body
	ready  bool         // the request was prepared
}

func (o *h2Outgoing) streams() bool { return o.stream != nil || o.writer != nil }

// isEmpty reports whether nothing follows the head.
func (o *h2Outgoing) isEmpty() bool { return len(o.body) == 0 && !o.streams() && !o.trails }

// outgoing prepares the header of req for HTTP/2. It is what appendRequest does for HTTP/1.1.
func (req *Request) outgoing() (o h2Outgoing, err error) {
	if err := req.prepareToSend(); err != nil {
		return o, err
	}
	h := &req.Header
	if req.hasStream() {
		req.useHandle()
		o.stream, o.writer = req.bodyStream, req.streamWriter
		o.length = req.streamLength(h.s.ContentLength)
		h.frame(o.length)
		o.trails = h.s.Trailers.ToSend()
		return o, nil
	}
	o.body = req.bodyBytes()
	switch {
	case req.readErr != nil && req.broken() != nil:
		return o, req.heard()
	case len(o.body) == 0 && req.postArgs.Len() > 0:
		o.body = req.postArgs.QueryString()
	}
	expected := len(o.body) > 0 || !h.IsGet() && !h.IsHead()
	switch {
	case expected && h.s.Seen()&trailerBit != 0 && h.s.Trailers.ToSend():
		if len(o.body) > 0 && len(h.ContentType()) == 0 && !h.s.NoDefaultType {
			h.SetContentType("application/octet-stream")
		}
		h.SetContentLength(msg.LenChunked)
		o.trails = true
	case expected:
		h.SetContentLength(len(o.body))
	case h.s.ContentLength != 0: // there is no body, whatever length was set
		h.Del(HeaderContentLength)
		h.Del(HeaderTransferEncoding)
	}
	return o, nil
}

// beginBody begins to send a body in memory, under mu.
func (s *h2Call) beginBody(body []byte) {
	s.rest = body
	if !s.sendRest() {
		s.hc.proto.Queue(s.st)
	}
}

// beginStream begins to send a body stream, under mu. The request has it no more.
func (s *h2Call) beginStream(req *Request, out *h2Outgoing) {
	s.sender = newH2Sender(s, req, out)
	s.trails = s.trails && s.sender.section == nil
	req.bodyStream, req.streamWriter = nil, nil
	go s.sender.run()
}

// sendOn is called when there is room for more of the body, and it is the turn of the stream,
// under mu. Other goroutines send the bodies that are streams, and the bytes of tunnels: they queue
// the stream again if they must.
func (s *h2Call) sendOn() {
	switch {
	case s.sender != nil:
		s.hc.proto.Unqueue(s.st)
		s.sender.poke()
	case s.tunnel != nil:
		s.hc.proto.Unqueue(s.st)
		s.tunnel.changed.Broadcast()
	default:
		s.sendRest() // at its end the stream leaves the schedule
	}
}

// appendData appends a part of a body, under mu, and returns how much of it.
func (s *h2Call) appendData(b []byte, end bool) (n int) {
	hc := s.hc
	hc.out, n = hc.proto.AppendData(hc.out, s.st, b, end)
	return n
}

// sendRest sends as much of a body in memory as there is room for, under mu. It returns true
// if all of it was sent.
func (s *h2Call) sendRest() bool {
	for len(s.hc.out) < maxH2Sent {
		part := s.rest[:min(len(s.rest), maxH2Part)]
		last := len(part) == len(s.rest)
		n := s.appendData(part, last && !s.trails)
		s.rest = s.rest[n:]
		if n < len(part) {
			return false
		}
		if last {
			s.endRequest()
			return true
		}
	}
	return false
}

// endRequest sends the trailer section, if there is one, and notes that the request was sent,
// under mu.
func (s *h2Call) endRequest() {
	hc := s.hc
	s.rest = nil
	switch {
	case s.trails && s.req != nil:
		hc.out = hc.proto.AppendTrailers(hc.out, s.st, &s.req.Header.s.Trailers)
	case s.trails:
		hc.out = hc.proto.AppendTrailers(hc.out, s.st, &s.trailersOut)
	case !s.st.Ended():
		hc.out, _ = hc.proto.AppendData(hc.out, s.st, nil, true)
	}
	s.allSent()
}

// h2Sender sends a body stream over HTTP/2.
type h2Sender struct {
	bodySender
	head.Promised
	s    *h2Call
	wake chan struct{}
}

func newH2Sender(s *h2Call, req *Request, out *h2Outgoing) *h2Sender {
	o := &h2Sender{bodySender{stream: out.stream, writer: out.writer}, head.Promised{Left: out.length}, s, make(chan struct{}, 1)}
	o.findSection(req, out.length, true)
	return o
}

// poke makes the sender look again.
func (o *h2Sender) poke() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// run sends the body.
func (o *h2Sender) run() { o.send(o) }

// settle ends the request, or the exchange after an error.
func (o *h2Sender) settle(err error) {
	s := o.s
	hc := s.hc
	trails := o.section != nil
	var section head.Trailers
	if trails && err == nil {
		hc.mu.Lock()
		if s.req != nil {
			o.copySection(s.req)
		}
		hc.mu.Unlock()
		section = sectionOf(o.section)
	}
	hc.mu.Lock()
	o.dropSection()
	switch {
	case s.st == nil:
	case err != nil:
		s.fail(err)
		hc.maybeEnd()
	default:
		if trails { // instead of what the request declares
			s.req, s.trailersOut, s.trails = nil, section, section.ToSend()
		}
		s.endRequest()
		hc.maybeEnd()
	}
	mine := hc.claim()
	hc.wakeAll()
	hc.unlock()
	if mine {
		hc.flush(h2Stays)
	}
}

// copy writes the stream to o.
func (o *h2Sender) copy() error {
	if o.writer != nil {
		return callStreamWriter(o.writer, o, bufio.NewWriter(nil))
	}
	var err error
	want := o.Left
	if wt, ok := bodyWriterTo(o.stream); ok {
		_, err = writeTo(wt, o)
	} else {
		limit := int64(math.MaxInt64)
		if want >= 0 {
			limit = want
		}
		_, err = copyStream(o, o.stream, limit)
	}
	switch {
	case o.Exceeded():
		return nil
	case err == nil && o.Left > 0:
		return errBodyStreamShort(want-o.Left, want)
	case err == nil && want >= 0 && o.section != nil:
		return readEnd(o.stream)
	}
	return err
}

// Write sends p, and waits while the server gives no room.
func (o *h2Sender) Write(p []byte) (int, error) {
	return o.Pass(p, o.sendData, errBodyStreamTooLong)
}

func (o *h2Sender) sendData(p []byte) (n int, err error) {
	s := o.s
	hc := s.hc
	hc.mu.Lock()
	for n < len(p) {
		if s.st == nil {
			hc.mu.Unlock()
			return n, errSendStopped
		}
		if len(hc.out) < maxH2Sent {
			part := p[n:min(len(p), n+maxH2Part)]
			m := s.appendData(part, false)
			if n += m; m == len(part) {
				continue
			}
		}
		hc.proto.Queue(s.st)
		mine := hc.claim()
		hc.mu.Unlock()
		if mine {
			hc.flush(h2Stays)
		}
		<-o.wake
		hc.mu.Lock()
	}
	mine := hc.claim()
	hc.mu.Unlock()
	if mine {
		hc.flush(h2Stays)
	}
	return n, nil
}
