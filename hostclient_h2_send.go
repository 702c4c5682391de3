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
