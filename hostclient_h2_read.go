package gale

import (
	"context"
	"io"
	"time"

	"github.com/galehttp/gale/internal/pool"
)

// h2Reader is the body of a streamed response. What has arrived waits in a queue, which the
// window of the stream bounds, until the program reads it.
//
// One goroutine reads. Any goroutine may call Close, at any time and any number of times.
type h2Reader struct {
	s       *h2Call
	call    call
	unwatch func() bool // ends the watch of the context, or nil

	// Under sharedConn.mu.
	in     pool.Queue
	into   []byte          // where a waiting Read wants its bytes
	got    int             // how many it has
	length int64           // by the head, or msg.LenChunked
	err    error           // how the body ended; io.EOF for its proper end
	closed bool            // Close was called
	sink   *ResponseHeader // where the trailer fields go, nil once they are there
}

// take handles a part of the body, under mu. It doesn't keep b.
func (r *h2Reader) take(b []byte, end bool) {
	s := r.s
	if s.tunnel != nil && s.tunnel.closed {
		if len(b) > 0 || end {
			s.finish()
		}
		return
	}
	if len(b) > 0 {
		n := copy(r.into, b)
		r.into = r.into[n:]
		r.got += n
		if n < len(b) {
			r.in.Put(b[n:], -1)
		}
	}
	if end {
		r.err = io.EOF
		s.hc.served++
		if s.st.Ended() || s.answered {
			s.finish()
			return
		}
	}
	s.set(h2MoreIn)
	s.noteWhole()
}

// Read reads from the body. If the body is cut off, the error is io.ErrUnexpectedEOF, a
// *StreamResetError or an *HTTP2ConnError; after Close it is io.ErrClosedPipe. The time
// limits and the context of the call apply.
func (r *h2Reader) Read(p []byte) (int, error) {
	s := r.s
	hc := s.hc
	hc.mu.Lock()
	for {
		switch {
		case r.closed:
			hc.mu.Unlock()
			return 0, io.ErrClosedPipe
		case len(p) == 0:
			hc.mu.Unlock()
			return 0, nil
		case r.in.Len() > 0:
			n := r.in.Take(p)
			r.consumed(n)
			return n, nil
		case r.err != nil:
			return 0, r.ended()
		}
		if n := r.await(p); n > 0 && !r.closed {
			r.consumed(n)
			return n, nil
		}
	}
}

// await waits for bytes, which come into p, or for the end. It returns how many have come. mu
// is held when it is called and when it returns, but not after a panic of the context.
func (r *h2Reader) await(p []byte) (n int) {
	s := r.s
	hc := s.hc
	r.into, r.got = p, 0
	s.wants |= h2MoreIn
	s.bits.And(^h2MoreIn)
	hc.mu.Unlock()
	fine := false
	defer func() {
		hc.mu.Lock()
		n = r.got
		r.into, r.got = nil, 0
		s.wants &^= h2MoreIn
		if !fine {
			hc.mu.Unlock()
		}
	}()
	if _, err := s.await(&r.call, h2MoreIn); err != nil {
		s.giveUp(err)
	}
	fine = true
	return 0 // see above
}

// credit lets the server send n bytes more, under mu. It reports whether there is output for
// that.
func (r *h2Reader) credit(n int) bool {
	s := r.s
	hc := s.hc
	if s.st == nil {
		return false
	}
	hc.proto.Consumed(s.st, n)
	if !hc.proto.HasControl() {
		return false
	}
	hc.out = hc.proto.AppendControl(hc.out)
	return true
}

// consumed is credit with the writing of that output. It releases mu.
func (r *h2Reader) consumed(n int) {
	hc := r.s.hc
	mine := r.credit(n) && hc.claim()
	hc.mu.Unlock()
	if mine {
		hc.flush(h2Tries)
	}
}

// ended returns the error at the end of the body, after the trailer section was delivered. It
// releases mu.
func (r *h2Reader) ended() error {
	err := r.err
	if err == io.EOF && r.sink != nil {
		r.sink.takeTrailers(&r.s.trailers)
	}
	r.sink = nil
	stop := r.unwatch
	r.unwatch = nil
	r.s.hc.mu.Unlock()
	if stop != nil {
		stop()
	}
	if err != io.EOF {
		r.s.interruptSender()
	}
	if r.call.ctx != nil && err != io.EOF && r.call.ctx.Err() != nil {
		return r.call.ctx.Err()
	}
	return err
}

// watch ends the exchange when the context does, even if no goroutine reads.
func (r *h2Reader) watch(ctx context.Context) {
	if ctx == nil {
		return
	}
	gone := func() { r.s.giveUp(context.Canceled) } // the reader gets the error of ctx
	var stop func() bool
	if own, ok := ctx.(interface{ AfterFunc(func()) func() bool }); ok {
		stop = own.AfterFunc(gone)
	} else {
		stop = context.AfterFunc(ctx, gone)
	}
	hc := r.s.hc
	hc.mu.Lock()
	r.unwatch = stop
	hc.mu.Unlock()
}

// Close ends the body. If bytes of it have not come, or the request wasn't sent completely, the stream
// is reset with CANCEL. The connection continues.
func (r *h2Reader) Close() error {
	s := r.s
	hc := s.hc
	hc.mu.Lock()
	again := r.closed
	r.closed = true
	r.into, r.sink = nil, nil
	stop := r.unwatch
	r.unwatch = nil
	r.in.Drop()
	whole := s.bits.Load()&h2Whole != 0
	if whole && s.st != nil && !again {
		time.AfterFunc(h2EndDelay, s.endWhole) // no goroutine waits for it
	}
	s.set(h2MoreIn) // ends a Read that waits
	hc.wakeAll()
	hc.mu.Unlock()
	if stop != nil {
		stop()
	}
	if !whole {
		s.giveUp(io.ErrClosedPipe)
	}
	s.interruptSender()
	return nil
}

// CloseWithError is Close.
func (r *h2Reader) CloseWithError(error) error { return r.Close() }

// whole moves a body of known length that has come completely, without trailer fields, into
// resp, and reports whether it did.
func (r *h2Reader) whole(resp *Response) bool {
	hc := r.s.hc
	hc.mu.Lock()
	defer hc.mu.Unlock()
	if r.length < 0 || r.err != io.EOF || r.s.st != nil || len(r.s.trailers.Recs) > 0 {
		return false // trailer fields come at the end of a stream
	}
	b := resp.bodyBuf()
	b.Grow(r.in.Len())
	b.B = b.B[:r.in.Take(b.B[:r.in.Len()])]
	return true
}
