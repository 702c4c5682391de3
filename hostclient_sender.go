package gale

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"

	"github.com/galehttp/gale/internal/door"
)

// bodySender sends the body of a request on a goroutine of its own, while the call reads the
// response. It owns the stream, which the request has no more, and closes it once.
//
// The goroutine may be waiting in the program's Read or StreamWriter when the call ends. The call
// doesn't wait for that. It leaves the stream to the goroutine, which closes it when it gets
// control again; by then it touches nothing of the call. See interrupt for the streams that don't
// need that.
type bodySender struct {
	stream io.Reader
	writer StreamWriter
	closed atomic.Bool

	section door.Trailered // has the trailer section that follows a stream, nil if the request has it
	lent    lentSection    // what section is, if a server receives it
}

// lentSection is the trailer section of a request that is passed on while it is received. It comes
// with the end of the body, when the request may belong to the caller again.
type lentSection struct {
	from door.TrailerLender
	req  *Request // with a copy of the header, nil before copySection
}

// Trailers implements door.Trailered.
func (l *lentSection) Trailers(s door.Seal) any {
	if l.req == nil { // the call has ended, and what is left of the request isn't sent
		l.req = AcquireRequest()
	}
	l.from.GiveTrailers(s, &l.req.Header)
	return &l.req.Header
}

// findSection sets section. A body of known length has none, unless it is sent over HTTP/2 and its
// stream says so. The program may have set a stream that reads the one of the server.
func (o *bodySender) findSection(req *Request, length int64, http2 bool) {
	if length >= 0 && !(http2 && trails(o.stream)) {
		return
	}
	var from door.TrailerLender
	switch b := o.stream.(type) {
	case door.Trailered:
		o.section = b
		return
	case door.TrailerLender:
		from = b
	default:
		switch source := req.Header.s.Trailers.Source().(type) {
		case trailerSource:
			from = source.lender()
		case door.TrailerLender:
			from = source
		}
	}
	if from != nil && from.LendTrailers(door.Seal{}, &req.Header) {
		o.lent.from, o.section = from, &o.lent
	}
}

// copySection is called before section is used, and at the latest when the call of req ends. At its
// first call it copies what the section needs of req.
func (o *bodySender) copySection(req *Request) {
	if o.lent.from != nil && o.lent.req == nil {
		o.lent.req = AcquireRequest()
		req.Header.CopyTo(&o.lent.req.Header)
	}
}

// dropSection is called when section is needed no more.
func (o *bodySender) dropSection() {
	if req := o.lent.req; req != nil {
		ReleaseRequest(req)
	}
	o.section, o.lent = nil, lentSection{}
}

// bodyWay is how a bodySender sends: over HTTP/1.1 or HTTP/2.
type bodyWay interface {
	// copy sends the body without the end of the request. Its panics are errors.
	copy() error
	// settle ends the request if err is nil, and else the exchange, unless the call has ended.
	// It is called once, after copy, when the stream is closed. It must not panic.
	settle(err error)
}

// errSendStopped is what a stream gets that writes itself, when its request has ended.
var errSendStopped = errors.New("gale: the server doesn't want the rest of the request, or the request has ended")

// errBodyEnded is the error of a stream that ends its goroutine.
var errBodyEnded = errors.New("gale: the body stream called runtime.Goexit")

// send sends the body.
func (o *bodySender) send(way bodyWay) {
	panicOnFault()
	err := errBodyEnded
	defer func() {
		if p := recover(); p != nil {
			err = panicError((*guard)(nil).lateUse(p, nil))
		}
		o.conclude(way, err)
	}()
	err = way.copy()
}

// conclude closes the stream, and ends the request or, after an error, the exchange.
func (o *bodySender) conclude(way bodyWay, err error) {
	done := false
	defer func() {
		if !done { // the closer has called Goexit
			way.settle(errBodyEnded)
		}
	}()
	if cerr := o.close(err); err == nil {
		err = cerr
	}
	done = true
	way.settle(err)
}

// close closes the stream, unless it was closed before.
func (o *bodySender) close(reason error) (err error) {
	if o.stream == nil || o.closed.Swap(true) {
		return nil
	}
	defer recoverWrite(&err)
	if reason == errSendStopped {
		reason = nil
	}
	return closeBodyStream(o.stream, reason)
}

// interrupt closes the stream at the end of the call if its type allows that during a Read. When
// it returns, a stream that a message has lent isn't read any more.
func (o *bodySender) interrupt() {
	switch r := o.stream.(type) {
	case door.Lent:
		r.Revoke(door.Seal{})
	case *streamPipe, *streamConn, *formStream, *io.PipeReader, net.Conn, *os.File:
	default:
		return
	}
	_ = o.close(nil)
}
