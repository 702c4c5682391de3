package gale

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/galehttp/gale/internal/compress"
)

var compressText = strings.Repeat("hello world ", 100)

// compressed calls the handler with a request that accepts the codings given,
// and returns the response.
func compressed(t *testing.T, wrap func(RequestHandler) RequestHandler, accept string, h RequestHandler) *Response {
	t.Helper()
	ctx := &RequestCtx{}
	ctx.Request.Header.SetMethod(MethodGet)
	if accept != "" {
		ctx.Request.Header.Set(HeaderAcceptEncoding, accept)
	}
	wrap(h)(ctx)
	return &ctx.Response
}

// decoded returns the body of resp without its coding.
func decoded(t *testing.T, resp *Response) string {
	t.Helper()
	c, ok := compress.Parse(resp.Header.ContentEncoding())
	if !ok {
		t.Fatalf("Content-Encoding %q", resp.Header.ContentEncoding())
	}
	b, err := compress.AppendDecoded(nil, resp.Body(), c, 1<<20)
	if err != nil {
		t.Fatalf("%v: %v", c, err)
	}
	return string(b)
}

func withBrotli(h RequestHandler) RequestHandler {
	return CompressHandlerBrotliLevel(h, CompressBrotliDefaultCompression, CompressDefaultCompression)
}

func TestCompressHandlerNegotiates(t *testing.T) {
	for _, c := range []struct {
		accept, plain, brotli string
	}{
		{"", "", ""},
		{"gzip", "gzip", "gzip"},
		{"deflate", "deflate", "deflate"},
		{"br", "", "br"},
		{"zstd", "zstd", "zstd"},
		{"gzip, deflate, br, zstd", "gzip", "br"},
		{"br;q=0.1, gzip;q=1", "gzip", "gzip"},
		{"gzip;q=0", "", ""},
		{"br;q=0, deflate", "deflate", "deflate"},
		{"identity;q=0, *;q=0.5", "gzip", "br"},
		{"identity, gzip;q=0.5", "", ""},
		{"compress", "", ""},
	} {
		for i, wrap := range []func(RequestHandler) RequestHandler{CompressHandler, withBrotli} {
			want := []string{c.plain, c.brotli}[i]
			resp := compressed(t, wrap, c.accept, func(ctx *RequestCtx) { ctx.Response.SetBodyString(compressText) })
			if got := string(resp.Header.ContentEncoding()); got != want {
				t.Errorf("%q: coding %q, want %q", c.accept, got, want)
			}
			if decoded(t, resp) != compressText {
				t.Errorf("%q: another body", c.accept)
			}
			if got := string(resp.Header.Peek(HeaderVary)); (got == HeaderAcceptEncoding) != (c.accept != "") {
				t.Errorf("%q: Vary %q; want it where the request has Accept-Encoding", c.accept, got)
			}
		}
	}
}

