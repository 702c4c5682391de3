package server

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
	"github.com/galehttp/gale/internal/compress"
	"github.com/galehttp/gale/reverse"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

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
		for i, wrap := range []func(gale.RequestHandler) gale.RequestHandler{gale.CompressHandler, harness.WithBrotli} {
			want := []string{c.plain, c.brotli}[i]
			resp := harness.Compressed(t, wrap, c.accept, func(ctx *gale.RequestCtx) { ctx.Response.SetBodyString(peers.CompressText) })
			if got := string(resp.Header.ContentEncoding()); got != want {
				t.Errorf("%q: coding %q, want %q", c.accept, got, want)
			}
			if harness.Decoded(t, resp) != peers.CompressText {
				t.Errorf("%q: another body", c.accept)
			}
			if got := string(resp.Header.Peek(gale.HeaderVary)); (got == gale.HeaderAcceptEncoding) != (c.accept != "") {
				t.Errorf("%q: Vary %q; want it where the request has Accept-Encoding", c.accept, got)
			}
		}
	}
}

func TestCompressHandlerLeavesAlone(t *testing.T) {
	for _, c := range []struct {
		name  string
		set   func(ctx *gale.RequestCtx)
		coded bool
	}{
		{"text", func(*gale.RequestCtx) {}, true},
		{"200 bytes", func(ctx *gale.RequestCtx) { ctx.Response.SetBodyString(peers.CompressText[:200]) }, true},
		{"199 bytes", func(ctx *gale.RequestCtx) { ctx.Response.SetBodyString(peers.CompressText[:199]) }, false},
		{"nothing", func(ctx *gale.RequestCtx) { ctx.Response.ResetBody() }, false},
		{"json", func(ctx *gale.RequestCtx) { ctx.Response.Header.SetContentType("Application/JSON; charset=utf-8") }, true},
		{"png", func(ctx *gale.RequestCtx) { ctx.Response.Header.SetContentType("image/png") }, false},
		{"zip", func(ctx *gale.RequestCtx) { ctx.Response.Header.SetContentType("application/zip") }, false},
		{"encoded", func(ctx *gale.RequestCtx) { ctx.Response.Header.SetContentEncoding("aes128gcm") }, false},
		{"no-transform", func(ctx *gale.RequestCtx) { ctx.Response.Header.Set(gale.HeaderCacheControl, "public, No-Transform") }, false},
		{"partial", func(ctx *gale.RequestCtx) { ctx.Response.SetStatusCode(gale.StatusPartialContent) }, false},
		{"range", func(ctx *gale.RequestCtx) { ctx.Response.Header.Set(gale.HeaderContentRange, "bytes */5") }, false},
		{"204", func(ctx *gale.RequestCtx) { ctx.Response.SetStatusCode(gale.StatusNoContent) }, false},
		{"304", func(ctx *gale.RequestCtx) { ctx.Response.SetStatusCode(gale.StatusNotModified) }, false},
		{"500", func(ctx *gale.RequestCtx) { ctx.Response.SetStatusCode(gale.StatusInternalServerError) }, true},
	} {
		resp := harness.Compressed(t, gale.CompressHandler, "gzip", func(ctx *gale.RequestCtx) {
			ctx.Response.Header.SetContentType("text/plain")
			ctx.Response.SetBodyString(peers.CompressText)
			c.set(ctx)
		})
		if got := string(resp.Header.ContentEncoding()) == "gzip"; got != c.coded {
			t.Errorf("%s: encoded %v, want %v", c.name, got, c.coded)
		}
		if vary := len(resp.Header.Peek(gale.HeaderVary)) > 0; vary != c.coded {
			t.Errorf("%s: Vary is there: %v, want %v", c.name, vary, c.coded)
		}
	}
	// A client that refuses identity gets even short bodies encoded.
	resp := harness.Compressed(t, gale.CompressHandler, "gzip, identity;q=0", func(ctx *gale.RequestCtx) { ctx.Response.SetBodyString("short") })
	if string(resp.Header.ContentEncoding()) != "gzip" || harness.Decoded(t, resp) != "short" {
		t.Errorf("identity refused: %q", resp.Header.ContentEncoding())
	}
}

