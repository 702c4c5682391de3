package stackless

import (
	"io"

	"github.com/galehttp/gale/internal/pool"
)

// Writer is what a writer must offer to be made stackless: what the writers of
// the packages below compress have in common.
type Writer interface {
	// Write takes p. It must not keep it.
	Write(p []byte) (int, error)
	// Flush writes what was taken so far.
	Flush() error
	// Close writes what is left and the end of the stream. It doesn't close
	// what is below.
	Close() error
	// Reset makes the writer as new, writing to w.
	Reset(w io.Writer)
}

// NewWriterFunc returns a new writer that writes to w. See NewWriter.
type NewWriterFunc func(w io.Writer) Writer

// NewWriter returns a writer that does what the one from newWriter does, but
// needs next to no stack of the goroutines that call it: the work is done on
// goroutines of this package as NewFunc tells, or directly where too many calls
// wait for them. What comes out is written to dstW on the goroutine of the
// caller, so that dstW may block.
//
// newWriter is called once, at once. The writer that it returns must not be
// stackless itself.
//
// The errors are those of the writer or else those of dstW. Like the writers it
// is made of, a Writer is for one goroutine at a time. What it holds between
// calls is what the writer from newWriter holds.
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

// onWorker runs the call of a writer, for all of them.
var onWorker = NewFunc(func(ctx any) { ctx.(*writer).run() })

// do runs a method of the inner writer and passes on what it wrote.
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

// output takes what the inner writer writes. It has a buffer only during calls.
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
