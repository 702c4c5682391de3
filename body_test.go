package gale

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// No method returns a body that was not read to its end, and it can't be sent.
func TestBrokenRequestBody(t *testing.T) {
	form, formType := peers.FormBody(10)
	const urlencoded = "application/x-www-form-urlencoded"
	for name, test := range map[string]struct {
		contentType string
		read        func(req *Request) any
	}{
		"Body":        {"", func(r *Request) any { return string(r.Body()) }},
		"SwapBody":    {"", func(r *Request) any { return string(r.SwapBody(nil)) }},
		"BodyWriteTo": {"", func(r *Request) any { _ = r.BodyWriteTo(io.Discard); return string(r.Body()) }},
		"BodyUncompressed": {"", func(r *Request) any {
			b, err := r.BodyUncompressed()
			return fmt.Sprint(string(b), errors.Is(err, peers.ErrBoom))
		}},
		"BodyGunzip": {"", func(r *Request) any {
			b, err := r.BodyGunzip()
			return fmt.Sprint(string(b), errors.Is(err, peers.ErrBoom))
		}},
		"PostArgs": {urlencoded, func(r *Request) any { return r.PostArgs().String() }},
		"MultipartForm": {formType, func(r *Request) any {
			f, err := r.MultipartForm()
			return fmt.Sprint(f == nil, errors.Is(err, peers.ErrBoom))
		}},
		"MultipartForm twice": {formType, func(r *Request) any {
			_, _ = r.MultipartForm()
			f, err := r.MultipartForm()
			return fmt.Sprint(f == nil, errors.Is(err, peers.ErrBoom), r.IsBodyStream(), string(r.Body()))
		}},
		"Body, then MultipartForm": {formType, func(r *Request) any {
			_ = r.Body()
			f, err := r.MultipartForm()
			return fmt.Sprint(f == nil, errors.Is(err, peers.ErrBoom))
		}},
		"a copy": {"", func(r *Request) any {
			_ = r.Body()
			var other Request
			r.CopyTo(&other)
			return fmt.Sprint(string(other.Body()), errors.Is(other.BodyError(), peers.ErrBoom))
		}},
	} {
		var req Request
		req.SetRequestURI("http://a.test/")
		req.Header.SetMethod("POST")
		req.Header.SetContentType(test.contentType)
		req.SetBodyStream(peers.BreaksOff("a=b&"+form[:len(form)-20]), -1)
		if test.contentType == formType {
			req.SetBodyStream(peers.BreaksOff(form), -1) // a complete form, but not a complete body
		}
		got := fmt.Sprint(test.read(&req))
		want := map[string]string{
			"BodyUncompressed": "true", "BodyGunzip": "true", "a copy": "true", "MultipartForm": "true true",
			"MultipartForm twice": "true true false", "Body, then MultipartForm": "true true",
		}[name]
		if strings.TrimSpace(got) != want || !errors.Is(req.BodyError(), peers.ErrBoom) {
			t.Errorf("%s: got %q, %v, want %q", name, got, req.BodyError(), want)
		}
		if err := req.Write(bufio.NewWriter(io.Discard)); !errors.Is(err, peers.ErrBoom) {
			t.Errorf("%s: Write returns %v", name, err)
		}
		if _, _, err := req.appendRequest(nil, true); !errors.Is(err, peers.ErrBoom) {
			t.Errorf("%s: sending returns %v", name, err)
		}
		for how, mend := range map[string]func(*Request){
			"SetBody":       func(r *Request) { r.SetBodyString("new") },
			"AppendBody":    func(r *Request) { r.AppendBodyString("new") },
			"SetBodyRaw":    func(r *Request) { r.SetBodyRaw([]byte("new")) },
			"SetBodyStream": func(r *Request) { r.SetBodyStream(strings.NewReader("new"), 3) },
			"SwapBody":      func(r *Request) { _ = r.SwapBody([]byte("new")) },
			"ResetBody":     func(r *Request) { r.ResetBody(); r.SetBodyString("new") },
			"Reset":         func(r *Request) { r.Reset(); r.SetBodyString("new") },
		} {
			var again Request
			again.Header.SetContentType(test.contentType)
			again.SetBodyStream(peers.BreaksOff("a=b"), -1)
			test.read(&again)
			mend(&again)
			if again.BodyError() != nil || string(again.Body()) != "new" {
				t.Errorf("%s, then %s: %q, %v", name, how, again.Body(), again.BodyError())
			}
		}
	}
}

