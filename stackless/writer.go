package stackless

import (
	"io"

	"github.com/galehttp/gale/internal/pool"
)

// Writer has the methods that a writer must have for NewWriter. The writers of
// compress/flate, compress/gzip and compress/zlib have them.
type Writer interface {
	// Write writes p. It must not keep p.
	Write(p []byte) (int, error)
	// Flush writes all bytes that were buffered so far.
	Flush() error
	// Close writes the remaining bytes and the end of the stream. It doesn't close the
	// underlying writer.
	Close() error
	// Reset sets the writer to the state of a new one that writes to w.
	Reset(w io.Writer)
}

// NewWriterFunc returns a new writer that writes to w. See NewWriter.
type NewWriterFunc func(w io.Writer) Writer

// NewWriter returns a writer that does the same as the one from newWriter, but uses
// almost no stack of the goroutines that call it. The work is done on goroutines of this
// package, as described at NewFunc, or on the caller's goroutine if too many calls wait.
// The output is written to dstW on the caller's goroutine, so dstW may block.
//
// NewWriter calls newWriter once, before it returns. The writer that newWriter returns
// must not be from NewWriter itself.
//
// Errors are those of the writer from newWriter or, if there are none, those of dstW.
// Only one goroutine at a time may use a Writer. Between calls it uses no more memory
// than the writer from newWriter.
func NewWriter(dstW io.Writer, newWriter NewWriterFunc) Writer {
	w := &writer{dst: dstW}
	w.inner = newWriter(&w.out)
	return w
}

// writer implements NewWriter.
type writer struct {
	inner Writer
	dst   io.Writer
	out   output

	// The running call.
	op  op
	p   []byte
	n   int
	err error
}

// op is a method of Writer.
type op int

const (
	opWrite op = iota
	opFlush
	opClose
	opReset
)

func (w *writer) Write(p []byte) (int, error) {
	w.p = p
	err := w.do(opWrite)
	n := w.n
	w.p, w.n = nil, 0
	return n, err
}

func (w *writer) Flush() error { return w.do(opFlush) }

func (w *writer) Close() error { return w.do(opClose) }

func (w *writer) Reset(dst io.Writer) {
	_ = w.do(opReset)
	w.dst = dst
}

// onWorker runs a call of a writer on another goroutine. All writers share it.
var onWorker = NewFunc(func(ctx any) { ctx.(*writer).run() })

// do runs a method of the inner writer and writes its output to dst.
func (w *writer) do(what op) error {
	defer w.out.free()
	w.op, w.err = what, nil
	if !onWorker(w) {
		w.run()
	}
	if what == opReset || w.out.buf == nil || w.out.buf.Len() == 0 {
		return w.err
	}
	if _, err := w.dst.Write(w.out.buf.B); w.err == nil {
		w.err = err
	}
	return w.err
}

func (w *writer) run() {
	switch w.op {
	case opWrite:
		w.n, w.err = w.inner.Write(w.p)
	case opFlush:
		w.err = w.inner.Flush()
	case opClose:
		w.err = w.inner.Close()
	case opReset:
		w.inner.Reset(&w.out)
	}
}

// output receives what the inner writer writes. It has a buffer only during calls.
type output struct {
	buf *pool.Buf
}

func (o *output) Write(p []byte) (int, error) {
	if o.buf == nil {
		o.buf = pool.Get(len(p))
	}
	return o.buf.Write(p)
}

func (o *output) free() {
	pool.Put(o.buf)
	o.buf = nil
}
