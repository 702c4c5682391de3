package gale

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"strings"

	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/pool"
)

// copyBlock is how many bytes of a stream are read, and sent as a chunk, at a
// time.
const copyBlock = 32 << 10

// errBodyStreamTooLong is the error for bytes beyond the announced length. A stream that
// writes itself gets it, and a handler gets it from Flush.
var errBodyStreamTooLong = newError("body stream exceeds content-length")

// errShortBody says that a body is shorter than its header said.
var errShortBody = errors.New("gale: the response body is shorter than the Content-Length sent")

func init() { door.ErrBodyTooLong, door.ErrBodyTooShort = errBodyStreamTooLong, errShortBody }

// writeBodyFixed writes a body of exactly size bytes from r. It doesn't read r any
// further: that could take long, or the bytes could belong to something else. If r has
// fewer bytes, it returns an error, and the message is incomplete.
func writeBodyFixed(w io.Writer, r io.Reader, size int64) error {
	n, err := copyFixed(w, r, size)
	if err == nil && n != size {
		err = errBodyStreamShort(n, size)
	}
	return err
}

func errBodyStreamShort(n, size int64) error {
	return errorf("copied %d bytes from body stream instead of %d bytes", n, size)
}

// copyFixed copies at most size bytes from r to w.
func copyFixed(w io.Writer, r io.Reader, size int64) (n int64, err error) {
	switch r := r.(type) {
	case *os.File:
		if bw, ok := w.(*bufio.Writer); ok {
			return bw.ReadFrom(&io.LimitedReader{R: r, N: size}) // lets the system copy where it can
		}
	case *bytes.Reader, *bytes.Buffer, *strings.Reader:
		if m := inMemory(r, size); m != nil {
			return m.WriteTo(w)
		}
	default:
		// Only a stream that is known to have a suitable WriteTo: another one may read
		// further than it has to.
		if wt, ok := bodyWriterTo(r); ok {
			f := fixedWriter{head.Promised{Left: size}, w}
			if _, err = writeTo(wt, &f); f.Exceeded() {
				err = nil
			}
			return size - f.Left, err
		}
	}
	return copyStream(w, r, size)
}

// memoryReader is a reader of bytes in memory.
type memoryReader interface {
	io.Reader
	io.WriterTo
	Len() int
}

// inMemory returns r if it is one that reads size bytes from memory, else nil.
func inMemory(r io.Reader, size int64) memoryReader {
	switch r.(type) {
	case *bytes.Reader, *bytes.Buffer, *strings.Reader:
		if m := r.(memoryReader); int64(m.Len()) == size {
			return m
		}
	}
	return nil
}

// trails reports whether r, of which the length is known, is read to its end over HTTP/2.
func trails(r io.Reader) bool {
	t, ok := r.(door.Trailing)
	return ok && t.Trails()
}

