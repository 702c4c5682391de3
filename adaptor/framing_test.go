package adaptor

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
)

// framings are responses whose length, body and status don't fit together, or
// only just.
var framings = []struct {
	name   string
	h      gale.RequestHandler
	want   string // the body that a GET gets
	broken bool   // the response to a GET can't be complete
}{
	{"skip", func(ctx *gale.RequestCtx) { ctx.SetBodyString("hello"); ctx.Response.SkipBody = true }, "", false},
	{"skip, length", func(ctx *gale.RequestCtx) {
		ctx.Response.Header.SetContentLength(77)
		ctx.Response.SkipBody = true
	}, "", false},
	{"skip, chunked", func(ctx *gale.RequestCtx) {
		ctx.Response.Header.SetContentLength(-1)
		ctx.Response.SkipBody = true
	}, "", false},
	{"skip, stream", func(ctx *gale.RequestCtx) {
		ctx.SetBodyStream(strings.NewReader("hello"), 5)
		ctx.Response.SkipBody = true
	}, "", false},
	{"skip, stream of unknown length", func(ctx *gale.RequestCtx) {
		ctx.SetBodyStream(strings.NewReader("hello"), -1)
		ctx.Response.SkipBody = true
	}, "", false},
	{"skip, writer", func(ctx *gale.RequestCtx) {
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("hello") })
		ctx.Response.SkipBody = true
	}, "", false},
	{"skip, flush", func(ctx *gale.RequestCtx) {
		ctx.Response.SkipBody = true
		ctx.WriteString("he")
		ctx.Flush()
		ctx.WriteString("llo")
	}, "", false},
	{"skip, flush, length", func(ctx *gale.RequestCtx) {
		ctx.Response.SkipBody = true
		ctx.Response.Header.SetContentLength(5)
		ctx.WriteString("he")
		ctx.Flush()
		ctx.WriteString("llo")
	}, "", false},
	{"skip, trailer", func(ctx *gale.RequestCtx) {
		ctx.Response.SkipBody = true
		ctx.Response.Header.SetTrailer("X-Sum")
		ctx.Response.Header.Set("X-Sum", "1")
		ctx.SetBodyString("hello")
	}, "", false},
	{"length too short", func(ctx *gale.RequestCtx) {
		ctx.Response.Header.SetContentLength(2)
		ctx.SetBodyString("hello")
	}, "hello", false},
	{"length too long", func(ctx *gale.RequestCtx) {
		ctx.Response.Header.Set("Content-Length", "99")
		ctx.SetBodyString("hello")
	}, "hello", false},
	{"negative length", func(ctx *gale.RequestCtx) {
		ctx.Response.Header.Set("Content-Length", "-5")
		ctx.SetBodyString("hello")
	}, "hello", false},
	{"huge length", func(ctx *gale.RequestCtx) {
		ctx.Response.Header.Set("Content-Length", "99999999999999999999999")
		ctx.SetBodyString("hello")
	}, "hello", false},
	{"two lengths", func(ctx *gale.RequestCtx) {
		ctx.Response.Header.Add("Content-Length", "1")
		ctx.Response.Header.Add("Content-Length", "2")
		ctx.SetBodyString("hello")
	}, "hello", false},
	{"length without a body", func(ctx *gale.RequestCtx) { ctx.Response.Header.SetContentLength(9) }, "", false},
	{"unknown length", func(ctx *gale.RequestCtx) {
		ctx.Response.Header.SetContentLength(-2)
		ctx.SetBodyString("hello")
	}, "hello", false},
	{"Transfer-Encoding", func(ctx *gale.RequestCtx) {
		ctx.Response.Header.Set("Transfer-Encoding", "chunked")
		ctx.SetBodyString("hello")
	}, "hello", false},
	{"Transfer-Encoding, length", func(ctx *gale.RequestCtx) {
		ctx.Response.Header.Set("Transfer-Encoding", "gzip")
		ctx.Response.Header.SetContentLength(3)
		ctx.SetBodyString("hello")
	}, "hello", false},
	{"flush, length", func(ctx *gale.RequestCtx) {
		ctx.Response.Header.SetContentLength(5)
		ctx.WriteString("he")
		ctx.Flush()
		ctx.WriteString("llo")
	}, "hello", false},
	{"flush, too long", func(ctx *gale.RequestCtx) {
		ctx.Response.Header.SetContentLength(5)
		ctx.WriteString("he")
		ctx.Flush()
		ctx.WriteString("llo, world")
	}, "hello", true},
	{"flush twice, too long", func(ctx *gale.RequestCtx) {
		ctx.Response.Header.SetContentLength(5)
		ctx.WriteString("hello")
		ctx.Flush()
		ctx.WriteString(", world")
		if ctx.Flush() == nil && !ctx.IsHead() {
			panic("Flush has taken more than the length")
		}
	}, "hello", true},
	{"flush, too short", func(ctx *gale.RequestCtx) {
		ctx.Response.Header.SetContentLength(5)
		ctx.WriteString("he")
		ctx.Flush()
	}, "he", true},
	{"flush, panic", func(ctx *gale.RequestCtx) {
		ctx.WriteString("he")
		ctx.Flush()
		panic(gale.ErrAbortHandler)
	}, "he", true},
	{"stream", func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("hello"), 5) }, "hello", false},
	{"stream too short", func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("hell"), 5) }, "hell", true},
	{"stream too long", func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("hello, world"), 5) }, "hello", false},
	{"stream of no bytes", func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("hello"), 0) }, "", false},
	{"stream that never ends", func(ctx *gale.RequestCtx) { ctx.SetBodyStream(exactly{strings.NewReader("hello")}, 5) }, "hello", false},
	{"stream reader that never ends", func(ctx *gale.RequestCtx) {
		ctx.SetBodyStream(gale.NewStreamReader(writeAndWait), 5)
	}, "hello", false},
	{"bounded stream reader that never ends", func(ctx *gale.RequestCtx) {
		ctx.SetBodyStream(gale.NewBoundedStreamReader(writeAndWait), 5)
	}, "hello", false},
	{"self-writing stream", func(ctx *gale.RequestCtx) { ctx.SetBodyStream(selfWriting{strings.NewReader("hello")}, 5) }, "hello", false},
	{"self-writing stream too short", func(ctx *gale.RequestCtx) { ctx.SetBodyStream(selfWriting{strings.NewReader("hell")}, 5) }, "hell", true},
	{"self-writing stream too long", func(ctx *gale.RequestCtx) { ctx.SetBodyStream(selfWriting{strings.NewReader("hello, world")}, 5) }, "hello", false},
	{"204", func(ctx *gale.RequestCtx) { ctx.SetStatusCode(204); ctx.SetBodyString("hello") }, "", false},
	{"204, length", func(ctx *gale.RequestCtx) { ctx.SetStatusCode(204); ctx.Response.Header.SetContentLength(5) }, "", false},
	{"204, stream", func(ctx *gale.RequestCtx) {
		ctx.SetBodyStream(strings.NewReader("hello"), 5)
		ctx.SetStatusCode(204)
	}, "", false},
	{"204, flush", func(ctx *gale.RequestCtx) {
		ctx.SetStatusCode(204)
		ctx.WriteString("he")
		ctx.Flush()
		ctx.WriteString("llo")
	}, "", false},
	{"204, trailer", func(ctx *gale.RequestCtx) {
		ctx.SetStatusCode(204)
		ctx.Response.Header.SetTrailer("X-Sum")
		ctx.Response.Header.Set("X-Sum", "1")
	}, "", false},
	{"205", func(ctx *gale.RequestCtx) { ctx.SetStatusCode(205); ctx.SetBodyString("hello") }, "", false},
	{"205, stream", func(ctx *gale.RequestCtx) {
		ctx.SetBodyStream(strings.NewReader("hello"), -1)
		ctx.SetStatusCode(205)
	}, "", false},
	{"205, flush", func(ctx *gale.RequestCtx) {
		ctx.SetStatusCode(205)
		ctx.WriteString("he")
		ctx.Flush()
	}, "", false},
	{"304", func(ctx *gale.RequestCtx) { ctx.SetBodyString("hello"); ctx.SetStatusCode(304) }, "", false},
	{"304, length", func(ctx *gale.RequestCtx) { ctx.SetStatusCode(304); ctx.Response.Header.SetContentLength(5) }, "", false},
	{"304, stream", func(ctx *gale.RequestCtx) {
		ctx.SetBodyStream(strings.NewReader("hello"), -1)
		ctx.SetStatusCode(304)
	}, "", false},
	{"time-out after a flush", gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
		ctx.WriteString("he")
		ctx.Flush() // before a second has passed
		<-ctx.Done()
	}, time.Second, "TIMED OUT"), "he", true},
	{"TimeoutError after a flush", func(ctx *gale.RequestCtx) {
		ctx.WriteString("he")
		ctx.Flush()
		ctx.TimeoutError("TIMED OUT")
	}, "he", true},
	{"hijack before a time-out", gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
		ctx.Hijack(func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\nhijacked") })
		<-ctx.Done()
	}, 10*time.Millisecond, "TIMED OUT"), "TIMED OUT", false},
	{"hijack before TimeoutError", func(ctx *gale.RequestCtx) {
		ctx.Hijack(func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\nhijacked") })
		ctx.TimeoutError("TIMED OUT")
	}, "TIMED OUT", false},
}

