package gale

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/pool"
)

// copyBlock is how many bytes of a stream are read, and sent as a chunk, at a
// time.
const copyBlock = 32 << 10

var errBodyStreamTooLong = errors.New("fasthttp: body stream exceeds content-length")

// writeBodyFixed writes a body of exactly size bytes from r. A stream with
// fewer or more bytes is an error, and the message then broken.
func writeBodyFixed(w *bufio.Writer, r io.Reader, size int64) error {
	n, ended, err := copyFixed(w, r, size)
	switch {
	case err != nil:
		return err
	case n != size:
		return fmt.Errorf("copied %d bytes from body stream instead of %d bytes", n, size)
	case ended:
		return nil
	}
	return checkStreamEnd(w, r)
}

// copyFixed copies what r gives to w, at most size bytes. ended says that r is
// known to have no more.
func copyFixed(w *bufio.Writer, r io.Reader, size int64) (n int64, ended bool, err error) {
	switch r := r.(type) {
	case *os.File:
		n, err = w.ReadFrom(&io.LimitedReader{R: r, N: size}) // leaves it to the system where it can
		return n, false, err
	case *bytes.Reader, *bytes.Buffer, *strings.Reader:
		if int64(r.(interface{ Len() int }).Len()) != size {
			break
		}
		n, err = r.(io.WriterTo).WriteTo(w)
		return n, true, err
	default:
		if wt, ok := mayWriteTo(r); ok {
			n, err = wt.WriteTo(&fixedWriter{w: w, left: size})
			return n, true, err
		}
	}
	n, err = copyStream(w, r, size)
	return n, false, err
}

// fixedWriter lets left bytes through.
type fixedWriter struct {
	w    *bufio.Writer
	left int64
}

func (f *fixedWriter) Write(p []byte) (n int, err error) {
	if int64(len(p)) > f.left {
		p, err = p[:f.left], errBodyStreamTooLong
	}
	n, werr := f.w.Write(p)
	f.left -= int64(n)
	if werr != nil {
		err = werr
	}
	return n, err
}

// checkStreamEnd sees to it that r has nothing more to give. It sends what
// there is before, since r may take its time.
func checkStreamEnd(w *bufio.Writer, r io.Reader) error {
	if b, ok := r.(*bodyReader); ok && b.atEnd() {
		return nil
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return readEnd(r)
}

// readEnd reads the end of r, and is an error if something else comes.
func readEnd(r io.Reader) error {
	buf := pool.Get(1)
	defer pool.Put(buf)
	for range maxEmptyReads {
		n, err := r.Read(buf.B[:1])
		switch {
		case n > 0:
			return errBodyStreamTooLong
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
	return io.ErrNoProgress
}

// copyBody copies what r gives to w.
func copyBody(w io.Writer, r io.Reader) (int64, error) {
	if wt, ok := mayWriteTo(r); ok {
		return wt.WriteTo(w)
	}
	return copyStream(w, r, math.MaxInt64)
}

// mayWriteTo returns r as an io.WriterTo, unless r says that it must be read;
// see BodyWriterTo. Where streams are copied as they are, fasthttp goes by
// this rule, not by that of bodyWriterTo.
func mayWriteTo(r io.Reader) (io.WriterTo, bool) {
	if r, ok := r.(BodyWriterTo); ok {
		return r, r.SupportsBodyWriteTo()
	}
	wt, ok := r.(io.WriterTo)
	return wt, ok
}

// copyStream copies what r gives to w, at most limit bytes, in pieces of up to
// copyBlock.
func copyStream(w io.Writer, r io.Reader, limit int64) (sum int64, err error) {
	buf := pool.Get(copyBlock)
	defer pool.Put(buf)
	empty := 0
	for sum < limit {
		b := buf.B[:min(copyBlock, limit-sum)]
		n, err := r.Read(b)
		if n > 0 {
			empty = 0
			m, werr := w.Write(b[:n])
			sum += int64(m)
			if werr == nil && m < n {
				werr = io.ErrShortWrite
			}
			if werr != nil {
				return sum, werr
			}
		} else if empty++; empty == maxEmptyReads {
			return sum, io.ErrNoProgress
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

// maxEmptyReads is how often in a row a stream may return nothing at all.
const maxEmptyReads = 100

// writeBodyChunked writes what r gives in the chunked coding, with the last
// chunk but without the trailer section behind it. Each piece goes out as soon
// as it is there.
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
		_, err = wt.WriteTo(&c)
	} else {
		_, err = copyStream(&c, r, math.MaxInt64)
	}
	if err != nil {
		return err
	}
	return c.end()
}

// writeStreamChunked lets sw write straight into the chunked coding, with the
// last chunk but without the trailer section behind it.
func writeStreamChunked(w *bufio.Writer, sw StreamWriter) (err error) {
	c := chunkWriter{w: w}
	defer recoverWrite(&err)
	bw := bufio.NewWriter(&c)
	sw(bw)
	if err := bw.Flush(); err != nil {
		return err
	}
	return c.end()
}

// recoverWrite is deferred around what a user's stream may panic in.
func recoverWrite(err *error) {
	if v := recover(); v != nil {
		*err = panicError(v)
	}
}

// bodyWriterTo returns r as an io.WriterTo if that may be used; see
// BodyWriterTo.
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

// chunkWriter sends each write as a chunk (RFC 9112 section 7.1) and flushes
// it, unless more reports that more is ready and little was held back for that.
type chunkWriter struct {
	w    *bufio.Writer
	more func() bool // may be nil
	held int         // bytes written since the last flush
}

// always as chunkWriter.more leaves the flushing to the caller.
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

// end writes the last chunk.
func (c *chunkWriter) end() error {
	_, err := c.w.Write(h1.AppendLastChunk(c.w.AvailableBuffer()))
	return err
}
