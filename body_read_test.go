package gale

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/msg"
)

// bodyCases are bodies as they arrive on a connection, and the bytes after them.
var bodyCases = []struct {
	name   string
	length int64
	in     string
	want   string
	rest   string
	err    error // as by errors.Is; errChunk for any *ErrBrokenChunk
}{
	{name: "none", length: 0, in: "next", rest: "next"},
	{name: "known length", length: 5, in: "abcdenext", want: "abcde", rest: "next"},
	{name: "known length, cut", length: 9, in: "abcde", want: "abcde", err: io.ErrUnexpectedEOF},
	{name: "known length, nothing", length: 1 << 40, in: "", err: io.ErrUnexpectedEOF},
	{name: "to the end", length: msg.LenUnknown, in: "abcde", want: "abcde"},
	{name: "to the end, empty", length: msg.LenUnknown},
	{name: "chunks", length: msg.LenChunked, in: "3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\nnext", want: "abc0123456789", rest: "next"},
	{name: "chunks, none", length: msg.LenChunked, in: "0\r\n\r\nnext", rest: "next"},
	{name: "chunks, trailers", length: msg.LenChunked, in: "1\r\na\r\n0\r\nX-T: 1\r\nX-U: 2\r\n\r\nnext", want: "a", rest: "next"},
	{name: "chunks, cut in size", length: msg.LenChunked, in: "3\r\nabc\r\n3", want: "abc", err: io.ErrUnexpectedEOF},
	{name: "chunks, cut in data", length: msg.LenChunked, in: "3\r\nab", want: "ab", err: io.ErrUnexpectedEOF},
	{name: "chunks, cut after data", length: msg.LenChunked, in: "3\r\nabc", want: "abc", err: io.ErrUnexpectedEOF},
	{name: "chunks, cut before the last", length: msg.LenChunked, in: "3\r\nabc\r\n", want: "abc", err: io.ErrUnexpectedEOF},
	{name: "chunks, cut in trailers", length: msg.LenChunked, in: "3\r\nabc\r\n0\r\nX-T", want: "abc", err: io.ErrUnexpectedEOF},
	{name: "chunks, no empty line", length: msg.LenChunked, in: "3\r\nabc\r\n0\r\n", want: "abc", err: io.ErrUnexpectedEOF},
	{name: "chunks, bad size", length: msg.LenChunked, in: "xyz\r\nabc\r\n0\r\n\r\n", err: h1.ErrChunkSize},
	{name: "chunks, bad end", length: msg.LenChunked, in: "3\r\nabcd\r\n0\r\n\r\n", want: "abc", err: h1.ErrChunkEnd},
	{name: "chunks, forbidden trailer", length: msg.LenChunked, in: "3\r\nabc\r\n0\r\nContent-Length: 1\r\n\r\n", want: "abc", err: h1.ErrTrailer},
}

func TestReadBody(t *testing.T) {
	for _, c := range bodyCases {
		for _, size := range []int{32, 33, 4096} {
			for how, wrap := range map[string]func(io.Reader) io.Reader{
				"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader, "with EOF": iotest.DataErrReader,
			} {
				br := bufio.NewReaderSize(wrap(strings.NewReader(c.in)), size)
				var b content
				err := b.readBody(br, c.length, 0, nil)
				checkBody(t, c.name+"/buffered/"+how, string(b.bodyBytes()), err, c.want, c.err)
				checkRest(t, c.name+"/buffered/"+how, br, err, c.rest)

				br = bufio.NewReaderSize(wrap(strings.NewReader(c.in)), size)
				var d bodyReader
				d.init(br, c.length, nil)
				got, err := io.ReadAll(iotest.OneByteReader(&d))
				checkBody(t, c.name+"/streamed/"+how, string(got), err, c.want, c.err)
				checkRest(t, c.name+"/streamed/"+how, br, err, c.rest)
				again, err2 := d.Read(make([]byte, 9))
				if again != 0 || err == nil && err2 != io.EOF || err != nil && err2 != err {
					t.Errorf("%s: after the end: %d, %v", c.name, again, err2)
				}
			}
		}
	}
}

func checkBody(t *testing.T, name, got string, err error, want string, wantErr error) {
	t.Helper()
	if got != want || !errors.Is(err, wantErr) || wantErr == nil && err != nil {
		t.Errorf("%s: %q, %v; want %q, %v", name, got, err, want, wantErr)
	}
	var broken ErrBrokenChunk
	var cause *h1.Error
	if errors.As(err, &cause) && !errors.As(err, &broken) {
		t.Errorf("%s: %T isn't an ErrBrokenChunk", name, err)
	}
}

// checkRest checks that reading stopped at the end of the body.
func checkRest(t *testing.T, name string, br *bufio.Reader, err error, want string) {
	t.Helper()
	if err != nil {
		return
	}
	if rest, _ := io.ReadAll(br); string(rest) != want {
		t.Errorf("%s: left %q, want %q", name, rest, want)
	}
}