func TestCompressHandlerLeavesAlone(t *testing.T) {
	for _, c := range []struct {
		name  string
		set   func(ctx *RequestCtx)
		coded bool
	}{
		{"text", func(*RequestCtx) {}, true},
		{"200 bytes", func(ctx *RequestCtx) { ctx.Response.SetBodyString(compressText[:200]) }, true},
		{"199 bytes", func(ctx *RequestCtx) { ctx.Response.SetBodyString(compressText[:199]) }, false},
		{"nothing", func(ctx *RequestCtx) { ctx.Response.ResetBody() }, false},
		{"json", func(ctx *RequestCtx) { ctx.Response.Header.SetContentType("Application/JSON; charset=utf-8") }, true},
		{"png", func(ctx *RequestCtx) { ctx.Response.Header.SetContentType("image/png") }, false},
		{"zip", func(ctx *RequestCtx) { ctx.Response.Header.SetContentType("application/zip") }, false},
		{"encoded", func(ctx *RequestCtx) { ctx.Response.Header.SetContentEncoding("aes128gcm") }, false},
		{"no-transform", func(ctx *RequestCtx) { ctx.Response.Header.Set(HeaderCacheControl, "public, No-Transform") }, false},
		{"partial", func(ctx *RequestCtx) { ctx.Response.SetStatusCode(StatusPartialContent) }, false},
		{"range", func(ctx *RequestCtx) { ctx.Response.Header.Set(HeaderContentRange, "bytes */5") }, false},
		{"204", func(ctx *RequestCtx) { ctx.Response.SetStatusCode(StatusNoContent) }, false},
		{"304", func(ctx *RequestCtx) { ctx.Response.SetStatusCode(StatusNotModified) }, false},
		{"500", func(ctx *RequestCtx) { ctx.Response.SetStatusCode(StatusInternalServerError) }, true},
	} {
		resp := compressed(t, CompressHandler, "gzip", func(ctx *RequestCtx) {
			ctx.Response.Header.SetContentType("text/plain")
			ctx.Response.SetBodyString(compressText)
			c.set(ctx)
		})
		if got := string(resp.Header.ContentEncoding()) == "gzip"; got != c.coded {
			t.Errorf("%s: encoded %v, want %v", c.name, got, c.coded)
		}
		if vary := len(resp.Header.Peek(HeaderVary)) > 0; vary != c.coded {
			t.Errorf("%s: Vary is there: %v, want %v", c.name, vary, c.coded)
		}
	}
	// A client that refuses identity gets even short bodies encoded.
	resp := compressed(t, CompressHandler, "gzip, identity;q=0", func(ctx *RequestCtx) { ctx.Response.SetBodyString("short") })
	if string(resp.Header.ContentEncoding()) != "gzip" || decoded(t, resp) != "short" {
		t.Errorf("identity refused: %q", resp.Header.ContentEncoding())
	}
}

func TestCompressHandlerFields(t *testing.T) {
	for _, c := range []struct{ name, set, want string }{
		{HeaderVary, "", "Accept-Encoding"},
		{HeaderVary, "Origin", "Origin, Accept-Encoding"},
		{HeaderVary, "accept-encoding", "accept-encoding"},
		{HeaderVary, "Origin,Accept-Encoding", "Origin,Accept-Encoding"},
		{HeaderVary, "*", "*"},
		{HeaderETag, `"tag"`, `W/"tag"`},
		{HeaderETag, `W/"tag"`, `W/"tag"`},
		{HeaderAcceptRanges, "bytes", ""},
	} {
		resp := compressed(t, CompressHandler, "gzip", func(ctx *RequestCtx) {
			if c.set != "" {
				ctx.Response.Header.Set(c.name, c.set)
			}
			ctx.Response.SetBodyString(compressText)
		})
		if got := string(resp.Header.Peek(c.name)); got != c.want {
			t.Errorf("%s: %q became %q, want %q", c.name, c.set, got, c.want)
		}
	}
}

// closingReader records how it was closed.
type closingReader struct {
	io.Reader
	closed int
	reason error
}

func (r *closingReader) Close() error                   { r.closed++; return nil }
func (r *closingReader) CloseWithError(err error) error { r.reason = err; return nil }

func TestCompressHandlerStream(t *testing.T) {
	long := strings.Repeat(compressText, 100)
	for _, coding := range []string{"gzip", "deflate", "br", "zstd"} {
		for _, size := range []int{-1, len(long)} {
			src := &closingReader{Reader: strings.NewReader(long)}
			resp := compressed(t, withBrotli, coding, func(ctx *RequestCtx) { ctx.Response.SetBodyStream(src, size) })
			if src.closed > 0 {
				t.Fatalf("%s: closed before it was read", coding)
			}
			if got := string(resp.Header.ContentEncoding()); got != coding || resp.Header.ContentLength() != -1 {
				t.Errorf("coding %q, length %d, want %q and an unknown length", got, resp.Header.ContentLength(), coding)
			}
			if got := decoded(t, resp); got != long {
				t.Errorf("%s: %d bytes, want %d", coding, len(got), len(long))
			}
			if src.closed != 1 {
				t.Errorf("%s: closed %d times", coding, src.closed)
			}
		}
		resp := compressed(t, withBrotli, coding, func(ctx *RequestCtx) {
			ctx.Response.SetBodyStreamWriter(func(w *bufio.Writer) {
				for range 100 {
					_, _ = w.WriteString(compressText)
				}
			})
		})
		if got := decoded(t, resp); got != long {
			t.Errorf("%s: a stream writer's %d bytes, want %d", coding, len(got), len(long))
		}
	}
}