func TestCompressHandlerFields(t *testing.T) {
	for _, c := range []struct{ name, set, want string }{
		{gale.HeaderVary, "", "Accept-Encoding"},
		{gale.HeaderVary, "Origin", "Origin, Accept-Encoding"},
		{gale.HeaderVary, "accept-encoding", "accept-encoding"},
		{gale.HeaderVary, "Origin,Accept-Encoding", "Origin,Accept-Encoding"},
		{gale.HeaderVary, "*", "*"},
		{gale.HeaderETag, `"tag"`, `W/"tag"`},
		{gale.HeaderETag, `W/"tag"`, `W/"tag"`},
		{gale.HeaderAcceptRanges, "bytes", ""},
	} {
		resp := harness.Compressed(t, gale.CompressHandler, "gzip", func(ctx *gale.RequestCtx) {
			if c.set != "" {
				ctx.Response.Header.Set(c.name, c.set)
			}
			ctx.Response.SetBodyString(peers.CompressText)
		})
		if got := string(resp.Header.Peek(c.name)); got != c.want {
			t.Errorf("%s: %q became %q, want %q", c.name, c.set, got, c.want)
		}
	}
}

func TestCompressHandlerStream(t *testing.T) {
	long := strings.Repeat(peers.CompressText, 100)
	for _, coding := range []string{"gzip", "deflate", "br", "zstd"} {
		for _, size := range []int{-1, len(long)} {
			src := &peers.ClosingReader{Reader: strings.NewReader(long)}
			resp := harness.Compressed(t, harness.WithBrotli, coding, func(ctx *gale.RequestCtx) { ctx.Response.SetBodyStream(src, size) })
			if src.Closed > 0 {
				t.Fatalf("%s: closed before it was read", coding)
			}
			if got := string(resp.Header.ContentEncoding()); got != coding || resp.Header.ContentLength() != -1 {
				t.Errorf("coding %q, length %d, want %q and an unknown length", got, resp.Header.ContentLength(), coding)
			}
			if got := harness.Decoded(t, resp); got != long {
				t.Errorf("%s: %d bytes, want %d", coding, len(got), len(long))
			}
			if src.Closed != 1 {
				t.Errorf("%s: closed %d times", coding, src.Closed)
			}
		}
		resp := harness.Compressed(t, harness.WithBrotli, coding, func(ctx *gale.RequestCtx) {
			ctx.Response.SetBodyStreamWriter(func(w *bufio.Writer) {
				for range 100 {
					_, _ = w.WriteString(peers.CompressText)
				}
			})
		})
		if got := harness.Decoded(t, resp); got != long {
			t.Errorf("%s: a stream writer's %d bytes, want %d", coding, len(got), len(long))
		}
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
	ts := harness.Start(t, nil, gale.CompressHandler(func(ctx *gale.RequestCtx) {
		switch string(ctx.Path()) {
		case "/sized":
			ctx.SetBodyStream(&brokenStream{}, 100)
		case "/chunked":
			ctx.SetBodyStream(&brokenStream{}, -1)
		case "/writer":
			ctx.SetBodyStreamWriter(writer)
		case "/reader":
			ctx.SetBodyStream(gale.NewStreamReader(writer), -1)
		}
	}))
	for _, path := range []string{"/sized", "/chunked", "/writer", "/reader"} {
		for _, accept := range []string{"identity", "gzip"} {
			c := ts.Dial()
			c.Send("GET " + path + " HTTP/1.1\r\nHost: a\r\nAccept-Encoding: " + accept + "\r\n\r\n")
			resp, err := http.ReadResponse(c.Br, nil)
			if err != nil {
				t.Fatalf("%s %s: %v", path, accept, err)
			}
			if _, err := io.ReadAll(resp.Body); err == nil {
				t.Errorf("%s %s: the answer looks complete", path, accept)
			}
			if !strings.Contains(ts.Log.String(), "inside a") {
				t.Errorf("%s %s: the panic isn't logged: %q", path, accept, ts.Log)
			}
		}
	}
	ts.Dial().WantOpen()
}

// Nothing else uses the memory to which a handler writes after its timeout. The race
// detector checks that.
func TestCompressHandlerTimedOut(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		over, ended := make(chan struct{}), make(chan struct{})
		h := gale.CompressHandler(gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
			defer close(ended)
			ctx.SetBodyString(peers.CompressText)
			for ctx.LastTimeoutErrorResponse() == nil {
				runtime.Gosched()
			}
			for {
				ctx.Response.Header.Set("X-Late", "1")
				ctx.SetBodyString(peers.CompressText)
				select {
				case <-over:
					return
				default:
				}
			}
		}, time.Millisecond, "late"))
		c := harness.Start(t, &gale.Server{Engine: e}, h).Dial()
		c.Send("GET / HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n")
		if a := c.Want("GET", gale.StatusRequestTimeout, "late"); a.Header.Get("Content-Encoding") != "" {
			t.Errorf("got the coding of the handler's response: %v", a.Header)
		}
		close(over)
		<-ended
	})
}

