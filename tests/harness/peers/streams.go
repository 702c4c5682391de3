package peers

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/door"
)

type CountedClose struct {
	io.Reader
	N *atomic.Int32
}

func (c CountedClose) Close() error { c.N.Add(1); return nil }

var ErrBoom = errors.New("boom")

// BreaksOff returns a stream that gives s and then fails.
func BreaksOff(s string) io.Reader { return io.MultiReader(strings.NewReader(s), ErrReader{ErrBoom}) }

// FormBody returns a form with one file of n bytes, and its Content-Type.
func FormBody(n int) (body, contentType string) {
	var b strings.Builder
	mw := multipart.NewWriter(&b)
	fw, _ := mw.CreateFormFile("file", "name")
	_, _ = io.WriteString(fw, strings.Repeat("x", n))
	_ = mw.WriteField("a", "b")
	_ = mw.Close()
	return b.String(), mw.FormDataContentType()
}

// ErrReader is a stream that fails.
type ErrReader struct{ Err error }

func (r ErrReader) Read([]byte) (int, error) { return 0, r.Err }

// Poll returns a channel that is closed when cond is true.
func Poll(cond func() bool) <-chan struct{} {
	c := make(chan struct{})
	go func() {
		for !cond() {
			time.Sleep(time.Millisecond) // between two looks
		}
		close(c)
	}()
	return c
}

type ReaderFunc func(p []byte) (int, error)

func (r ReaderFunc) Read(p []byte) (int, error) { return r(p) }

// OnlyReader hides all methods of an fs.File except the three of the interface.
type OnlyReader struct{ fs.File }

// PlainTree is a tree whose files can only be read from the start.
type PlainTree struct{ fs.FS }

func (p PlainTree) Open(name string) (fs.File, error) {
	f, err := p.FS.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return f, nil
	}
	return OnlyReader{f}, nil
}

// CountReader returns the count that count makes of the length that it could read.
type CountReader struct {
	fs.File
	Count func(n int) int
}

func (c CountReader) Read(p []byte) (int, error)            { return c.Count(len(p)), nil }
func (c CountReader) ReadAt(p []byte, _ int64) (int, error) { return c.Count(len(p)), nil }
func (c CountReader) Close() error                          { return nil }

// H2PlainReader hides the other methods of a reader.
type H2PlainReader struct{ R io.Reader }

func (r H2PlainReader) Read(p []byte) (int, error) { return r.R.Read(p) }

type H2ReaderFunc func() (int, error)

func (f H2ReaderFunc) Read([]byte) (int, error) { return f() }

// SentBody is a body that a test sends. It never ends by itself: it gives bytes without an end or,
// if stalls is set, some bytes and then none until release is closed.
type SentBody struct {
	T        *testing.T
	Stalls   bool
	Release  chan struct{}
	Returned atomic.Bool // the call has
	Reads    atomic.Int32
	Closed   atomic.Int32
	given    bool
}

func (b *SentBody) Read(p []byte) (int, error) {
	b.Reads.Add(1)
	defer b.Reads.Add(-1)
	if b.Stalls && b.given {
		<-b.Release
		return 0, io.EOF
	}
	b.given = true
	return len(p), nil
}

func (b *SentBody) Close() error {
	if b.Reads.Load() > 0 {
		b.T.Error("the stream was closed during its Read")
	}
	b.Closed.Add(1)
	return nil
}

// LentBody is a SentBody that implements door.Lent.
type LentBody struct {
	SentBody
	Mu      sync.Mutex
	Revoked bool
	Used    bool
	Ended   chan struct{} // closed by the first Revoke
	running sync.WaitGroup
}

var ErrRevoked = errors.New("revoked")

func (b *LentBody) Read(p []byte) (int, error) {
	b.Mu.Lock()
	if b.Revoked {
		b.Mu.Unlock()
		return 0, ErrRevoked
	}
	if b.Returned.Load() {
		b.T.Error("a Read began after the call had returned")
	}
	b.Used = true
	b.running.Add(1)
	b.Mu.Unlock()
	defer b.running.Done()
	if b.Stalls && b.given {
		<-b.Ended
		return 0, ErrRevoked
	}
	b.given = true
	return len(p), nil
}

func (b *LentBody) Revoke(door.Seal) {
	b.Mu.Lock()
	if !b.Revoked {
		b.Revoked = true
		close(b.Ended)
	}
	b.Mu.Unlock()
	b.running.Wait()
}

func (b *LentBody) Close() error { b.Closed.Add(1); return nil }

type PanicReader struct{}

func (PanicReader) Read([]byte) (int, error) { panic("ouch") }

var CompressText = strings.Repeat("hello world ", 100)

// ClosingReader records how it was closed.
type ClosingReader struct {
	io.Reader
	Closed int
	Reason error
}

func (r *ClosingReader) Close() error                   { r.Closed++; return nil }
func (r *ClosingReader) CloseWithError(err error) error { r.Reason = err; return nil }

// Tests of reads of a streamed body with large buffers, which the engine fills directly.

// BodyText returns n bytes, in which a part that is missing or repeated shows.
func BodyText(n int) string {
	b := make([]byte, 0, n+8)
	for i := 0; len(b) < n; i++ {
		b = fmt.Appendf(b, "%07d.", i)
	}
	return string(b[:n])
}

// Chunks returns body in the chunked coding, in chunks of size bytes.
func Chunks(body string, size int) string {
	var b strings.Builder
	for len(body) > 0 {
		n := min(size, len(body))
		fmt.Fprintf(&b, "%x\r\n%s\r\n", n, body[:n])
		body = body[n:]
	}
	return b.String() + "0\r\n\r\n"
}

// CloserFunc is a user value that is closed.
type CloserFunc func() error

func (f CloserFunc) Close() error { return f() }
