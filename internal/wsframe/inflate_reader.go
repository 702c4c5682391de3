package wsframe

import (
	"io"

	"github.com/klauspost/compress/flate"

	"github.com/galehttp/gale/internal/pool"
)

// streamBuffer is how many bytes of a compressed message a [MessageReader] reads at once.
const streamBuffer = 4 << 10

// MessageReader inflates a message while it arrives. [Inflater.NewReader] makes it. It isn't
// safe for concurrent use.
type MessageReader struct {
	z      *inflater // nil after Close
	in     stream
	window *window // where the output goes: the Inflater's, or own
	own    window
	left   int64 // how many bytes the message may still have, if it is limited
	limits bool
	finals int64 // how many final blocks there were
	err    error
}

// NewReader returns a reader of what a compressed message becomes. src has the compressed
// message and ends with io.EOF. If limit is above 0, Read fails with an error of
// [CodeTooBig] at the first byte beyond it. A message must be read until io.EOF before the
// next one is inflated, or the connection must fail. Close must be called.
func (i *Inflater) NewReader(src io.Reader, limit int64) *MessageReader {
	r := &MessageReader{z: idleInflater(), left: limit, limits: limit > 0}
	r.in = stream{src: src, buf: pool.Get(streamBuffer), tail: inflateTail}
	r.window = &i.window
	if i.window.size == 0 {
		r.own.size = 1 << maxBits // for what follows a final block
		r.window = &r.own
	}
	r.z.src = &r.in
	r.err = r.begin()
	return r
}

// Read inflates to p. It blocks as src does, and returns its errors. Other errors are an
// *Error, or io.EOF at the end of the message.
func (r *MessageReader) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	for r.err == nil && n == 0 {
		n, err = r.z.dec.Read(p)
		if r.limits && int64(n) > r.left {
			n, err = int(r.left), errTooBig
		}
		r.left -= int64(n)
		r.window.add(p[:n])
		switch {
		case err == nil:
		case err == io.EOF:
			r.err = r.end()
		case err == errTooBig:
			r.err = err
		case r.in.err != nil:
			r.err = r.in.err
		default:
			r.err = errInflate
		}
	}
	if n > 0 {
		return n, nil
	}
	return 0, r.err
}

// end decides what follows a final block. It returns nil if more blocks do.
func (r *MessageReader) end() error {
	if r.in.fill(); r.in.err != nil {
		return r.in.err
	}
	switch rest := r.in.Len(); {
	case rest == 0 || r.in.ended && rest == len(inflateTail):
		return io.EOF
	case r.in.ended && rest < len(inflateTail) || r.finals == finalFree+r.in.total/finalBytes:
		return errInflate
	}
	r.finals++
	return r.begin()
}

// begin makes the decoder begin with the window.
func (r *MessageReader) begin() error {
	if err := r.z.dec.(flate.Resetter).Reset(&r.in, r.window.bytes()); err != nil {
		return errInflate
	}
	return nil
}

// Close gives the memory of r back. Read returns io.ErrClosedPipe afterwards. The error is
// always nil.
func (r *MessageReader) Close() error {
	if r.z == nil {
		return nil
	}
	r.z.release()
	pool.Put(r.in.buf)
	r.own.free()
	*r = MessageReader{err: io.ErrClosedPipe}
	return nil
}

// stream reads a compressed message and its tail.
type stream struct {
	src   io.Reader
	buf   *pool.Buf
	b     []byte // of buf, not read yet
	tail  string
	total int64 // bytes that src gave
	ended bool  // src has ended
	err   error // of src
}

// Len returns how many bytes are there without reading from src.
func (s *stream) Len() int {
	if s.ended {
		return len(s.b) + len(s.tail)
	}
	return len(s.b)
}

// fill makes b not empty, unless the end is reached or src fails.
func (s *stream) fill() {
	for empty := 0; len(s.b) == 0 && !s.ended && s.err == nil; empty++ {
		room := s.buf.B[:cap(s.buf.B)]
		n, err := s.src.Read(room)
		if n < 0 || n > len(room) {
			n, err = 0, io.ErrNoProgress
		}
		s.b = room[:n]
		s.total += int64(n)
		switch {
		case err == io.EOF:
			s.ended = true
		case err != nil:
			s.err = err
		case n == 0 && empty == pool.MaxEmptyReads:
			s.err = io.ErrNoProgress
		}
	}
}

// next makes b not empty, with the tail after the end of src.
func (s *stream) next() error {
	if len(s.b) > 0 {
		return nil
	}
	if s.fill(); len(s.b) > 0 {
		return nil
	}
	if s.err != nil {
		return s.err
	}
	if len(s.tail) == 0 {
		return io.EOF
	}
	s.b = append(s.buf.B[:0], s.tail...)
	s.tail = ""
	if s.total == 0 {
		s.b = s.b[flushed:] // a message without any byte is empty
	}
	return nil
}

// Read reads bytes.
func (s *stream) Read(p []byte) (int, error) {
	if err := s.next(); err != nil {
		return 0, err
	}
	n := copy(p, s.b)
	s.b = s.b[n:]
	return n, nil
}

// ReadByte reads one byte.
func (s *stream) ReadByte() (byte, error) {
	if err := s.next(); err != nil {
		return 0, err
	}
	c := s.b[0]
	s.b = s.b[1:]
	return c, nil
}
