package gale

import (
	"bytes"
	"io"
	"os"
	"reflect"
	"strings"
	"sync"

	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/internal/pool"
)

// lend makes c part of l: its buffer moves to memory of l, and grows there from now on.
func (c *content) lend(l *lifetime.Loan) {
	c.loan = l
	if b := c.body; b != nil {
		c.body = nil
		c.takeBody(b)
	}
}

// move moves the buffer of c, which is part of l, to other memory of l.
func (c *content) move(l *lifetime.Loan) {
	if c.body != nil {
		c.body.B, c.lent = lifetime.Move(l, c.body.B), false
	}
}

// madeByProgram reports whether the body is a stream of the program, perhaps one that is
// compressed.
func (c *content) madeByProgram() bool {
	r := c.bodyStream
	for {
		switch s := r.(type) {
		case nil:
			return c.streamWriter != nil
		case *streamPipe:
			return true // of a StreamWriter
		case *encodingReader:
			r = s.src
			continue
		}
		t := reflect.TypeOf(r)
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		return t.PkgPath() != module && !strings.HasPrefix(t.PkgPath(), module+"/")
	}
}

// module is the path of this package, and a prefix of those of its subpackages.
const module = "github.com/galehttp/gale"

// lapse empties c at the end of its loan, after its stream was closed. Memory of the
// program that is the body, as of SetBodyRaw, is not part of the loan.
func (c *content) lapse() {
	if c.body != nil {
		c.loan.KeepLast(c.body.B)
	}
	*c = content{loan: c.loan}
}

// dropLent overwrites the buffered body of a lent message, and drops it, if the program has a
// slice of it, and the loan is strict.
func (c *content) dropLent() {
	if c.body == nil || !c.lent || !strict(c.loan) {
		return
	}
	lifetime.Spoil(c.body.B)
	c.body, c.lent = nil, false
}

// newBuf returns an empty buffer with room for at least n bytes, of memory of the loan if
// there is one.
func (c *content) newBuf(n int) *pool.Buf {
	if c.loan != nil {
		return pool.Lent(c.loan, n)
	}
	return pool.Get(n)
}

// takeLent is takeBody for a lent message: it makes a copy of b the body, in memory of the
// loan, and gives b back.
func (c *content) takeLent(b *pool.Buf) {
	used(c.loan)
	if c.body == nil || c.lent || cap(c.body.B) < len(b.B) {
		c.body, c.lent = c.newBuf(len(b.B)), false
	}
	c.body.B = append(c.body.B[:0], b.B...)
	pool.Put(b)
}

// swapLent exchanges the buffered bytes of a lent message with p; see Request.SwapBody. p
// becomes memory of the loan. What it returns belongs to the caller, so it is a copy.
func (c *content) swapLent(p []byte) []byte {
	old := append([]byte(nil), c.swapBody(p)...)
	if !c.loan.Over() {
		c.loan.Keep(p)
	}
	return old
}

// bodyWriter is what BodyWriter gives out: a handle for a message, which the program may
// keep. It ends when other code gets the memory of the message. Any goroutine may call its
// methods, but only while no other code uses the message.
type bodyWriter struct {
	mu sync.Mutex
	to appender // nil at the end
}

// appender is a message whose body can grow.
type appender interface {
	AppendBody(p []byte)
	AppendBodyString(s string)
}

func (w *bodyWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.to == nil {
		return 0, errWriterEnded
	}
	w.to.AppendBody(p)
	return len(p), nil
}

func (w *bodyWriter) WriteString(s string) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.to == nil {
		return 0, errWriterEnded
	}
	w.to.AppendBodyString(s)
	return len(s), nil
}

// lendWriter returns the writer that *w holds, which it makes at the first call.
func lendWriter(w **bodyWriter, to appender) *bodyWriter {
	if *w == nil {
		*w = &bodyWriter{to: to}
	}
	return *w
}

// endWriter ends the writer that *w holds, and drops it.
func endWriter(w **bodyWriter) {
	(*w).mu.Lock()
	(*w).to = nil
	(*w).mu.Unlock()
	*w = nil
}

// errStreamClosed is the error of reading a request body after the handler has returned.
var errStreamClosed error = &door.BodyClosed{
	Text: "gale: the request body was closed: it can't be read after the handler has returned",
	Done: ErrRequestDone,
}

// lentReader reads the body of a message, which r refers to, until a writer of the message ends.
type lentReader struct {
	until *bodyWriter
	r     io.Reader
	loan  *lifetime.Loan // of the message
}

func (l *lentReader) Read(p []byte) (int, error) {
	l.until.mu.Lock()
	defer l.until.mu.Unlock()
	if l.until.to == nil || lapsed(l.loan) {
		return 0, errStreamClosed
	}
	return l.r.Read(p)
}

func init() { door.WriteTo = writeTo }

// writeTo calls wt.WriteTo. A stream of the program gets a writer of its own, which ends when
// WriteTo has returned: a program that keeps it can't write into a later message.
func writeTo(wt io.WriterTo, w io.Writer) (int64, error) {
	switch wt.(type) {
	case *streamPipe, *streamConn, *encodingReader, door.Lent, *os.File, *bytes.Reader, *bytes.Buffer, *strings.Reader:
		return wt.WriteTo(w) // they keep nothing
	}
	l := &lentWriter{w: w}
	defer l.end()
	return wt.WriteTo(l)
}

// lentWriter passes bytes on until its end.
type lentWriter struct {
	mu sync.Mutex
	w  io.Writer // nil at the end
}

func (l *lentWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.w == nil {
		return 0, errWriterEnded
	}
	return l.w.Write(p)
}

// BytesLeft is for streamPipe.WriteTo, which the program's stream may call.
func (l *lentWriter) BytesLeft() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b, ok := l.w.(boundedWriter); ok {
		return b.BytesLeft()
	}
	return -1
}

// end ends l. It waits for a Write that runs.
func (l *lentWriter) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.w = nil
}