func TestCompressHandlerStreamFails(t *testing.T) {
	broken := errors.New("broken")
	src := &closingReader{Reader: io.MultiReader(strings.NewReader(compressText), iotest.ErrReader(broken))}
	resp := compressed(t, CompressHandler, "gzip", func(ctx *RequestCtx) { ctx.Response.SetBodyStream(src, -1) })
	if _, err := io.ReadAll(resp.BodyStream()); err != broken {
		t.Errorf("error %v, want the stream's", err)
	}
	if err := resp.CloseBodyStream(); err != nil || src.closed != 1 {
		t.Errorf("closed %d times, %v", src.closed, err)
	}

	// An encoded body must not hide that the stream was too short, and must not contain
	// more than the declared length.
	resp = compressed(t, CompressHandler, "gzip", func(ctx *RequestCtx) {
		ctx.Response.SetBodyStream(strings.NewReader(compressText), len(compressText)+1)
	})
	if _, err := io.ReadAll(resp.BodyStream()); err != io.ErrUnexpectedEOF {
		t.Errorf("a stream that is too short: %v", err)
	}
	resp = compressed(t, CompressHandler, "gzip", func(ctx *RequestCtx) {
		ctx.Response.SetBodyStream(strings.NewReader(compressText), len(compressText)-1)
	})
	if got := decoded(t, resp); got != compressText[:len(compressText)-1] {
		t.Errorf("a stream that is too long: %d bytes", len(got))
	}

	src = &closingReader{Reader: strings.NewReader(compressText)}
	resp = compressed(t, CompressHandler, "gzip", func(ctx *RequestCtx) { ctx.Response.SetBodyStream(src, -1) })
	stream := resp.BodyStream()
	if _, err := stream.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	gone := errors.New("client gone")
	_ = closeBodyStream(stream, gone)
	if src.closed != 1 || src.reason != gone {
		t.Errorf("closed half-read: %d times, reason %v", src.closed, src.reason)
	}
	if _, err := stream.Read(make([]byte, 1)); err == nil {
		t.Error("it can be read though it is closed")
	}
}

// A client can decode what was read from a stream before the stream returns more.
func TestCompressHandlerStreamFlushes(t *testing.T) {
	for _, coding := range []compress.Coding{compress.Gzip, compress.Deflate, compress.Brotli, compress.Zstd} {
		// The test and the stream take turns: each part is written only after the one
		// before it was decoded.
		next := make(chan string)
		pr, pw := io.Pipe()
		go func() {
			for s := range next {
				_, _ = io.WriteString(pw, s)
			}
			_ = pw.Close()
		}()
		resp := compressed(t, withBrotli, coding.String(), func(ctx *RequestCtx) { ctx.Response.SetBodyStream(pr, -1) })
		expectInStep(t, coding, resp.BodyStream(), next)
		_ = resp.CloseBodyStream()

		next = make(chan string)
		resp = compressed(t, withBrotli, coding.String(), func(ctx *RequestCtx) {
			ctx.Response.SetBodyStreamWriter(func(w *bufio.Writer) {
				for s := range next {
					_, _ = w.WriteString(s)
					_ = w.Flush()
				}
			})
		})
		expectInStep(t, coding, resp.BodyStream(), next)
		_ = resp.CloseBodyStream()
	}
}

