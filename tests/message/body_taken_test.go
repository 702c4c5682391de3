package message

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/reverse"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// wholeBodies is a server of net/http that notes the length of each body that it could read.
type wholeBodies struct {
	*httptest.Server
	mu   sync.Mutex
	read []int
}

func (s *wholeBodies) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.read = append(s.read, len(b))
	}
}

func (s *wholeBodies) take() (read []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	read, s.read = s.read, nil
	return read
}

// logLines collects what is logged.
type logLines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logLines) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.b.Reset()
	return l.b.String()
}

// A body whose stream a handler has read, in part or to its end, isn't handed on: who gets it has an
// error that says why, and no short body that looks whole. If the program sets a stream, that is the
// body, also if it is the rest of the one that came.
func TestBodyThatWasRead(t *testing.T) {
	up := new(wholeBodies)
	up.Server = httptest.NewUnstartedServer(up)
	up.Config.Protocols = peers.Protocols(1, 2)
	up.Start()
	t.Cleanup(up.Close)
	addr := up.Listener.Addr().String()
	h1, h2 := &gale.HostClient{Addr: addr}, &gale.HostClient{Addr: addr, HTTP2: gale.HTTP2Only}
	pipe := &gale.PipelineClient{Addr: addr, Logger: log.New(io.Discard, "", 0)}
	proxy, err := reverse.New(up.URL)
	if err != nil {
		t.Fatalf("a proxy for %s: %v", up.URL, err)
	}
	t.Cleanup(func() { h1.CloseIdleConnections(); h2.CloseIdleConnections() })
	logged := new(logLines)
	ways := map[string]func(*gale.RequestCtx) error{
		"HTTP/1":   func(ctx *gale.RequestCtx) error { return h1.Do(&ctx.Request, &ctx.Response) },
		"HTTP/2":   func(ctx *gale.RequestCtx) error { return h2.Do(&ctx.Request, &ctx.Response) },
		"pipeline": func(ctx *gale.RequestCtx) error { return pipe.Do(&ctx.Request, &ctx.Response) },
		"again": func(ctx *gale.RequestCtx) error { // the error of the first call isn't lost
			if err := h1.Do(&ctx.Request, nil); err == nil {
				return nil
			}
			return h1.Do(&ctx.Request, nil)
		},
		"Write": func(ctx *gale.RequestCtx) error {
			var b bytes.Buffer
			if _, err := ctx.Request.WriteTo(&b); err != nil {
				return err
			}
			r, err := http.ReadRequest(bufio.NewReader(&b))
			if err == nil {
				up.ServeHTTP(nil, r)
			}
			return err
		},
		"reverse": func(ctx *gale.RequestCtx) error {
			proxy.Handler(ctx)
			if ctx.Response.StatusCode() == 500 {
				return door.ErrBodyTaken
			}
			return nil
		},
		"net/http": func(ctx *gale.RequestCtx) (err error) {
			adaptor.NewFastHTTPHandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				var b []byte
				if b, err = io.ReadAll(r.Body); err == nil {
					r.Body = io.NopCloser(bytes.NewReader(b))
					up.ServeHTTP(nil, r)
				}
			})(ctx)
			return err
		},
		"ConvertRequest": func(ctx *gale.RequestCtx) error {
			var r http.Request
			err := adaptor.ConvertRequest(ctx, &r, true)
			if err == nil {
				up.ServeHTTP(nil, &r)
			}
			return err
		},
	}
	read := func(n int64) func(*gale.RequestCtx) {
		return func(ctx *gale.RequestCtx) { _, _ = io.CopyN(io.Discard, ctx.RequestBodyStream(), n) }
	}
	const formPart = "the form, and a part of its stream"
	reads := []struct {
		name  string
		f     func(*gale.RequestCtx)
		whole []int // what a receiver may read: each of these lengths, or none for an error
	}{
		{"nothing", func(*gale.RequestCtx) {}, []int{len(hello)}},
		{"a part", read(3), nil},
		{"all", read(int64(len(hello))), nil},
		{"to its end", read(int64(len(hello)) + 1), nil},
		{"a part of the form", func(ctx *gale.RequestCtx) {
			if r, err := ctx.Request.MultipartReader(); err == nil {
				_, _ = r.NextPart()
			}
		}, nil},
		{formPart, func(ctx *gale.RequestCtx) { _, _ = ctx.MultipartForm(); read(3)(ctx) }, nil},
		{"a part, and set again", func(ctx *gale.RequestCtx) {
			var b bytes.Buffer
			_, _ = io.CopyN(&b, ctx.RequestBodyStream(), 3)
			ctx.Request.SetBodyStream(io.MultiReader(&b, ctx.RequestBodyStream()), ctx.Request.Header.ContentLength())
		}, []int{len(hello)}},
		{"a part, and the rest set", func(ctx *gale.RequestCtx) {
			n := ctx.Request.Header.ContentLength()
			_, _ = io.CopyN(io.Discard, ctx.RequestBodyStream(), 3)
			ctx.Request.SetBodyStream(ctx.RequestBodyStream(), max(n-3, -1))
		}, []int{len(hello) - 3}},
		{"Body", func(ctx *gale.RequestCtx) { ctx.PostBody() }, []int{len(hello)}},
	}
	way, how, failure := "", reads[0], error(nil)
	handler := func(ctx *gale.RequestCtx) {
		how.f(ctx)
		failure = ways[way](ctx)
	}
	inner := httptest.NewServer(adaptor.NewHTTPHandler(handler))
	t.Cleanup(inner.Close)
	inner.Config.ErrorLog = log.New(logged, "", 0)
	fronts := map[string]string{"net/http": inner.URL}
	fronts["gale"] = "http://" + harness.Start(t, &gale.Server{StreamRequestBody: true, Logger: log.New(logged, "", 0)}, handler).Addr
	for front, url := range fronts {
		for _, how = range reads {
			for way = range ways {
				if how.name == formPart && way == "again" {
					continue // after the error, a call sends the form from its beginning
				}
				for _, chunked := range []bool{false, true} {
					name := fmt.Sprintf("%s, read %s, %s, chunked %v", front, how.name, way, chunked)
					var r io.Reader = strings.NewReader(hello)
					if chunked {
						r = io.MultiReader(r)
					}
					logged.take()
					resp, err := http.Post(url, "multipart/form-data; boundary=B", r)
					if err != nil {
						t.Fatalf("%s: no answer: %v", name, err)
					}
					resp.Body.Close()
					got := up.take()
					if fmt.Sprint(got) != fmt.Sprint(how.whole) {
						t.Errorf("%s: the receiver has read bodies of %v bytes, want %v (%v)", name, got, how.whole, failure)
					}
					if how.whole == nil && !errors.Is(failure, door.ErrBodyTaken) || how.whole != nil && failure != nil {
						t.Errorf("%s: the error is %v", name, failure)
					}
					if lines := logged.take(); way == "reverse" && front == "gale" && strings.Contains(lines, door.ErrBodyTaken.Error()) != (how.whole == nil) {
						t.Errorf("%s: logged was %q", name, lines)
					}
				}
			}
		}
	}
}

