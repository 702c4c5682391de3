package h1

import "github.com/galehttp/gale/internal/msg"

// Body decodes the body of a message, whatever delimits it (RFC 9112 section
// 6.3). It holds no bytes: those that it wants to see again stay with the
// caller. Init makes it ready for a message.
type Body struct {
	mode     int64 // LenChunked, LenUnknown or 0 for a body of known length
	left     int64
	chunked  Chunked
	section  trailerScan
	trailers *msg.Fields
	lim      Limits
	last     bool // the last chunk was read
	done     bool
}

// Init makes d ready for a body of length bytes; msg.LenChunked stands for
// the chunked coding, msg.LenUnknown for a body that ends with the connection.
// Fields of a trailer section are checked and appended to trailers once the section
// is complete, or dropped if it is nil. lim bounds the trailer section and may be nil.
func (d *Body) Init(length int64, trailers *msg.Fields, lim *Limits) {
	*d = Body{trailers: trailers}
	if lim != nil {
		d.lim = *lim
		d.chunked.Dialect = lim.Dialect
	}
	if length < 0 {
		d.mode = length
		return
	}
	d.left = length
	d.done = length == 0
}

// Reset makes d forget the message and what Init was given.
func (d *Body) Reset() {
	d.section.drop()
	*d = Body{}
}

// Next decodes from the front of b. It consumes n bytes, framing and at most
// one run of data, and returns the data, which aliases b. done says that the
// body with its trailer section is complete; it may come along with data, and
// bytes from n on belong to the next message. A body that ends with the
// connection is never done.
//
// n == 0 without done or an error means that more bytes are needed: come again
// with the bytes of b that were not consumed and more after them. Only an
// unfinished trailer line is ever left over.
//
// An error is an *Error; nothing after it on the connection can be trusted.
// How long a body may get is the caller's business.
func (d *Body) Next(b []byte) (data []byte, n int, done bool, err error) {
	if d.done {
		return nil, 0, true, nil
	}
	switch d.mode {
	case msg.LenChunked:
		return d.nextChunked(b)
	case msg.LenUnknown:
		return b, len(b), false, nil
	}
	if int64(len(b)) < d.left {
		d.left -= int64(len(b))
		return b, len(b), false, nil
	}
	n = int(d.left)
	d.left, d.done = 0, true
	return b[:n], n, true, nil
}

// Done reports whether the body is complete. At the end of a connection
// anything else is a body that was cut off, unless its length was unknown.
func (d *Body) Done() bool { return d.done }

// Left returns how many bytes of a body of known length are still to come, or
// of the chunk that is being read.
func (d *Body) Left() int64 {
	if d.mode == msg.LenChunked && d.chunked.state == chunkData {
		return d.chunked.left
	}
	return d.left
}

func (d *Body) nextChunked(b []byte) (data []byte, n int, done bool, err error) {
	if !d.last {
		data, n, d.last, err = d.chunked.Next(b)
		if err != nil || !d.last {
			return data, n, false, err
		}
	}
	m, err := d.nextTrailers(b[n:])
	if err != nil {
		return nil, 0, false, err
	}
	return nil, n + m, d.done, nil
}

func (d *Body) nextTrailers(b []byte) (n int, err error) {
	if len(b) >= 2 && b[0] == '\r' && b[1] == '\n' && d.section.part == nil {
		d.done = true
		return 2, nil
	}
	n, d.done, err = d.section.next(b, d.trailers, &d.lim)
	return n, err
}
