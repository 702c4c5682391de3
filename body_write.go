package gale

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
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
	var n int64
	var err error
	lim := &io.LimitedReader{R: r, N: size}
	if _, ok := r.(*os.File); ok {
		n, err = w.ReadFrom(lim) // leaves it to the operating system where it can
	} else {
		n, err = copyStream(w, lim)
	}
	if err != nil {
		return err
	}
	if n != size {
		return fmt.Errorf("copied %d bytes from body stream instead of %d bytes", n, size)
	}
	return checkStreamEnd(w, r)
}

// checkStreamEnd sees to it that r has nothing more to give. It sends what
// there is before, since r may take its time.
func checkStreamEnd(w *bufio.Writer, r io.Reader) error {
	switch l := r.(type) {
	case *bodyReader:
		if l.atEnd() {
			return nil
		}
	case *bytes.Reader, *bytes.Buffer, *strings.Reader:
		if l.(interface{ Len() int }).Len() == 0 {
			return nil
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	var one [1]byte
	for range maxEmptyReads {
		n, err := r.Read(one[:])
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

// copyStream copies what r gives to w, in pieces of up to copyBlock bytes.
func copyStream(w io.Writer, r io.Reader) (sum int64, err error) {
	buf := pool.Get(copyBlock)
	defer pool.Put(buf)
	b := buf.B[:copyBlock]
	empty := 0
	for {
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
}

// maxEmptyReads is how often in a row a stream may return nothing at all.
const maxEmptyReads = 100

// writeBodyChunked writes what r gives in the chunked coding, with the last
// chunk but without the trailer section behind it. Each piece goes out as soon
// as it is there.
func writeBodyChunked(w *bufio.Writer, r io.Reader) error {
	c := chunkWriter{w: w}
	var err error
	if p, ok := r.(*streamPipe); ok {
		c.more = p.ready
	}
	if wt, ok := bodyWriterTo(r); ok {
		_, err = wt.WriteTo(&c)
	} else {
		_, err = copyStream(&c, r)
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
