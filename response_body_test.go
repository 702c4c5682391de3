package gale

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/race"
)

func TestResponseWrite(t *testing.T) {
	const text = "Content-Type: text/plain; charset=utf-8\r\n"
	str := func(code int, body string) func(*Response) {
		return func(r *Response) { r.SetStatusCode(code); r.SetBodyString(body) }
	}
	stream := func(body string, size int) func(*Response) {
		return func(r *Response) { r.SetBodyStream(strings.NewReader(body), size) }
	}
	for _, c := range []struct {
		name string
		set  func(*Response)
		want string
		err  string
	}{
		{"empty", func(*Response) {}, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ""},
		{"body", str(200, "abc"), "HTTP/1.1 200 OK\r\n" + text + "Content-Length: 3\r\n\r\nabc", ""},
		{"a length set by hand", func(r *Response) { r.Header.SetContentLength(9); r.SetBodyString("abc") }, "HTTP/1.1 200 OK\r\n" + text + "Content-Length: 3\r\n\r\nabc", ""},
		{"204", str(204, "abc"), "HTTP/1.1 204 No Content\r\n\r\n", ""},
		{"304", str(304, "abc"), "HTTP/1.1 304 Not Modified\r\n\r\n", ""},
		{"100", str(100, "abc"), "HTTP/1.1 100 Continue\r\n\r\n", ""},
		{"204 with a stream", func(r *Response) { r.SetStatusCode(204); stream("abc", 3)(r) }, "HTTP/1.1 204 No Content\r\n\r\n", ""},
		{"HEAD", func(r *Response) { r.SkipBody = true; r.SetBodyString("abc") }, "HTTP/1.1 200 OK\r\n" + text + "Content-Length: 3\r\n\r\n", ""},
		{"HEAD with a length", func(r *Response) { r.SkipBody = true; r.Header.SetContentLength(77) }, "HTTP/1.1 200 OK\r\n" + text + "Content-Length: 77\r\n\r\n", ""},
		{"HEAD with a stream", func(r *Response) { r.SkipBody = true; stream("abc", -1)(r) }, "HTTP/1.1 200 OK\r\n" + text + "Transfer-Encoding: chunked\r\n\r\n", ""},
		{"stream", stream("abc", 3), "HTTP/1.1 200 OK\r\n" + text + "Content-Length: 3\r\n\r\nabc", ""},
		{"stream of unknown length", stream("abcdef", -1), "HTTP/1.1 200 OK\r\n" + text + "Transfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n0\r\n\r\n", ""},
		{"empty stream", stream("", -1), "HTTP/1.1 200 OK\r\n" + text + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ""},
		{"reader without shortcuts", func(r *Response) { r.SetBodyStream(io.MultiReader(strings.NewReader("abc")), -1) }, "HTTP/1.1 200 OK\r\n" + text + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", ""},
		{"stream reader", func(r *Response) {
			r.SetBodyStream(NewStreamReader(func(w *bufio.Writer) { _, _ = w.WriteString("abc") }), 3)
		}, "HTTP/1.1 200 OK\r\n" + text + "Content-Length: 3\r\n\r\nabc", ""},
		{"HTTP/1.0", func(r *Response) { r.Header.SetProtocol([]byte("HTTP/1.0")); stream("abc", -1)(r) }, "HTTP/1.0 200 OK\r\n" + text + "Connection: close\r\n\r\nabc", ""},
		{"trailers", func(r *Response) {
			_ = r.Header.SetTrailer("X-T")
			r.Header.Set("X-T", "1")
			r.SetBodyString("abc")
		}, "HTTP/1.1 200 OK\r\n" + text + "Transfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n", ""},
		{"trailers behind a stream", func(r *Response) {
			_ = r.Header.SetTrailer("X-T")
			r.SetBodyStreamWriter(func(w *bufio.Writer) { r.Header.Set("X-T", "1"); _, _ = w.WriteString("abc") })
		}, "HTTP/1.1 200 OK\r\n" + text + "Transfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n", ""},
		{"short stream", stream("abc", 5), "", "gale: copied 3 bytes from body stream instead of 5 bytes"},
		{"long stream", stream("abcdef", 5), "", "gale: body stream exceeds content-length"},
		{"long stream reader", func(r *Response) {
			r.SetBodyStream(NewStreamReader(func(w *bufio.Writer) { _, _ = w.WriteString("abcdef") }), 3)
		}, "", "gale: body stream exceeds content-length"},
		{"long stream with a WriteTo", func(r *Response) {
			r.SetBodyStream(struct {
				io.Reader
				io.WriterTo
			}{nil, strings.NewReader("abcdef")}, 3)
		}, "", "gale: body stream exceeds content-length"},
		{"short stream with a WriteTo", func(r *Response) {
			r.SetBodyStream(struct {
				io.Reader
				io.WriterTo
			}{nil, strings.NewReader("ab")}, 3)
		}, "", "gale: copied 2 bytes from body stream instead of 3 bytes"},
		{"failing stream", func(r *Response) { r.SetBodyStream(iotest.ErrReader(errors.New("boom")), 4) }, "", "boom"},
		{"panicking stream", func(r *Response) { r.SetBodyStream(panicReader{}, -1) }, "", "gale: panic while writing body stream: ouch"},
		{"panicking close", func(r *Response) { r.SetBodyStream(panicOnClose{strings.NewReader("abc")}, 3) }, "", "gale: panic while writing body stream: closing"},
	} {
		for _, size := range []int{16, 4096} { // a tiny buffer does as well
			var resp Response
			resp.Header.s.Implied |= head.NoDate
			c.set(&resp)
			var b bytes.Buffer
			w := bufio.NewWriterSize(&b, size)
			err := resp.Write(w)
			_ = w.Flush()
			if c.err != "" {
				if err == nil || err.Error() != c.err {
					t.Errorf("%s: %v, want %s", c.name, err, c.err)
				}
			} else if err != nil || b.String() != c.want {
				t.Errorf("%s: %v\n got %q\nwant %q", c.name, err, b.String(), c.want)
			}
			if resp.IsBodyStream() {
				t.Errorf("%s: the stream is still there", c.name)
			}
		}
	}
}

type panicOnClose struct{ io.Reader }

func (panicOnClose) Close() error { panic("closing") }

// A message that broke off must not look complete.
func TestResponseWriteBrokenStreamHasNoEnd(t *testing.T) {
	var resp Response
	resp.SetBodyStream(io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(errors.New("boom"))), -1)
	s := func() string {
		var b bytes.Buffer
		w := bufio.NewWriter(&b)
		_ = resp.Write(w)
		_ = w.Flush()
		return b.String()
	}()
	if !strings.HasSuffix(s, "\r\n\r\n3\r\nabc\r\n") {
		t.Errorf("%q", s)
	}
}

