package adaptor

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
)

// A HijackHandler runs in a goroutine of the library: if it panics, or ends the
// goroutine, its connection is closed, and the panic is in the log of the net/http
// server. The process goes on.
func TestHijackHandlerThatPanics(t *testing.T) {
	logged := make(chan string, 1)
	s := httptest.NewUnstartedServer(NewHTTPHandler(func(ctx *gale.RequestCtx) {
		path := string(ctx.Path())
		ctx.Hijack(func(c net.Conn) {
			if path == "/goexit" {
				runtime.Goexit()
			}
			panic("on purpose")
		})
	}))
	s.Config.ErrorLog = log.New(lineWriter(logged), "", 0)
	s.Start()
	defer s.Close()
	for _, path := range []string{"/panic", "/goexit", "/panic"} {
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(time.Minute))
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path)
		if b, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(b), "HTTP/1.1 200 OK\r\n") {
			t.Errorf("%s: got %q, %v", path, b, err)
		}
		if path == "/goexit" {
			continue
		}
		if line := <-logged; !strings.Contains(line, "panic in a HijackHandler: on purpose") || !strings.Contains(line, "hijack_test.go") {
			t.Errorf("logged: %s", line)
		}
	}
}

// lineWriter sends what is logged.
type lineWriter chan string

func (w lineWriter) Write(p []byte) (int, error) {
	w <- string(p)
	return len(p), nil
}

// badWriter is a ResponseWriter that panics.
type badWriter struct{ http.ResponseWriter }

func (badWriter) WriteHeader(int) { panic(http.ErrAbortHandler) }

// A ResponseWriter that panics ends the request, and no goroutine waits for a lock.
func TestResponseWriterThatPanics(t *testing.T) {
	for name, h := range map[string]gale.RequestHandler{
		"bytes":   func(ctx *gale.RequestCtx) { ctx.SetBodyString("x") },
		"stream":  func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("x"), 1) },
		"flush":   func(ctx *gale.RequestCtx) { ctx.Flush() },
		"interim": func(ctx *gale.RequestCtx) { _ = ctx.SendInterim(gale.StatusProcessing, nil) },
		"timeout": func(ctx *gale.RequestCtx) { ctx.TimeoutError("late") },
	} {
		over := make(chan struct{})
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer close(over)
			NewHTTPHandler(h).ServeHTTP(badWriter{w}, r)
		}))
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		select {
		case <-over:
			s.Close()
		case <-time.After(time.Minute):
			t.Errorf("%s: the request never ends", name)
		}
		c.Close()
	}
}

// A handler that panics leaks nothing: what the request holds is closed.
func TestPanicReleases(t *testing.T) {
	closed := make(chan bool, 1)
	s := httptest.NewUnstartedServer(NewHTTPHandler(func(ctx *gale.RequestCtx) {
		ctx.SetUserValue("v", closer(closed))
		panic(gale.ErrAbortHandler)
	}))
	s.Start()
	defer s.Close()
	if resp, err := http.Get(s.URL); err == nil {
		resp.Body.Close()
		t.Error("there is a response")
	}
	<-closed
}

type closer chan bool

func (c closer) Close() error {
	c <- true
	return nil
}