func TestReadBodyLimit(t *testing.T) {
	for _, c := range bodyCases {
		if c.err != nil || len(c.want) == 0 {
			continue
		}
		for limit := 1; limit <= len(c.want)+1; limit++ {
			var b content
			err := b.readBody(bufio.NewReader(strings.NewReader(c.in)), c.length, limit, nil)
			if limit < len(c.want) && err != ErrBodyTooLarge || limit >= len(c.want) && err != nil {
				t.Errorf("%s, limit %d: %v", c.name, limit, err)
			}
			if len(b.bodyBytes()) > limit {
				t.Errorf("%s, limit %d: holds %d bytes", c.name, limit, len(b.bodyBytes()))
			}
		}
	}
}

type sinkLog []string

func (l *sinkLog) takeTrailers(f *msg.Fields) {
	for i := range f.Recs {
		*l = append(*l, string(f.RawName(i))+"="+string(f.Value(i)))
	}
}

func TestReadBodyTrailers(t *testing.T) {
	in := "1\r\na\r\n0\r\nX-T: 1\r\nX-U: 2\r\n\r\n"
	want := sinkLog{"X-T=1", "X-U=2"}
	var got sinkLog
	var b content
	err := b.readBody(bufio.NewReader(strings.NewReader(in)), msg.LenChunked, 0, &got)
	if err != nil || !slices.Equal(got, want) {
		t.Fatal(got, err)
	}
	got = nil
	var d bodyReader
	d.init(bufio.NewReader(strings.NewReader(in)), msg.LenChunked, &got)
	if _, err := io.Copy(io.Discard, &d); err != nil || !slices.Equal(got, want) {
		t.Fatal(got, err)
	}
}

// A large declared length allocates nothing before bytes arrive.
func TestReadBodyGrowsWithArrival(t *testing.T) {
	var b content
	err := b.readBody(bufio.NewReader(strings.NewReader("abc")), 1<<50, 0, nil)
	if err != io.ErrUnexpectedEOF || cap(b.body.B) > 4096 {
		t.Fatalf("%v, %d bytes held for 3 that came", err, cap(b.body.B))
	}
	long := strings.Repeat("x", 100_000)
	b = content{}
	if err := b.readBody(bufio.NewReader(strings.NewReader(long)), int64(len(long)), 0, nil); err != nil {
		t.Fatal(err)
	}
	if cap(b.body.B) > 4*len(long) {
		t.Fatalf("%d bytes held for %d", cap(b.body.B), len(long))
	}
}

func TestBodyReaderClose(t *testing.T) {
	br := bufio.NewReader(strings.NewReader("abcdenext"))
	var d bodyReader
	d.init(br, 5, nil)
	p := make([]byte, 2)
	if n, err := d.Read(p); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	_ = d.Close()
	_ = d.CloseWithError(io.ErrNoProgress)
	if _, err := d.Read(p); err != io.ErrClosedPipe {
		t.Fatalf("Read after Close: %v, a body that looks complete must not come of it", err)
	}
	if rest, _ := io.ReadAll(br); string(rest) != "cdenext" {
		t.Fatalf("Close took bytes: %q are left", rest)
	}
	d.init(br, 0, nil)
	if _, err := d.Read(p); err != io.EOF {
		t.Fatalf("the end is lost by Close: %v", err)
	}
}

// Close may be called while a Read waits for the connection.
func TestBodyReaderConcurrentClose(t *testing.T) {
	for range 50 {
		pr, pw := io.Pipe()
		d := &bodyReader{}
		d.init(bufio.NewReader(pr), msg.LenChunked, nil)
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = io.Copy(io.Discard, d); pr.Close() })
		wg.Go(func() { _ = d.Close() })
		wg.Go(func() { _ = d.CloseWithError(nil) })
		_, _ = io.WriteString(pw, "3\r\nabc\r\n")
		_ = pw.Close()
		wg.Wait()
	}
}

// For any input both ways of reading agree and stop at the same byte. If there are
// several errors, they may find different ones first.
func FuzzReadBody(f *testing.F) {
	for _, c := range bodyCases {
		f.Add(c.length, c.in, uint8(16))
	}
	f.Fuzz(func(t *testing.T, length int64, in string, size uint8) {
		if length < msg.LenUnknown {
			return
		}
		b1 := bufio.NewReaderSize(strings.NewReader(in), int(size))
		b2 := bufio.NewReaderSize(iotest.OneByteReader(strings.NewReader(in)), int(size))
		var c content
		err1 := c.readBody(b1, length, 0, nil)
		var d bodyReader
		d.init(b2, length, nil)
		got, err2 := io.ReadAll(&d)
		if (err1 == nil) != (err2 == nil) || !bytes.Equal(c.bodyBytes(), got) {
			t.Fatalf("buffered %q %v, streamed %q %v", c.bodyBytes(), err1, got, err2)
		}
		if err1 == nil {
			rest1, _ := io.ReadAll(b1)
			rest2, _ := io.ReadAll(b2)
			if !bytes.Equal(rest1, rest2) {
				t.Fatalf("left %q and %q", rest1, rest2)
			}
		}
	})
}
