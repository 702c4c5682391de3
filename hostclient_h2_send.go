package gale

import (
	"bufio"
	"errors"
	"io"
	"math"
	"net"
	"os"
	"sync/atomic"

	"github.com/galehttp/gale/internal/door"
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
}

func (o *h2Outgoing) streams() bool { return o.stream != nil || o.writer != nil }

// outgoing prepares the header of req for HTTP/2. It is what appendRequest does for HTTP/1.1.
func (req *Request) outgoing() (o h2Outgoing, err error) {
	if err := req.prepareHeader(); err != nil {
		return o, err
	}
	h := &req.Header
	ownForm := req.form != nil && !req.formRaw
	if req.hasStream() && !ownForm {
		o.stream, o.writer = req.bodyStream, req.streamWriter
		o.length = req.streamLength(h.s.ContentLength)
		h.frame(o.length)
		o.trails = h.s.Trailers.ToSend()
		return o, nil
	}
	o.body = req.bodyBytes()
	switch {
	case ownForm:
		if o.body, err = req.marshalForm(); err != nil {
			return o, err
		}
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

// h2Sender sends a body stream, on a goroutine of its own. It owns the stream, which the
// request has no more, and closes it. The goroutine may be waiting in the program's Read when
// the call ends: it then learns that at the end of Read.
type h2Sender struct {
	s      *h2Call
	stream io.Reader
	writer StreamWriter
	left   int64 // bytes that are still due, negative if that isn't known
	over   bool  // the stream has more bytes than it was set with
	wake   chan struct{}
	closed atomic.Bool
}

func newH2Sender(s *h2Call, o *h2Outgoing) *h2Sender {
	return &h2Sender{s: s, stream: o.stream, writer: o.writer, left: o.length, wake: make(chan struct{}, 1)}
}

// poke makes the sender look again.
func (o *h2Sender) poke() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// errH2Stopped is what a stream gets when its request is over.
var errH2Stopped = errors.New("gale: the server doesn't want the rest of the request, or the request has ended")

// errBodyEnded is the error of a stream that ends its goroutine.
var errBodyEnded = errors.New("gale: the body stream called runtime.Goexit")

// run sends the body.
func (o *h2Sender) run() {
	err := errBodyEnded
	defer func() {
		if p := recover(); p != nil {
			err = panicError(p)
		}
		o.finish(err)
	}()
	err = o.copy()
}

// finish closes the stream, and ends the request or, after an error, the exchange.
func (o *h2Sender) finish(err error) {
	done := false
	defer func() {
		if !done { // the closer has called Goexit
			o.settle(errBodyEnded)
		}
	}()
	if cerr := o.close(err); err == nil {
		err = cerr
	}
	done = true
	o.settle(err)
}

// close closes the stream, once.
func (o *h2Sender) close(reason error) (err error) {
	if o.stream == nil || o.closed.Swap(true) {
		return nil
	}
	defer recoverWrite(&err)
	if reason == errH2Stopped {
		reason = nil
	}
	return closeBodyStream(o.stream, reason)
}

// settle ends the request, or the exchange after an error.
func (o *h2Sender) settle(err error) {
	s := o.s
	hc := s.hc
	from, trails := o.stream.(door.Trailered)
	var section head.Trailers
	if trails && err == nil {
		section = sectionOf(from)
	}
	hc.mu.Lock()
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
	hc.setRoom()
	mine := hc.claim()
	hc.wakeAll()
	hc.mu.Unlock()
	if mine {
		hc.flush(h2Stays)
	}
	hc.c.tellH2Room()
}

// interrupt ends a Read of the stream that may be waiting, if its type allows to close it
// during a Read.
func (o *h2Sender) interrupt() {
	switch o.stream.(type) {
	case *streamPipe, *streamConn, *io.PipeReader, net.Conn, *os.File:
		_ = o.close(nil)
	}
}

// copy writes the stream to o.
func (o *h2Sender) copy() error {
	if o.writer != nil {
		bw := bufio.NewWriter(o)
		o.writer(bw)
		return bw.Flush()
	}
	var err error
	want := o.left
	if wt, ok := bodyWriterTo(o.stream); ok {
		_, err = wt.WriteTo(o)
	} else {
		limit := int64(math.MaxInt64)
		if want >= 0 {
			limit = want
		}
		_, err = copyStream(o, o.stream, limit)
	}
	switch {
	case o.over:
		return nil
	case err == nil && o.left > 0:
		return errBodyStreamShort(want-o.left, want)
	}
	return err
}

// BytesLeft returns o.left, for streamPipe.WriteTo.
func (o *h2Sender) BytesLeft() int64 { return o.left }

// Write sends p, and waits while the server gives no room.
func (o *h2Sender) Write(p []byte) (n int, err error) {
	q := p
	if o.left >= 0 {
		q = p[:min(int64(len(p)), o.left)]
	}
	n, err = o.send(q)
	if o.left >= 0 {
		o.left -= int64(n)
	}
	if err == nil && n < len(p) {
		o.over, err = true, errBodyStreamTooLong
	}
	return n, err
}

func (o *h2Sender) send(p []byte) (n int, err error) {
	s := o.s
	hc := s.hc
	hc.mu.Lock()
	for n < len(p) {
		if s.st == nil {
			hc.mu.Unlock()
			return n, errH2Stopped
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