// exactly never ends: after its bytes a read waits for longer than the test does.
type exactly struct{ io.Reader }

func (e exactly) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	if err != nil {
		select {}
	}
	return n, nil
}

// writeAndWait is a stream writer that never ends.
func writeAndWait(w *bufio.Writer) {
	w.WriteString("hello")
	w.Flush()
	select {}
}

// selfWriting is a stream that writes itself.
type selfWriting struct{ r io.Reader }

func (w selfWriting) Read([]byte) (int, error)            { return 0, errors.New("read") }
func (w selfWriting) WriteTo(to io.Writer) (int64, error) { return io.Copy(to, w.r) }
func (w selfWriting) SupportsBodyWriteTo() bool           { return true }

// frontServers serve a handler in all ways there are. They return the address.
var frontServers = map[string]func(t *testing.T, h gale.RequestHandler) string{
	"block":    func(t *testing.T, h gale.RequestHandler) string { return galeServer(t, h, gale.EngineBlock) },
	"event":    func(t *testing.T, h gale.RequestHandler) string { return galeServer(t, h, gale.EngineAuto) },
	"net/http": netHTTPServer,
}

func galeServer(t *testing.T, h gale.RequestHandler, e gale.Engine) string {
	return serveOn(t, &gale.Server{Handler: h, Engine: e, Logger: quietLog{}})
}