func TestCompressHandlerStreamFails(t *testing.T) {
	broken := errors.New("broken")
	src := &peers.ClosingReader{Reader: io.MultiReader(strings.NewReader(peers.CompressText), iotest.ErrReader(broken))}
	resp := harness.Compressed(t, gale.CompressHandler, "gzip", func(ctx *gale.RequestCtx) { ctx.Response.SetBodyStream(src, -1) })
	if _, err := io.ReadAll(resp.BodyStream()); err != broken {
		t.Errorf("error %v, want the stream's", err)
	}
	if err := resp.CloseBodyStream(); err != nil || src.Closed != 1 {
		t.Errorf("closed %d times, %v", src.Closed, err)
	}

	// An encoded body must not hide that the stream was too short, and must not contain
	// more than the declared length.
	resp = harness.Compressed(t, gale.CompressHandler, "gzip", func(ctx *gale.RequestCtx) {
		ctx.Response.SetBodyStream(strings.NewReader(peers.CompressText), len(peers.CompressText)+1)
	})
	if _, err := io.ReadAll(resp.BodyStream()); err != io.ErrUnexpectedEOF {
		t.Errorf("a stream that is too short: %v", err)
	}
	resp = harness.Compressed(t, gale.CompressHandler, "gzip", func(ctx *gale.RequestCtx) {
		ctx.Response.SetBodyStream(strings.NewReader(peers.CompressText), len(peers.CompressText)-1)
	})
	if got := harness.Decoded(t, resp); got != peers.CompressText[:len(peers.CompressText)-1] {
		t.Errorf("a stream that is too long: %d bytes", len(got))
	}

	src = &peers.ClosingReader{Reader: strings.NewReader(peers.CompressText)}
	resp = harness.Compressed(t, gale.CompressHandler, "gzip", func(ctx *gale.RequestCtx) { ctx.Response.SetBodyStream(src, -1) })
	stream := resp.BodyStream()
	if _, err := stream.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	gone := errors.New("client gone")
	_ = stream.(gale.ReadCloserWithError).CloseWithError(gone)
	_ = stream.(io.Closer).Close()
	if src.Closed != 1 || src.Reason != gone {
		t.Errorf("closed half-read: %d times, reason %v", src.Closed, src.Reason)
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
		resp := harness.Compressed(t, harness.WithBrotli, coding.String(), func(ctx *gale.RequestCtx) { ctx.Response.SetBodyStream(pr, -1) })
		expectInStep(t, coding, resp.BodyStream(), next)
		_ = resp.CloseBodyStream()

		next = make(chan string)
		resp = harness.Compressed(t, harness.WithBrotli, coding.String(), func(ctx *gale.RequestCtx) {
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
	large := strings.Repeat("x", 3*(16<<10))
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

// TestCompressHandlerHead: HEAD gets the fields that GET gets, and no Content-Length that GET hasn't, also
// from handlers that give HEAD only the length (RFC 9110 sections 8.6 and 9.3.2).
func TestCompressHandlerHead(t *testing.T) {
	text := strings.Repeat(peers.CompressText, 20)
	dir := t.TempDir()
	peers.Write(t, filepath.Join(dir, "small.txt"), peers.CompressText)
	peers.Write(t, filepath.Join(dir, "large.txt"), strings.Repeat(peers.CompressText, 200))
	up := harness.H2Way{Engine: gale.EngineAuto}.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) { ctx.SetBodyString(text) }})
	proxy := &reverse.Proxy{Upstreams: []string{up.Addr}}
	t.Cleanup(func() { proxy.Close() })
	// sized gives GET a body, and HEAD only what head says.
	sized := func(body string, head func(resp *gale.Response)) gale.RequestHandler {
		return func(ctx *gale.RequestCtx) {
			ctx.Response.Header.Set(gale.HeaderETag, `"tag"`)
			if ctx.IsHead() {
				head(&ctx.Response)
			} else {
				ctx.SetBodyString(body)
			}
		}
	}
	length := func(n int) func(*gale.Response) {
		return func(resp *gale.Response) { resp.Header.SetContentLength(n) }
	}
	handlers := []struct {
		name string
		h    gale.RequestHandler
	}{
		{"a body", func(ctx *gale.RequestCtx) { ctx.SetBodyString(text) }},
		{"a stream", func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader(text), -1) }},
		{"a length", sized(text, length(len(text)))},
		{"a length with SkipBody", sized(text, func(resp *gale.Response) {
			resp.SkipBody = true
			resp.Header.SetContentLength(len(text))
		})},
		{"chunked", sized(text, length(-1))},
		{"199 bytes", sized(text[:199], length(199))},
		{"nothing", sized("", func(*gale.Response) {})},
		{"an image", sized(text, func(resp *gale.Response) {
			resp.Header.SetContentLength(len(text))
		})},
		{"a small file", (&gale.FS{Root: dir, AcceptByteRange: true, PathRewrite: func(*gale.RequestCtx) []byte { return []byte("/small.txt") }}).NewRequestHandler()},
		{"a large file", (&gale.FS{Root: dir, AcceptByteRange: true, PathRewrite: func(*gale.RequestCtx) []byte { return []byte("/large.txt") }}).NewRequestHandler()},
		{"ServeFileUncompressed", func(ctx *gale.RequestCtx) { gale.ServeFileUncompressed(ctx, filepath.Join(dir, "large.txt")) }},
		{"FS.Compress", (&gale.FS{Root: dir, Compress: true, PathRewrite: func(*gale.RequestCtx) []byte { return []byte("/large.txt") }}).NewRequestHandler()},
		{"net/http", adaptor.NewFastHTTPHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Write([]byte(text))
		}))},
		{"the proxy", proxy.Handler},
	}
	wraps := map[string]func(gale.RequestHandler) gale.RequestHandler{
		"none":                       func(h gale.RequestHandler) gale.RequestHandler { return h },
		"CompressHandler":            gale.CompressHandler,
		"CompressHandlerLevel":       func(h gale.RequestHandler) gale.RequestHandler { return gale.CompressHandlerLevel(h, 9) },
		"CompressHandlerBrotliLevel": harness.WithBrotli,
	}
	byPath := map[string]gale.RequestHandler{}
	for wrap, by := range wraps {
		for i, row := range handlers {
			byPath["/"+wrap+"/"+strconv.Itoa(i)] = by(func(ctx *gale.RequestCtx) {
				if row.h(ctx); row.name == "an image" {
					ctx.SetContentType("image/png")
				}
			})
		}
	}
	for _, engine := range peers.Engines[gale.Engine]() {
		hs := harness.H2Way{Engine: engine}.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) { byPath[string(ctx.Path())](ctx) }})
		for _, major := range []int{1, 2} {
			client := hs.Client(major)
			do := func(method, path, accept string) (*http.Response, int) {
				req, err := http.NewRequest(method, hs.URL(path), nil)
				if err != nil {
					t.Fatal("making a request:", err)
				}
				if accept != "" {
					req.Header.Set("Accept-Encoding", accept)
				}
				resp, err := client.Do(req)
				if err != nil {
					t.Fatal("sending a request:", err)
				}
				defer resp.Body.Close()
				b, err := io.ReadAll(resp.Body)
				if err != nil {
					t.Fatal("reading the body:", err)
				}
				return resp, len(b)
			}
			for wrap := range wraps {
				for i, row := range handlers {
					for _, accept := range []string{"", "gzip, br", "gzip, identity;q=0", "compress"} {
						path := "/" + wrap + "/" + strconv.Itoa(i)
						get, n := do("GET", path, accept)
						head, _ := do("HEAD", path, accept)
						for _, name := range []string{"Vary", "Content-Encoding", "Content-Type", "ETag", "Accept-Ranges"} {
							if g, h := get.Header.Get(name), head.Header.Get(name); g != h {
								t.Errorf("%v, HTTP/%d, %s, %s, %q: %s is %q for GET, %q for HEAD", engine, major, wrap, row.name, accept, name, g, h)
							}
						}
						if l := head.Header.Get("Content-Length"); l != "" && l != strconv.Itoa(n) {
							t.Errorf("%v, HTTP/%d, %s, %s, %q: HEAD says %s bytes, GET has %d", engine, major, wrap, row.name, accept, l, n)
						}
						if coded := head.Header.Get("Content-Encoding") != ""; !coded && head.Header.Get("Content-Length") == "" && get.Header.Get("Content-Length") != "" && row.name != "chunked" {
							t.Errorf("%v, HTTP/%d, %s, %s, %q: HEAD lost the length", engine, major, wrap, row.name, accept)
						}
					}
				}
			}
		}
	}
}
