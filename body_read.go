package gale

import (
	"bufio"
	"io"
	"sync"
	"sync/atomic"

	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/pool"
)

// bodyReader reads one message body from a connection and stops at its end, so that the
// bytes after it can be read as the next message. After its end or an error, each Read
// returns the same again.
//
// One goroutine reads at a time. Any goroutine may call Close at any time; it doesn't
// wait for a Read that waits for the connection.
type bodyReader struct {
	mu      sync.Mutex // held while reading; guards what follows
	plain   plainBody
	chunked *chunkedBody // nil for a body without the coding
	err     error

	closed atomic.Bool
}

// init makes d read a body of length bytes (or msg.LenChunked, msg.LenUnknown)
// from br. Fields of the trailer section go to sink, or are dropped if it is
// nil.
func (d *bodyReader) init(br *bufio.Reader, length int64, sink trailerSink) {
	switch length {
	case msg.LenChunked:
		d.chunked = newChunkedBody(br, sink)
	case 0:
		d.err = io.EOF
	default:
		d.plain = plainBody{br: br, left: length}
	}
}

// Read reads the next bytes of the body. If the connection ends within the body, it
// returns io.ErrUnexpectedEOF.
func (d *bodyReader) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed.Load() && d.err == nil {
		d.err = io.ErrClosedPipe
	}
	if d.err != nil {
		return 0, d.err
	}
	if d.chunked == nil {
		n, d.err = d.plain.read(p)
		return n, d.err
	}
	if n, d.err = d.chunked.read(p); d.err != nil {
		d.chunked.release()
		d.chunked = nil
	}
	return n, d.err
}

// Close makes later Reads return io.ErrClosedPipe, unless the body was read to
// its end before. It leaves the rest of the body in the connection.
func (d *bodyReader) Close() error {
	d.closed.Store(true)
	return nil
}

// CloseWithError is Close; it ignores the error.
func (d *bodyReader) CloseWithError(error) error { return d.Close() }

// plainBody is a body without a transfer coding.
type plainBody struct {
	br    *bufio.Reader
	left  int64 // msg.LenUnknown for one up to the end of br
	empty int   // see pool.ReadOnce
}

// read reads the next bytes of the body. It may return io.EOF together with bytes.
func (d *plainBody) read(p []byte) (int, error) {
	if d.left < 0 {
		return pool.ReadOnce(d.br, p, &d.empty)
	}
	if int64(len(p)) > d.left {
		p = p[:d.left]
	}
	n, err := pool.ReadOnce(d.br, p, &d.empty)
	switch d.left -= int64(n); {
	case d.left == 0:
		return n, io.EOF
	case err == io.EOF:
		return n, io.ErrUnexpectedEOF
	}
	return n, err
}