// serveOn serves s on loopback until the test ends, and returns the address.
func serveOn(t *testing.T, s *gale.Server) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(ln) }()
	t.Cleanup(func() {
		s.Close()
		ln.Close() // Serve may not have begun yet, and would begin after Close
		<-done
	})
	return ln.Addr().String()
}

type quietLog struct{}

func (quietLog) Printf(string, ...any) {}

func netHTTPServer(t *testing.T, h gale.RequestHandler) string {
	s := httptest.NewUnstartedServer(NewHTTPHandler(h))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// Whatever a handler sets, its client reads exactly one complete response, or sees
// that it is broken. It never takes a part of one response for another one.
func TestFraming(t *testing.T) {
	byName := map[string]gale.RequestHandler{}
	for _, tt := range framings {
		byName[tt.name] = tt.h
	}
	serve := func(ctx *gale.RequestCtx) {
		if h := byName[string(ctx.Request.Header.Peek("X-Case"))]; h != nil {
			h(ctx)
			return
		}
		ctx.SetStatusCode(299)
		ctx.SetBodyString("second")
	}
	for server, start := range frontServers {
		addr := start(t, serve)
		for _, tt := range framings {
			for _, method := range []string{"GET", "HEAD"} {
				for _, version := range []string{"1.1", "1.0"} {
					t.Run(fmt.Sprintf("%s/%s/%s/%s", server, tt.name, method, version), func(t *testing.T) {
						if tt.name == "time-out after a flush" {
							t.Parallel() // it takes a second
						}
						want, broken := tt.want, tt.broken
						if method == "HEAD" {
							want = ""
						}
						checkFraming(t, addr, tt.name, method, version, want, broken)
					})
				}
			}
		}
	}
}

// checkFraming sends a request of a case and another one after it, and checks what
// comes back. broken says that the first response may not be followed by another
// one: for a GET with HTTP/1.1, that it must not look complete unless want has come.
func checkFraming(t *testing.T, addr, name, method, version, want string, broken bool) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(c, "%s / HTTP/%s\r\nHost: h\r\nConnection: keep-alive\r\nX-Case: %s\r\n\r\nGET /second HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", method, version, name)
	br := bufio.NewReader(c)
	resp, err := http.ReadResponse(br, &http.Request{Method: method})
	if err != nil {
		if !broken {
			t.Fatalf("the first response: %v", err)
		}
		return
	}
	body, err := io.ReadAll(resp.Body)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the first response is not finished: %q", body)
	}
	if string(body) != want && !(broken && err != nil && strings.HasPrefix(want, string(body))) {
		t.Errorf("the first response has the body %q, want %q", body, want)
	}
	if err != nil {
		if !broken {
			t.Errorf("the first response breaks off: %v", err)
		}
		return
	}
	if broken && method == "GET" && version == "1.1" && resp.ContentLength != int64(len(want)) {
		t.Errorf("a response that can't be complete looks so: %v, %q", resp.Header, body)
	}
	b, err := io.ReadAll(br)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("neither the second response nor the end comes: %q", b)
	}
	if len(b) == 0 {
		return // the connection was closed, which costs but can't confuse
	}
	second, err := http.ReadResponse(bufio.NewReader(strings.NewReader(string(b))), nil)
	if err != nil || second.StatusCode != 299 {
		t.Fatalf("after the first response comes %q", b)
	}
	if body, err := io.ReadAll(second.Body); string(body) != "second" || err != nil {
		t.Errorf("the second response: %q, %v", body, err)
	}
}