// What was read from a stream is sent before the stream is read again.
func TestResponseWriteStreamsAtOnce(t *testing.T) {
	for _, immediate := range []bool{false, true} {
		var b bytes.Buffer
		var seen []string
		steps := []string{"one", "two"}
		var resp Response
		resp.ImmediateHeaderFlush = immediate
		resp.SetBodyStream(readFunc(func(p []byte) (int, error) {
			seen = append(seen, b.String())
			if len(steps) == 0 {
				return 0, io.EOF
			}
			n := copy(p, steps[0])
			steps = steps[1:]
			return n, nil
		}), -1)
		if err := resp.Write(bufio.NewWriter(&b)); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(seen[0], "\r\n\r\n") != immediate {
			t.Errorf("before the first byte: %q", seen[0])
		}
		if !strings.HasSuffix(seen[1], "3\r\none\r\n") || !strings.HasSuffix(seen[2], "3\r\ntwo\r\n") {
			t.Errorf("%q", seen)
		}
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func TestResponseRead(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	interim := "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
	for _, c := range []struct {
		name, in string
		skip     bool
		body     string
		status   int
		rest     string
		err      error
	}{
		{name: "nothing", err: io.EOF, status: 200},
		{name: "length", in: ok + "Content-Length: 3\r\n\r\nabcnext", body: "abc", status: 200, rest: "next"},
		{name: "to the end", in: ok + "\r\nabcdef", body: "abcdef", status: 200},
		{name: "chunked", in: ok + "Transfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n3\r\nabc\r\n0\r\nX-T: 1\r\n\r\nnext", body: "abc", status: 200, rest: "next"},
		{name: "HEAD", in: ok + "Content-Length: 3\r\n\r\nnext", skip: true, status: 200, rest: "next"},
		{name: "204", in: "HTTP/1.1 204 No Content\r\n\r\nnext", status: 204, rest: "next"},
		{name: "304 with a length", in: "HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\nnext", status: 304, rest: "next"},
		{name: "101", in: "HTTP/1.1 101 Switching Protocols\r\n\r\nnext", status: 101, rest: "next"},
		{name: "interim", in: interim + "HTTP/1.1 100 Continue\r\n\r\n" + ok + "Content-Length: 3\r\n\r\nabcnext", body: "abc", status: 200, rest: "next"},
		{name: "many interim", in: strings.Repeat(interim, maxInterimResponses) + ok + "Content-Length: 0\r\n\r\n", status: 200},
		{name: "too many interim", in: strings.Repeat(interim, maxInterimResponses+1) + ok + "Content-Length: 0\r\n\r\n", status: 200, err: errTooManyInterim},
		{name: "cut", in: ok + "Content-Length: 8\r\n\r\nabcdef", body: "abcdef", status: 200, err: io.ErrUnexpectedEOF},
		{name: "cut chunks", in: ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n", body: "abc", status: 200, err: io.ErrUnexpectedEOF},
		{name: "too long", in: ok + "Content-Length: 9\r\n\r\nabcdefghi", status: 200, err: ErrBodyTooLarge},
		{name: "too long to the end", in: ok + "\r\nabcdefghi", body: "abcdefgh", status: 200, err: ErrBodyTooLarge},
	} {
		for how, in := range map[string]io.Reader{"whole": strings.NewReader(c.in), "bytes": iotest.OneByteReader(strings.NewReader(c.in))} {
			var resp Response
			resp.SkipBody = c.skip
			br := bufio.NewReader(in)
			err := resp.ReadLimitBody(br, 8)
			if !errors.Is(err, c.err) || c.err == nil && err != nil || resp.StatusCode() != c.status || string(resp.Body()) != c.body {
				t.Errorf("%s/%s: %d %q, %v", c.name, how, resp.StatusCode(), resp.Body(), err)
				continue
			}
			if err == nil {
				if rest, _ := io.ReadAll(br); string(rest) != c.rest {
					t.Errorf("%s/%s: left %q", c.name, how, rest)
				}
			}
		}
	}
}

func TestResponseReadToTheEndSaysClose(t *testing.T) {
	var resp Response
	if err := resp.Read(bufio.NewReader(strings.NewReader("HTTP/1.1 200 OK\r\n\r\nabc"))); err != nil {
		t.Fatal(err)
	}
	if resp.Header.ContentLength() != 3 || !resp.ConnectionClose() {
		t.Errorf("length %d, close %v", resp.Header.ContentLength(), resp.ConnectionClose())
	}
}

func TestResponseReadStream(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for _, c := range []struct {
		in, body string
		err      error
	}{
		{ok + "Content-Length: 3\r\n\r\nabcnext", "abc", nil},
		{ok + "Content-Length: 0\r\n\r\nnext", "", nil},
		{ok + "\r\nabc", "abc", nil},
		{ok + "Transfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n", "abc", nil},
		{ok + "Content-Length: 9\r\n\r\nabc", "abc", io.ErrUnexpectedEOF},
		{ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n", "abc", io.ErrUnexpectedEOF},
	} {
		var resp Response
		resp.StreamBody = true
		if err := resp.ReadLimitBody(bufio.NewReader(strings.NewReader(c.in)), 1); err != nil || !resp.IsBodyStream() {
			t.Errorf("%q: %v", c.in, err)
			continue
		}
		b, err := io.ReadAll(resp.BodyStream())
		if string(b) != c.body || err != c.err {
			t.Errorf("%q: %q %v", c.in, b, err)
		}
		if strings.Contains(c.in, "X-T") && string(resp.Header.Peek("X-T")) != "1" {
			t.Errorf("%q: no trailer field", c.in)
		}
		if err := resp.CloseBodyStream(); err != nil || resp.IsBodyStream() {
			t.Error(err)
		}
	}
}

func TestResponseBodyWriteTo(t *testing.T) {
	var resp Response
	var b bytes.Buffer
	resp.SetBodyString("abc")
	if err := resp.BodyWriteTo(&b); err != nil || b.String() != "abc" {
		t.Error(b.String(), err)
	}
	b.Reset()
	rec := &closeRecorder{Reader: io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(io.ErrNoProgress))}
	resp.SetBodyStream(rec, -1)
	if err := resp.BodyWriteTo(&b); err != io.ErrNoProgress || b.String() != "abc" || rec.closed != 1 || resp.IsBodyStream() {
		t.Error(b.String(), err)
	}
	resp.SetBodyStreamWriter(func(w *bufio.Writer) { _, _ = w.WriteString("written") })
	b.Reset()
	if err := resp.BodyWriteTo(&b); err != nil || b.String() != "written" {
		t.Error(b.String(), err)
	}
}

func TestResponseWriteToCounts(t *testing.T) {
	var resp Response
	resp.SetBodyString(strings.Repeat("x", 10_000))
	var b bytes.Buffer
	n, err := resp.WriteTo(&b)
	if err != nil || n != int64(b.Len()) || n < 10_000 {
		t.Error(n, err)
	}
	w := &shortWriter{n: 5000, err: io.ErrClosedPipe}
	if n, err := resp.WriteTo(w); n != 5000 || err != io.ErrClosedPipe {
		t.Error(n, err)
	}
}

func TestResponseCopyTo(t *testing.T) {
	var src, dst Response
	src.SetStatusCode(404)
	src.SetBodyString("abc")
	src.SkipBody, src.StreamBody, src.ImmediateHeaderFlush, src.KeepBodyBuffer = true, true, true, true
	src.CopyTo(&dst)
	if dst.StatusCode() != 404 || string(dst.Body()) != "abc" || !dst.SkipBody || !dst.StreamBody || !dst.ImmediateHeaderFlush || dst.KeepBodyBuffer {
		t.Errorf("%+v", dst.String())
	}
	src.SetBodyString("xyz")
	if string(dst.Body()) != "abc" {
		t.Error("the copy shares its body")
	}
	dst.Reset()
	if dst.StatusCode() != 200 || len(dst.Body()) != 0 || dst.SkipBody || dst.StreamBody || dst.ImmediateHeaderFlush {
		t.Error("Reset left something")
	}
}

func TestResponseParseNetConn(t *testing.T) {
	c, s := net.Pipe()
	defer c.Close()
	defer s.Close()
	var resp Response
	if resp.RemoteAddr() != nil || resp.LocalAddr() != nil {
		t.Error("addresses of nothing")
	}
	resp.ParseNetConn(c)
	if resp.RemoteAddr() != c.RemoteAddr() || resp.LocalAddr() != c.LocalAddr() {
		t.Error(resp.RemoteAddr(), resp.LocalAddr())
	}
}

func TestResponseSendFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("contents"), 0o600); err != nil {
		t.Fatal(err)
	}
	resp := AcquireResponse()
	defer ReleaseResponse(resp)
	if err := resp.SendFile(path); err != nil || !resp.IsBodyStream() || resp.Header.ContentLength() != 8 {
		t.Fatal(err)
	}
	if s := resp.String(); !strings.HasSuffix(s, "\r\n\r\ncontents") || !strings.Contains(s, "\r\nLast-Modified: ") {
		t.Errorf("%q", s)
	}
	if err := resp.SendFile(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestResponseWriteGzip(t *testing.T) {
	long := strings.Repeat("0123456789", 50)
	for _, c := range []struct {
		name    string
		set     func(*Response)
		encoded bool
	}{
		{"long", func(r *Response) { r.SetBodyString(long) }, true},
		{"short", func(r *Response) { r.SetBodyString(long[:199]) }, false},
		{"image", func(r *Response) { r.Header.SetContentType("image/png"); r.SetBodyString(long) }, false},
		{"encoded", func(r *Response) { r.Header.SetContentEncoding("br"); r.SetBodyString(long) }, false},
		{"stream", func(r *Response) { r.SetBodyStream(strings.NewReader(long), len(long)) }, true},
		{"204", func(r *Response) { r.SetStatusCode(204); r.SetBodyString(long) }, false},
	} {
		for coding, write := range map[string]func(*Response, *bufio.Writer) error{"gzip": (*Response).WriteGzip, "deflate": (*Response).WriteDeflate} {
			var resp, got Response
			c.set(&resp)
			var b bytes.Buffer
			w := bufio.NewWriter(&b)
			if err := write(&resp, w); err != nil {
				t.Fatal(err)
			}
			_ = w.Flush()
			if err := got.Read(bufio.NewReader(&b)); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if encoded := string(got.Header.ContentEncoding()) == coding; encoded != c.encoded {
				t.Errorf("%s, %s: encoding %q", c.name, coding, got.Header.ContentEncoding())
			} else if encoded {
				if body, err := got.BodyUncompressed(); err != nil || string(body) != long {
					t.Errorf("%s, %s: %q %v", c.name, coding, body, err)
				}
			}
		}
	}
}

func TestBodyUncompressed(t *testing.T) {
	text := strings.Repeat("0123456789", 50)
	plain := func(b []byte) []byte { return b }
	for _, c := range []struct {
		coding string
		enc    func([]byte) []byte
		one    func(*Request, int) ([]byte, error)
	}{
		{"", plain, nil},
		{"identity", plain, nil},
		{"gzip", func(b []byte) []byte { return AppendGzipBytes(nil, b) }, (*Request).BodyGunzipWithLimit},
		{"GZIP", func(b []byte) []byte { return AppendGzipBytes(nil, b) }, (*Request).BodyGunzipWithLimit},
		{"deflate", func(b []byte) []byte { return AppendDeflateBytes(nil, b) }, (*Request).BodyInflateWithLimit},
		{"br", func(b []byte) []byte { return AppendBrotliBytes(nil, b) }, (*Request).BodyUnbrotliWithLimit},
		{"zstd", func(b []byte) []byte { return AppendZstdBytes(nil, b) }, (*Request).BodyUnzstdWithLimit},
	} {
		var req Request
		req.Header.SetContentEncoding(c.coding)
		req.SetBody(c.enc([]byte(text)))
		if b, err := req.BodyUncompressed(); err != nil || string(b) != text {
			t.Errorf("%q: %v", c.coding, err)
		}
		for _, limit := range []int{-1, 0, 1, len(text) - 1, len(text)} {
			tooLarge := limit > 0 && limit < len(text)
			if b, err := req.BodyUncompressedWithLimit(limit); tooLarge && err != ErrBodyTooLarge || !tooLarge && string(b) != text {
				t.Errorf("%q, limit %d: %v", c.coding, limit, err)
			}
			if c.one == nil {
				continue
			}
			if b, err := c.one(&req, limit); tooLarge && err != ErrBodyTooLarge || !tooLarge && string(b) != text {
				t.Errorf("%q, limit %d: %v", c.coding, limit, err)
			}
		}
		if c.one != nil {
			req.SetBodyString("garbage")
			if b, err := req.BodyUncompressed(); err == nil || b != nil {
				t.Errorf("%q: garbage gives %q", c.coding, b)
			}
		}
	}
	for _, coding := range []string{"foo", "gzip, br", "gzip,gzip"} {
		var resp Response
		resp.Header.SetContentEncoding(coding)
		resp.SetBodyString("x")
		if _, err := resp.BodyUncompressed(); err != ErrContentEncodingUnsupported {
			t.Errorf("%q: %v", coding, err)
		}
	}
}

// The limit applies by default.
func TestBodyUncompressedBomb(t *testing.T) {
	withoutEngine(t)
	if race.Enabled {
		return // the test has one goroutine and takes long
	}
	var resp Response
	resp.Header.SetContentEncoding("gzip")
	resp.SetBody(AppendGzipBytesLevel(nil, make([]byte, maxUncompressedBody+1), CompressBestSpeed))
	if _, err := resp.BodyUncompressed(); err != ErrBodyTooLarge {
		t.Error(err)
	}
	if _, err := resp.BodyGunzip(); err != ErrBodyTooLarge {
		t.Error(err)
	}
	if b, err := resp.BodyGunzipWithLimit(0); err != nil || len(b) != maxUncompressedBody+1 {
		t.Error(len(b), err)
	}
}