// A handler of net/http that has read of a body with a length leaves no body that looks whole to a
// handler of Gale, or to what that one hands it on to.
func TestBodyThatNetHTTPHasRead(t *testing.T) {
	asks := map[string]func(*gale.RequestCtx) error{
		"PostBody":      func(ctx *gale.RequestCtx) error { ctx.PostBody(); return ctx.Request.BodyError() },
		"stream":        func(ctx *gale.RequestCtx) error { _, err := io.ReadAll(ctx.RequestBodyStream()); return err },
		"Write":         func(ctx *gale.RequestCtx) error { _, err := ctx.Request.WriteTo(io.Discard); return err },
		"MultipartForm": func(ctx *gale.RequestCtx) error { _, err := ctx.MultipartForm(); return err },
		"net/http": func(ctx *gale.RequestCtx) (err error) {
			adaptor.NewFastHTTPHandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, err = io.ReadAll(r.Body) })(ctx)
			return err
		},
	}
	for name, ask := range asks {
		for _, n := range []int{0, 3, len(hello)} {
			err := error(nil)
			h := adaptor.NewHTTPHandler(func(ctx *gale.RequestCtx) { err = ask(ctx) })
			r := httptest.NewRequest("POST", "/", strings.NewReader(hello))
			r.Header.Set("Content-Type", "multipart/form-data; boundary=B")
			_, _ = io.ReadFull(r.Body, make([]byte, n))
			h.ServeHTTP(httptest.NewRecorder(), r)
			if (err == nil) != (n == 0) || err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && name != "MultipartForm" {
				t.Errorf("%s after %d bytes were read: %v", name, n, err)
			}
		}
	}
}

// hello is a form that is also the form which Gale writes for it, except for the boundary.
const hello = "--B\r\nContent-Disposition: form-data; name=\"role\"\r\n\r\nuser\r\n--B--\r\n"