// readEnd reads the end of r. If r has more bytes, that is an error.
func readEnd(r io.Reader) error {
	buf := pool.Get(1)
	defer pool.Put(buf)
	for empty := 0; ; {
		n, err := pool.ReadOnce(r, buf.B[:1], &empty)
		switch {
		case n > 0:
			return errBodyStreamTooLong
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// fixedWriter passes on the bytes that were promised. If a stream writes more, it gets an
// error.
type fixedWriter struct {
	head.Promised
	w io.Writer
}

func (f *fixedWriter) Write(p []byte) (int, error) {
	return f.Pass(p, f.w.Write, errBodyStreamTooLong)
}

// copyBody copies r to w.
func copyBody(w io.Writer, r io.Reader) (int64, error) {
	if wt, ok := mayWriteTo(r); ok {
		return writeTo(wt, w)
	}
	return copyStream(w, r, math.MaxInt64)
}

// mayWriteTo returns r as an io.WriterTo, unless r says that it must be read; see
// BodyWriterTo. This is fasthttp's rule where streams are copied unchanged; bodyWriterTo
// is stricter.
func mayWriteTo(r io.Reader) (io.WriterTo, bool) {
	if r, ok := r.(BodyWriterTo); ok {
		return r, r.SupportsBodyWriteTo()
	}
	wt, ok := r.(io.WriterTo)
	return wt, ok
}

// copyStream copies at most limit bytes from r to w, in pieces of up to copyBlock.
func copyStream(w io.Writer, r io.Reader, limit int64) (sum int64, err error) {
	buf := pool.Get(copyBlock)
	defer pool.Put(buf)
	empty := 0
	for sum < limit {
		b := buf.B[:min(copyBlock, limit-sum)]
		n, err := pool.ReadOnce(r, b, &empty)
		if n > 0 {
			m, werr := w.Write(b[:n])
			sum += int64(m)
			if werr == nil && m < n {
				werr = io.ErrShortWrite
			}
			if werr != nil {
				return sum, werr
			}
		}
		if err == io.EOF {
			return sum, nil
		}
		if err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// writeBodyChunked writes the bytes of r in the chunked coding, with the last chunk but
// without the trailer section after it. Each piece is flushed as soon as it is read.
func writeBodyChunked(w *bufio.Writer, r io.Reader) error {
	c := chunkWriter{w: w}
	var err error
	switch r := r.(type) {
	case *streamPipe:
		c.more = r.ready
	case *streamConn:
		c.more = r.p.ready
	}
	if wt, ok := bodyWriterTo(r); ok {
		_, err = writeTo(wt, &c)
	} else {
		_, err = copyStream(&c, r, math.MaxInt64)
	}
	if err != nil {
		return err
	}
	return c.end()
}

// writeStreamChunked lets sw write straight into the chunked coding, with the last chunk
// but without the trailer section after it.
func writeStreamChunked(w *bufio.Writer, sw StreamWriter) (err error) {
	c := chunkWriter{w: w}
	defer recoverWrite(&err)
	if err := callStreamWriter(sw, &c, bufio.NewWriter(nil)); err != nil {
		return err
	}
	return c.end()
}

// callStreamWriter calls sw with a bufio.Writer for w, and flushes that. If sw flushes it before the
// first byte, w sends the head, if it is a door.HeadFlusher. The program may keep the bufio.Writer, so
// no other body gets it. It has the buffer of buf, which isn't used meanwhile, and loses it when sw
// has returned.
func callStreamWriter(sw StreamWriter, w io.Writer, buf *bufio.Writer) error {
	o := &streamOutput{w: w}
	bw := &o.bw
	*bw = *buf
	bw.Reset(o)
	defer func() { *bw, o.w = *endedWriter, nil }() // also after a panic
	_ = bw.WriteByte(0)
	sw(bw)
	o.ends = true
	return bw.Flush()
}

// streamOutput passes on what a StreamWriter writes, without the first byte. A bufio.Writer that holds
// nothing doesn't tell anything when it is flushed, so callStreamWriter puts that byte there.
type streamOutput struct {
	bw    bufio.Writer
	w     io.Writer
	begun bool // the byte has come
	ends  bool // the StreamWriter has returned
}

func (o *streamOutput) Write(p []byte) (int, error) {
	if o.begun {
		return o.w.Write(p)
	}
	o.begun = true
	if len(p) == 1 {
		if f, ok := o.w.(door.HeadFlusher); ok && !o.ends {
			return 1, f.FlushHead()
		}
		return 1, nil
	}
	n, err := o.w.Write(p[1:])
	return n + 1, err
}

// errWriterEnded is the error of a writer that is used late: the StreamWriter that got it has
// returned, or the message whose BodyWriter it is was released, or its request is over.
var errWriterEnded = newError("the writer of a body was used after its end")

// endedWriter is what the writer of a body becomes when the body has ended. Its methods
// return errWriterEnded, and there is no room in its buffer.
var endedWriter = func() *bufio.Writer {
	bw := bufio.NewWriterSize(refusingWriter{}, 1)
	_ = bw.WriteByte(0)
	_ = bw.Flush()
	return bw
}()

// refusingWriter is the writer of a body that has ended.
type refusingWriter struct{}

func (refusingWriter) Write([]byte) (int, error) { return 0, errWriterEnded }

// recoverWrite is deferred around calls of a user's stream, which may panic.
func recoverWrite(err *error) {
	if v := recover(); v != nil {
		*err = panicError(v)
	}
}

// bodyWriterTo returns r as an io.WriterTo if its WriteTo may be used; see BodyWriterTo.
func bodyWriterTo(r io.Reader) (io.WriterTo, bool) {
	switch r := r.(type) {
	case BodyWriterTo:
		return r, r.SupportsBodyWriteTo()
	case *streamConn:
		return r, true
	case *bytes.Reader:
		return r, true
	case *bytes.Buffer:
		return r, true
	case *strings.Reader:
		return r, true
	}
	return nil, false
}

// chunkWriter sends each write as a chunk (RFC 9112 section 7.1) and flushes it, unless
// more reports that more bytes are ready and only little is held back.
type chunkWriter struct {
	w    *bufio.Writer
	more func() bool // may be nil
	held int         // bytes written since the last flush
}

// always, as chunkWriter.more, leaves flushing to the caller.
func always() bool { return true }

func (c *chunkWriter) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil // an empty chunk would end the body
	}
	if _, err := c.w.Write(h1.AppendChunkSize(c.w.AvailableBuffer(), len(p))); err != nil {
		return 0, err
	}
	n, err := c.w.Write(p)
	if err != nil {
		return n, err
	}
	if _, err := c.w.WriteString("\r\n"); err != nil {
		return n, err
	}
	if c.held += n; c.more != nil && c.held < copyBlock && c.more() {
		return n, nil
	}
	c.held = 0
	return n, c.w.Flush()
}

// FlushHead implements door.HeadFlusher.
func (c *chunkWriter) FlushHead() error { return c.w.Flush() }

// end writes the last chunk.
func (c *chunkWriter) end() error {
	_, err := c.w.Write(h1.AppendLastChunk(c.w.AvailableBuffer()))
	return err
}
