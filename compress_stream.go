package gale

import (
	"bufio"
	"io"
	"math"

	"github.com/galehttp/gale/internal/compress"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/pool"
)

// encodeStreamBuffer is how many bytes are read from a stream, or collected from a stream
// writer, before they are encoded.
const encodeStreamBuffer = 16 << 10

// encodeStream replaces the body stream of resp with a stream that encodes it while it is
// read.
func encodeStream(resp *Response, c compress.Coding, level int) {
	size := resp.Header.s.ContentLength
	src, sw := resp.bodyStream, resp.streamWriter
	resp.bodyStream, resp.streamWriter = nil, nil // not closed: the new stream owns them
	if sw != nil {
		resp.SetBodyStreamWriter(encodingStreamWriter(sw, c, level))
		return
	}
	resp.SetBodyStream(&encodingReader{src: src, left: size, coding: c, level: level}, -1)
}

// encodingReader encodes what it reads from src. It has an encoder and buffers from the
// first Read until the end or Close.
type encodingReader struct {
	src    io.Reader
	left   int64 // bytes that src must still give, negative if unknown
	reason error // of CloseWithError
	coding compress.Coding
	level  int

	w     *compress.Writer // writes to out
	in    *pool.Buf
	out   *pool.Buf
	off   int   // how much of out was read
	empty int   // reads of src in a row that returned nothing
	err   error // what Read returns after all of out was read
}

// Read encodes until there is output. If the length of the stream is unknown, the bytes
// of each read are flushed at once, because no more may come for a while. If it is known,
// they are flushed only if the read returned less than was asked for.
func (r *encodingReader) Read(p []byte) (int, error) {
	if r.w == nil && r.err == nil {
		r.in, r.out = pool.Get(encodeStreamBuffer), pool.Get(encodeStreamBuffer)
		r.w = compress.NewWriter(r.out, r.coding, r.level)
	}
	for r.out == nil || r.off == len(r.out.B) {
		if r.err != nil {
			r.release()
			return 0, r.err
		}
		r.out.Reset()
		r.off = 0
		r.err = r.fill()
	}
	n := copy(p, r.out.B[r.off:])
	r.off += n
	return n, nil
}

// fill encodes the bytes of one read of src. It checks the length of src: an encoded body
// that looks complete must be complete.
func (r *encodingReader) fill() error {
	buf := r.in.B[:encodeStreamBuffer]
	sized := r.left >= 0
	if sized && r.left < int64(len(buf)) {
		buf = buf[:r.left]
	}
	if len(buf) == 0 {
		return r.finish()
	}
	n, err := pool.ReadOnce(r.src, buf, &r.empty)
	if n > 0 {
		if _, err := r.w.Write(buf[:n]); err != nil {
			return err
		}
	}
	if sized {
		r.left -= int64(n)
	}
	switch {
	case err == io.EOF && r.left > 0:
		return io.ErrUnexpectedEOF
	case err == io.EOF, err == nil && r.left == 0:
		return r.finish()
	case err == nil && n > 0 && (!sized || n < len(buf)):
		return r.w.Flush()
	}
	return err
}

// SupportsBodyWriteTo reports whether src has a WriteTo that may be used; see
// BodyWriterTo. If src has a set length, it must be read.
func (r *encodingReader) SupportsBodyWriteTo() bool {
	if r.src == nil || r.left >= 0 || r.w != nil || r.err != nil {
		return false
	}
	_, ok := mayWriteTo(r.src)
	return ok
}

// WriteTo encodes what src writes and flushes each piece.
func (r *encodingReader) WriteTo(w io.Writer) (int64, error) {
	to := &encodedCounter{w: w}
	wt, ok := mayWriteTo(r.src)
	if !ok {
		return copyStream(w, struct{ io.Reader }{r}, math.MaxInt64)
	}
	r.err = io.EOF // nothing is left to be read
	enc := compress.NewWriter(to, r.coding, r.level)
	if _, err := writeTo(wt, pieceEncoder{enc, w}); err != nil {
		enc.Abort()
		return to.n, err
	}
	err := enc.Close()
	return to.n, err
}

// pieceEncoder flushes after each write.
type pieceEncoder struct {
	w  *compress.Writer
	to io.Writer // where w writes
}

// FlushHead implements door.HeadFlusher.
func (e pieceEncoder) FlushHead() error {
	if f, ok := e.to.(door.HeadFlusher); ok {
		return f.FlushHead()
	}
	return nil
}

func (e pieceEncoder) Write(p []byte) (int, error) {
	n, err := e.w.Write(p)
	if err == nil {
		err = e.w.Flush()
	}
	return n, err
}

// encodedCounter counts the bytes that it passes on.
type encodedCounter struct {
	w io.Writer
	n int64
}

func (c *encodedCounter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// finish writes the end of the coding.
func (r *encodingReader) finish() error {
	w := r.w
	r.w = nil
	if err := w.Close(); err != nil {
		return err
	}
	return io.EOF
}

// release puts everything back into the pools except what must be closed.
func (r *encodingReader) release() {
	if r.w != nil {
		r.w.Abort()
	}
	pool.Put(r.in)
	pool.Put(r.out)
	r.w, r.in, r.out, r.off = nil, nil, nil, 0
}

// Close closes src, whether it was read to its end or not.
func (r *encodingReader) Close() error {
	if r.err == nil {
		r.err = io.ErrClosedPipe
	}
	r.release()
	src := r.src
	r.src = nil
	if src == nil {
		return nil
	}
	return closeBodyStream(src, r.reason)
}

// CloseWithError is Close with a reason, which src gets.
func (r *encodingReader) CloseWithError(err error) error {
	r.reason = err
	return r.Close()
}

// encodingStreamWriter returns a stream writer that encodes what sw writes. It flushes
// when sw flushes, and when sw has filled a buffer.
func encodingStreamWriter(sw StreamWriter, c compress.Coding, level int) StreamWriter {
	return func(w *bufio.Writer) {
		f := &flushingEncoder{w: compress.NewWriter(w, c, level), to: w}
		complete := false
		defer func() {
			if !complete { // sw panicked: the encoded body must not look whole
				f.w.Abort()
			}
		}()
		buf := streamBuffers.Get().(*bufio.Writer)
		err := callStreamWriter(sw, f, buf)
		streamBuffers.Put(buf)
		complete = true
		if err != nil {
			f.w.Abort()
			return
		}
		_ = f.w.Close() // an error of w is sticky there
	}
}

var streamBuffers = pool.Pool{New: func() any { return bufio.NewWriterSize(nil, encodeStreamBuffer) }}

// flushingEncoder encodes each write and flushes it at once.
type flushingEncoder struct {
	w  *compress.Writer
	to *bufio.Writer
}

// FlushHead implements door.HeadFlusher: to passes it on, because nothing was written there.
func (f *flushingEncoder) FlushHead() error { return f.to.Flush() }

func (f *flushingEncoder) Write(p []byte) (int, error) {
	n, err := f.w.Write(p)
	if err != nil {
		return n, err
	}
	if err := f.w.Flush(); err != nil {
		return n, err
	}
	return n, f.to.Flush()
}