func expectInStep(t *testing.T, coding compress.Coding, stream io.Reader, next chan<- string) {
	t.Helper()
	go func() { next <- "part0" }()
	r, err := compress.NewReader(stream, coding)
	if err != nil {
		t.Fatal(coding, err)
	}
	defer r.Close()
	large := strings.Repeat("x", 3*encodeStreamBuffer)
	for i, want := range []string{"part0", "part1", large, "part3"} {
		if i > 0 {
			go func() { next <- want }()
		}
		got := make([]byte, len(want))
		if _, err := io.ReadFull(r, got); err != nil || string(got) != want {
			t.Fatalf("%v: part %d: %d bytes, %v", coding, i, len(got), err)
		}
	}
	close(next)
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Errorf("%v: at the end %q, %v", coding, rest, err)
	}
}

// A stream writer that panics must not leave a body that looks complete.
func TestCompressHandlerStreamWriterPanics(t *testing.T) {
	var out bytes.Buffer
	w := bufio.NewWriter(&out)
	sw := encodingStreamWriter(func(w *bufio.Writer) {
		_, _ = w.WriteString("some")
		_ = w.Flush()
		panic("on purpose")
	}, compress.Gzip, 6)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		sw(w)
	}()
	_ = w.Flush()
	if _, err := compress.AppendDecoded(nil, out.Bytes(), compress.Gzip, 0); err == nil {
		t.Error("the body looks complete")
	}
}

// brokenStream panics after its first bytes.
type brokenStream struct{ read bool }

func (s *brokenStream) Read(p []byte) (int, error) {
	if s.read {
		panic("inside a stream")
	}
	s.read = true
	return copy(p, "some"), nil
}

// A panic in code that makes a body ends the connection, not the process, and the answer
// doesn't look complete.
func TestCompressHandlerBodyPanics(t *testing.T) {
	writer := func(w *bufio.Writer) {
		w.WriteString("some")
		w.Flush()
		panic("inside a writer")
	}
	ts := startServer(t, nil, CompressHandler(func(ctx *RequestCtx) {
		switch string(ctx.Path()) {
		case "/sized":
			ctx.SetBodyStream(&brokenStream{}, 100)
		case "/chunked":
			ctx.SetBodyStream(&brokenStream{}, -1)
		case "/writer":
			ctx.SetBodyStreamWriter(writer)
		case "/reader":
			ctx.SetBodyStream(NewStreamReader(writer), -1)
		}
	}))
	for _, path := range []string{"/sized", "/chunked", "/writer", "/reader"} {
		for _, accept := range []string{"identity", "gzip"} {
			c := ts.dial()
			c.send("GET " + path + " HTTP/1.1\r\nHost: a\r\nAccept-Encoding: " + accept + "\r\n\r\n")
			resp, err := http.ReadResponse(c.br, nil)
			if err != nil {
				t.Fatalf("%s %s: %v", path, accept, err)
			}
			if _, err := io.ReadAll(resp.Body); err == nil {
				t.Errorf("%s %s: the answer looks complete", path, accept)
			}
			if !strings.Contains(ts.log.String(), "inside a") {
				t.Errorf("%s %s: the panic isn't logged: %q", path, accept, ts.log)
			}
		}
	}
	ts.dial().wantOpen()
}

// Nothing else uses the memory to which a handler writes after its timeout. The race
// detector checks that.
func TestCompressHandlerTimedOut(t *testing.T) {
	onEngines(t, func(t *testing.T, e Engine) {
		over, ended := make(chan struct{}), make(chan struct{})
		h := CompressHandler(TimeoutHandler(func(ctx *RequestCtx) {
			defer close(ended)
			ctx.SetBodyString(compressText)
			for ctx.LastTimeoutErrorResponse() == nil {
				runtime.Gosched()
			}
			for {
				ctx.Response.Header.Set("X-Late", "1")
				ctx.SetBodyString(compressText)
				select {
				case <-over:
					return
				default:
				}
			}
		}, time.Millisecond, "late"))
		c := startServer(t, &Server{Engine: e}, h).dial()
		c.send("GET / HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n")
		if a := c.want("GET", StatusRequestTimeout, "late"); a.Header.Get("Content-Encoding") != "" {
			t.Errorf("got the coding of the handler's response: %v", a.Header)
		}
		close(over)
		<-ended
	})
}