// A form whose files are gone can't be written as a body either.
func TestBrokenFormFiles(t *testing.T) {
	peers.WithoutEngine(t)
	t.Setenv("TMPDIR", t.TempDir())
	body, contentType := peers.FormBody(maxFormMemory)
	var req Request
	in := fmt.Sprintf("POST / HTTP/1.1\r\nHost: a\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", contentType, len(body), body)
	if err := req.Read(bufio.NewReader(strings.NewReader(in))); err != nil {
		t.Fatal(err)
	}
	if err := req.form.RemoveAll(); err != nil {
		t.Fatal(err)
	}
	if b := req.Body(); len(b) > 0 || !errors.Is(req.BodyError(), os.ErrNotExist) {
		t.Errorf("got %.100q, %v", b, req.BodyError())
	}
	if err := req.Write(bufio.NewWriter(io.Discard)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Write: %v", err)
	}
	req.SetBodyString("new")
	if req.BodyError() != nil {
		t.Error("the error stays behind a new body")
	}
}

// Forms of streamed bodies have their own limit, and leave no files.
func TestStreamedFormLimit(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	for _, size := range []int{
		maxFormMemory + 1<<20, // large enough that the file goes to disk
		64 << 10,
	} {
		streamedFormLimit(t, dir, size)
	}
}

// streamedFormLimit sends forms of a size. In the short form few of them are large.
func streamedFormLimit(t *testing.T, dir string, size int) {
	large := size > maxFormMemory
	form, formType := peers.FormBody(size)
	result := make(chan string, 1)
	for _, test := range []struct {
		name  string
		limit int
		read  func(ctx *RequestCtx) error
		want  string
	}{
		{"default", 0, nil, "ok 1"},
		{"none", -1, nil, "ok 1"},
		{"enough", len(form), nil, "ok 1"},
		{"too little", len(form) - 1, nil, "too large 0"},
		{"MultipartFormWithLimit", size, func(ctx *RequestCtx) error { _, err := ctx.MultipartFormWithLimit(len(form)); return err }, "ok 1"},
		{"MultipartFormWithLimit of 0", size, func(ctx *RequestCtx) error { _, err := ctx.MultipartFormWithLimit(0); return err }, "too large 0"},
		{"LimitRequestBody", size, func(ctx *RequestCtx) error {
			ctx.LimitRequestBody(int64(len(form)))
			_, err := ctx.MultipartForm()
			return err
		}, "ok 1"},
		{"FormFile", size, func(ctx *RequestCtx) error { _, err := ctx.FormFile("file"); return err }, "too large 0"},
		{"again", size, func(ctx *RequestCtx) error {
			_ = ctx.FormValue("a")
			_, err := ctx.MultipartForm()
			return err
		}, "too large 0"},
	} {
		if large && !gate.Full() && test.name != "default" && test.name != "too little" {
			continue
		}
		if !large && test.want == "ok 1" {
			test.want = "ok 0"
		}
		s := &Server{StreamRequestBody: true, MaxStreamedFormSize: test.limit}
		ts := startServer(t, s, func(ctx *RequestCtx) {
			read := test.read
			if read == nil {
				read = func(ctx *RequestCtx) error { _, err := ctx.MultipartForm(); return err }
			}
			err := read(ctx)
			text := "ok"
			if err != nil {
				text = err.Error()
			}
			if errors.Is(err, ErrBodyTooLarge) {
				text = "too large"
			}
			files, _ := os.ReadDir(dir)
			result <- fmt.Sprintf("%s %d", text, len(files))
		})
		c := ts.Dial()
		go fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", formType, len(form), form)
		if got := <-result; got != test.want {
			t.Errorf("%s, %d bytes: got %s, want %s", test.name, size, got, test.want)
		}
		c.Answer("POST")
		if files, _ := os.ReadDir(dir); len(files) > 0 {
			t.Errorf("%s: %d files are left", test.name, len(files))
		}
	}
}

func TestStreamReaderBoundsTheWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		written := make(chan error, 1)
		r := NewBoundedStreamReader(func(w *bufio.Writer) {
			_, err := w.Write(make([]byte, 10<<20))
			written <- err
		})
		synctest.Wait()
		select {
		case <-written:
			t.Fatal("10 MiB went into the pipe without a reader")
		default:
		}
		p := r.(*streamPipe)
		held := 0
		for _, b := range p.queue {
			held += cap(b.B)
		}
		if held > 160<<10 {
			t.Fatalf("the pipe holds %d bytes", held)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-written; !errors.Is(err, io.ErrClosedPipe) {
			t.Fatalf("writer got %v after Close", err)
		}
		rest, err := io.ReadAll(r)
		if err != nil || len(rest) != 128<<10 {
			t.Fatalf("%d bytes, %v: what was accepted stays readable", len(rest), err)
		}
	})
}

func TestStreamReaderPanic(t *testing.T) {
	cause := errors.New("boom")
	for _, c := range []struct {
		name string
		sw   StreamWriter
		want string
	}{
		{"error", func(w *bufio.Writer) { _, _ = w.WriteString("ab"); _ = w.Flush(); panic(cause) }, "gale: panic while writing body stream: boom"},
		{"value", func(w *bufio.Writer) { _, _ = w.WriteString("ab"); _ = w.Flush(); panic(7) }, "gale: panic while writing body stream: 7"},
		{"exit", func(w *bufio.Writer) { _, _ = w.WriteString("ab"); _ = w.Flush(); runtime.Goexit() }, errStreamWriterExit.Error()},
	} {
		r := NewStreamReader(c.sw)
		got, err := io.ReadAll(r)
		if string(got) != "ab" || err == nil || err.Error() != c.want {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
		var p *ErrBodyStreamWritePanic
		if isPanic := errors.As(err, &p); isPanic != (c.name != "exit") {
			t.Errorf("%s: %T", c.name, err)
		}
	}
	_, err := io.ReadAll(NewStreamReader(func(*bufio.Writer) { panic(cause) }))
	if !errors.Is(err, cause) {
		t.Error("the error that was panicked with is lost")
	}
}

func TestResetKeepsSmallBuffersOnly(t *testing.T) {
	var resp Response
	resp.SetBody(make([]byte, keepBody))
	resp.Reset()
	if resp.body == nil || len(resp.body.B) != 0 {
		t.Error("a small buffer was given away or isn't empty")
	}
	resp.SetBody(make([]byte, keepBody+1))
	resp.Reset()
	if resp.body != nil {
		t.Error("a large buffer was kept")
	}
	resp.KeepBodyBuffer = true
	resp.SetBody(make([]byte, 1<<20))
	resp.Reset()
	if resp.body == nil || cap(resp.body.B) < 1<<20 || !resp.KeepBodyBuffer {
		t.Error("KeepBodyBuffer doesn't keep the buffer")
	}
	resp.ReleaseBody(1 << 21)
	if resp.body == nil {
		t.Error("ReleaseBody dropped a buffer below the size")
	}
	resp.ReleaseBody(1 << 10)
	if resp.body != nil {
		t.Error("ReleaseBody kept the buffer")
	}
}

func TestSetBodySizePoolLimit(t *testing.T) {
	defer SetBodySizePoolLimit(-1, -1)
	for _, tt := range []struct{ set, want int }{{10, 10}, {1 << 30, 1 << 30}, {0, 0}, {-1, math.MaxInt}} {
		SetBodySizePoolLimit(tt.set, 3)
		if requestBodyLimit.Load() != int64(tt.want) || responseBodyLimit.Load() != 3 {
			t.Errorf("%d: %d, %d", tt.set, requestBodyLimit.Load(), responseBodyLimit.Load())
		}
	}
}

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