// appendTo reads the whole body into b.
func (d *plainBody) appendTo(b *pool.Buf, limit int) error {
	for {
		if len(b.B) == cap(b.B) {
			b.Grow(1)
		}
		n, err := d.read(b.B[len(b.B):cap(b.B)])
		b.B = b.B[:len(b.B)+n]
		switch {
		case limit > 0 && len(b.B) > limit:
			b.B = b.B[:limit]
			return ErrBodyTooLarge
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// chunkedBody is a body in the chunked coding.
type chunkedBody struct {
	br  *bufio.Reader
	dec h1.Body
	// trailers are the fields of the trailer section. They go to sink when the body is
	// complete.
	trailers msg.Fields
	sink     trailerSink
	// data are the bytes of the body that were decoded and not yet returned. It is a
	// slice of br's buffer. After its last byte was returned, used bytes of the buffer
	// are consumed.
	data []byte
	used int
}

// trailerSink receives the fields of a trailer section and copies them. Headers implement
// it.
type trailerSink interface{ takeTrailers(*msg.Fields) }

var chunkedBodies = pool.Pool{New: func() any { return new(chunkedBody) }}

func newChunkedBody(br *bufio.Reader, sink trailerSink) *chunkedBody {
	d := chunkedBodies.Get().(*chunkedBody)
	d.br, d.sink = br, sink
	d.dec.Init(msg.LenChunked, &d.trailers, &h1.Limits{Dialect: h1.Lenient})
	return d
}

// release puts d back into the pool.
func (d *chunkedBody) release() {
	d.br, d.sink, d.data, d.used = nil, nil, nil, 0
	d.dec.Reset()
	d.trailers.Reset()
	chunkedBodies.Put(d)
}

// next decodes the next piece of the body into d.data. Pieces without data are
// consumed at once.
func (d *chunkedBody) next() (data []byte, done bool, err error) {
	b, err := d.br.Peek(max(d.br.Buffered(), 1))
	for {
		if len(b) == 0 {
			return nil, false, noEOF(err)
		}
		var n int
		data, n, done, err = d.dec.Next(b)
		switch {
		case err != nil:
			return nil, false, ErrBrokenChunk{err}
		case len(data) > 0:
			d.data, d.used = data, n
			d.deliver(done)
			return data, done, nil
		case n > 0 || done:
			_, _ = d.br.Discard(n)
			d.deliver(done)
			return nil, done, nil
		}
		// Part of a trailer line: the whole line must fit into the reader's buffer.
		have := len(b)
		if b, err = d.br.Peek(have + 1); len(b) == have {
			if err == bufio.ErrBufferFull {
				err = &ErrSmallBuffer{ErrSmallReadBuffer}
			}
			return nil, false, noEOF(err)
		}
	}
}

// deliver passes the trailer fields to sink when the body is complete.
func (d *chunkedBody) deliver(done bool) {
	if !done || d.sink == nil {
		return
	}
	d.sink.takeTrailers(&d.trailers)
}

// consume drops what next returned.
func (d *chunkedBody) consume() {
	_, _ = d.br.Discard(d.used)
	d.data, d.used = nil, 0
}

// read reads the next bytes of the body. It may return io.EOF together with bytes.
func (d *chunkedBody) read(p []byte) (int, error) {
	for len(d.data) == 0 {
		data, done, err := d.next()
		if err != nil {
			return 0, err
		}
		if len(data) == 0 && done {
			return 0, io.EOF
		}
	}
	n := copy(p, d.data)
	if d.data = d.data[n:]; len(d.data) > 0 {
		return n, nil
	}
	d.consume()
	if d.dec.Done() {
		return n, io.EOF
	}
	return n, nil
}

// appendTo reads the whole body into b.
func (d *chunkedBody) appendTo(b *pool.Buf, limit int) error {
	for {
		data, done, err := d.next()
		if err != nil {
			return err
		}
		if limit > 0 && len(b.B)+len(data) > limit {
			return ErrBodyTooLarge
		}
		_, _ = b.Write(data)
		d.consume()
		if done {
			return nil
		}
	}
}

// noEOF replaces io.EOF with io.ErrUnexpectedEOF.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// readBody reads a body of length bytes (or msg.LenChunked, msg.LenUnknown) from br into
// the buffer of c, and trailer fields into sink. The buffer grows with the bytes that
// arrive, never with length. If limit is above 0, a body of more bytes gives
// ErrBodyTooLarge. After an error the buffer holds what was read before it.
func (c *content) readBody(br *bufio.Reader, length int64, limit int, sink trailerSink) error {
	if limit > 0 && length > int64(limit) {
		return ErrBodyTooLarge
	}
	if length == 0 {
		return nil
	}
	b := c.bodyBuf()
	b.Reset()
	if length == msg.LenChunked {
		d := newChunkedBody(br, sink)
		err := d.appendTo(b, limit)
		d.release()
		return err
	}
	if length > 0 {
		b.Grow(int(min(length, int64(max(br.Buffered(), pool.MinSize)))))
	}
	d := plainBody{br: br, left: length}
	return d.appendTo(b, limit)
}
