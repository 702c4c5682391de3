package h1

import "github.com/galehttp/gale/internal/msg"

// Body decodes the body of a message, whatever delimits it (RFC 9112 section 6.3). It
// holds no bytes: the caller keeps those that weren't consumed. Init makes it ready for a
// message.
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

// Init makes d ready for a body of length bytes. msg.LenChunked means the chunked coding,
// msg.LenUnknown a body that ends with the connection. When a trailer section is
// complete, its fields are checked and appended to trailers, or dropped if trailers is
// nil. lim limits the trailer section and may be nil.
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

// DropTrailers makes d drop the trailer section, and forget the argument of Init.
func (d *Body) DropTrailers() { d.trailers = nil }

// Reset drops the message and the arguments of Init.
func (d *Body) Reset() {
	d.section.drop()
	*d = Body{}
}

// Next decodes from the front of b. It consumes n bytes, which are framing and at most
// one run of data, and returns the data, a slice of b. done says that the body with its
// trailer section is complete. It may be returned together with data. Then the bytes from
// n on belong to the next message. A body that ends with the connection is never done.
//
// If n == 0 and there is neither done nor an error, more bytes are needed: call Next
// again with the bytes of b that were not consumed and more after them. Only an
// unfinished trailer line is ever left over.
//
// An error is an *Error; bytes after it on the connection can't be trusted. The caller
// must limit the length of the body.
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

// Done reports whether the body is complete. If it is not at the end of the connection,
// the body was cut off, unless its length is unknown.
func (d *Body) Done() bool { return d.done }

// Left returns how many bytes of a body of known length, or of the current chunk, must
// still arrive.
func (d *Body) Left() int64 {
	if d.mode == msg.LenChunked && d.chunked.state == chunkData {
		return d.chunked.left
	}
	return d.left
}

// Behind returns how many bytes of framing the last call of Next, which returned data, consumed
// after that data.
func (d *Body) Behind() int {
	if d.mode == msg.LenChunked && d.chunked.state == sizeStart {
		return len("\r\n")
	}
	return 0
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
