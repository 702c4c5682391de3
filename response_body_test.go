package gale

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness/peers"
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
		{"panicking stream", func(r *Response) { r.SetBodyStream(peers.PanicReader{}, -1) }, "", "gale: panic while writing body stream: ouch"},
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

// The limit applies by default.
func TestBodyUncompressedBomb(t *testing.T) {
	peers.WithoutEngine(t)
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
