package gale

import (
	"bufio"
	"io"
	"sync"

	"github.com/galehttp/gale/internal/compress"
	"github.com/galehttp/gale/internal/pool"
)

// encodeStreamBuffer is the size in bytes of what is read from a stream, or
// gathered from a stream writer, before it is encoded.
const encodeStreamBuffer = 16 << 10

// encodeStream replaces the stream that is the body of resp by its encoded
// form, which is made while it is read.
func encodeStream(resp *Response, c compress.Coding, level int) {
	src, sw := resp.bodyStream, resp.streamWriter
	resp.bodyStream, resp.streamWriter = nil, nil // not closed: the new stream owns them
	if sw != nil {
		resp.SetBodyStreamWriter(encodingStreamWriter(sw, c, level))
		return
	}
	resp.SetBodyStream(&encodingReader{src: src, coding: c, level: level}, -1)
}

// encodingReader encodes what it reads from src. The encoder and the buffers
// are there from the first Read to the end, or to Close.
type encodingReader struct {
	src    io.Reader
	reason error // of CloseWithError
	coding compress.Coding
	level  int

	w   *compress.Writer // writes to out
	in  *pool.Buf
	out *pool.Buf
	off int   // what of out was read
	err error // what Read returns when out is read
}

// Read encodes until there is output. When src has less to give than asked
// for, everything it gave is flushed: there may be nothing more for a while.
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

// fill encodes what one read of src gives.
func (r *encodingReader) fill() error {
	buf := r.in.B[:encodeStreamBuffer]
	n, err := r.src.Read(buf)
	if n > 0 {
		if _, err := r.w.Write(buf[:n]); err != nil {
			return err
		}
	}
	if err == io.EOF {
		w := r.w
		r.w = nil
		if err := w.Close(); err != nil {
			return err
		}
		return io.EOF
	}
	if err == nil && n > 0 && n < len(buf) {
		err = r.w.Flush()
	}
	return err
}

// release gives everything back but what is to be closed.
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

// CloseWithError is Close with the reason that src is told.
func (r *encodingReader) CloseWithError(err error) error {
	r.reason = err
	return r.Close()
}

// encodingStreamWriter returns a stream writer that encodes what sw writes.
// Each flush of sw, and each buffer it fills, is passed on as a flush.
func encodingStreamWriter(sw StreamWriter, c compress.Coding, level int) StreamWriter {
	return func(w *bufio.Writer) {
		f := &flushingEncoder{w: compress.NewWriter(w, c, level), to: w}
		complete := false
		defer func() {
			if !complete { // sw panicked: the encoded body must not look whole
				f.w.Abort()
			}
		}()
		bw := streamBuffers.Get().(*bufio.Writer)
		bw.Reset(f)
		sw(bw)
		err := bw.Flush()
		bw.Reset(nil)
		streamBuffers.Put(bw)
		complete = true
		if err != nil {
			f.w.Abort()
			return
		}
		_ = f.w.Close() // an error of w is sticky there
	}
}

var streamBuffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, encodeStreamBuffer) }}

// flushingEncoder passes on all that it is given at once.
type flushingEncoder struct {
	w  *compress.Writer
	to *bufio.Writer
}

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
