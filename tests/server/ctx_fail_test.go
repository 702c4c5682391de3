package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// The text goes to the client up to 499, and to the log from 500 on. A status that isn't
// an error becomes 500.
func TestFailStatus(t *testing.T) {
	var b bytes.Buffer
	for _, s := range []*gale.Server{{}, {Slog: slog.New(slog.NewTextHandler(&b, nil)), Logger: nil}} {
		quiet := s.Slog == nil
		ts := harness.Start(t, s, func(ctx *gale.RequestCtx) {
			var err error
			if ctx.QueryArgs().Has("text") {
				err = errors.New(string(ctx.QueryArgs().Peek("text")))
			}
			ctx.Fail(ctx.QueryArgs().GetUintOrZero("status"), err)
		})
		c := ts.Dial()
		for _, test := range []struct {
			query  string
			status int
			body   string
		}{
			{"status=404", 404, "Not Found"},
			{"status=404&text=no+such+user", 404, "no such user"},
			{"status=499&text=x%0d%0ay:%20z", 499, "x\r\ny: z"},
			{"status=503", 503, "Service Unavailable"},
			{"status=503&text=secret503", 503, "Service Unavailable"},
			{"status=200&text=secret200", 500, "Internal Server Error"},
			{"status=0", 500, "Internal Server Error"},
			{"status=600", 500, "Internal Server Error"},
			{"status=399&text=secret399", 500, "Internal Server Error"},
		} {
			c.Send(peers.Get("/?" + test.query))
			c.Want("GET", test.status, test.body)
		}
		if !quiet {
			continue
		}
		for _, secret := range []string{"secret503", "secret200", "secret399"} {
			if n := strings.Count(ts.Log.String(), ": "+secret); n != 1 {
				t.Errorf("%s was logged %d times: %s", secret, n, ts.Log)
			}
		}
		if strings.Contains(ts.Log.String(), ": no such user") {
			t.Errorf("logged: %s", ts.Log)
		}
	}
}

// An error that Fail did not make has a status, too.
func TestErrorStatusOfNothing(t *testing.T) {
	if got := gale.ErrorStatus(&gale.HandlerError{}); got != gale.StatusInternalServerError {
		t.Errorf("got %d", got)
	}
}

// Server.ErrorHandler makes the body for errors of handlers, panics, limits and malformed
// requests. The status of the first two stays.
func TestErrorHandlerIsOnePlace(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		s := &gale.Server{Engine: e, MaxRequestBodySize: 10, ErrorHandler: func(ctx *gale.RequestCtx, err error) {
			status := gale.ErrorStatus(err)
			var failed *gale.HandlerError
			var panicked *gale.PanicError
			switch {
			case errors.As(err, &failed):
				if ctx.Response.StatusCode() != status || failed.Status != status {
					t.Errorf("the status is %d before the call, want %d", ctx.Response.StatusCode(), status)
				}
			case errors.As(err, &panicked):
				if panicked.Value != "on purpose" || !bytes.Contains(panicked.Stack, []byte("goroutine")) {
					t.Errorf("%v", panicked.Value)
				}
			}
			ctx.SetStatusCode(status)
			if string(ctx.Path()) == "/other" {
				ctx.SetStatusCode(200)
				ctx.Fail(400, errors.New("of ErrorHandler")) // no recursion
				ctx.SetStatusCode(200)
				return
			}
			ctx.SetContentType("text/x-error")
			fmt.Fprintf(ctx, "%d: %v", status, err)
		}}
		ts := harness.Start(t, s, func(ctx *gale.RequestCtx) {
			ctx.Response.Header.Set("X-Set", "1")
			switch string(ctx.Path()) {
			case "/panic":
				panic("on purpose")
			case "/nil":
				ctx.Fail(404, nil)
			default:
				ctx.Fail(409, errors.New("taken"))
			}
		})
		for _, test := range []struct {
			in, body string
			status   int
			kept     bool
		}{
			{peers.Get("/fail"), "409: taken", 409, true},
			{peers.Get("/nil"), "404: Not Found", 404, true},
			{peers.Get("/other"), "of ErrorHandler", 409, true},
			{peers.Get("/panic"), "500: gale: the handler panicked", 500, false},
			{peers.Post("/", strings.Repeat("x", 11)), "413: " + gale.ErrBodyTooLarge.Error(), 413, false},
		} {
			c := ts.Dial()
			c.Send(test.in)
			a := c.Want("GET", test.status, test.body)
			if (a.Header.Get("X-Set") == "1") != test.kept {
				t.Errorf("%.20q: %v", test.in, a.Header)
			}
		}
		c := ts.Dial()
		c.Send("GET / HTTP/1.1\r\nHost h\r\n\r\n")
		if a := c.Answer("GET"); a.StatusCode != 400 || a.Header.Get("Content-Type") != "text/x-error" {
			t.Errorf("%d %v", a.StatusCode, a.Header)
		}
	})
}

// If ErrorHandler panics, the client gets a 500, and ErrorHandler isn't called for that: after a
// handler, and for a request that is refused.
func TestErrorHandlerPanics(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		var calls atomic.Int32
		s := &gale.Server{Engine: e, ErrorHandler: func(*gale.RequestCtx, error) { calls.Add(1); panic("in ErrorHandler") }}
		ts := harness.Start(t, s, func(ctx *gale.RequestCtx) {
			if string(ctx.Path()) == "/panic" {
				panic("on purpose")
			}
			ctx.Fail(409, nil)
		})
		for _, in := range []string{peers.Get("/fail"), peers.Get("/panic"), "GET\r\n\r\n"} {
			calls.Store(0)
			c := ts.Dial()
			c.Send(in)
			c.Want("GET", 500, "Internal Server Error")
			c.WantClosed()
			if calls.Load() != 1 {
				t.Errorf("%.20q: ErrorHandler was called %d times", in, calls.Load())
			}
		}
	})
}

// PanicHandler comes before ErrorHandler, as its documentation says.
func TestPanicHandlerBeforeErrorHandler(t *testing.T) {
	s := &gale.Server{
		ErrorHandler: func(*gale.RequestCtx, error) { t.Error("ErrorHandler was called") },
		PanicHandler: func(ctx *gale.RequestCtx, _ any) { ctx.SetBodyString("PanicHandler") },
	}
	ts := harness.Start(t, s, func(*gale.RequestCtx) { panic("on purpose") })
	c := ts.Dial()
	c.Send(peers.Get("/"))
	c.Want("GET", 500, "PanicHandler")
}

// After Flush, Fail breaks the response off, whatever the handler does after it.
func TestFailAfterFlush(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		ts := harness.Start(t, &gale.Server{Engine: e, ErrorHandler: func(*gale.RequestCtx, error) { t.Error("ErrorHandler was called") }}, func(ctx *gale.RequestCtx) {
			ctx.WriteString("part")
			if err := ctx.Flush(); err != nil {
				t.Error(err)
			}
			ctx.Fail(500, errors.New("too late"))
			if ctx.Flush() == nil {
				t.Error("Flush goes on")
			}
			ctx.WriteString("more")
			if ctx.QueryArgs().Has("stream") {
				ctx.SetBodyStream(strings.NewReader("more"), -1)
			}
		})
		for _, in := range []string{peers.Get("/"), peers.Get("/?stream"), "GET / HTTP/1.0\r\n\r\n"} {
			c := ts.Dial()
			c.Send(in)
			b, err := io.ReadAll(c.Br)
			if !bytes.Contains(b, []byte("part")) && err == nil || bytes.Contains(b, []byte("more")) || bytes.HasSuffix(b, []byte("0\r\n\r\n")) {
				t.Errorf("%q: got %q, %v", in, b, err)
			}
		}
		if !strings.Contains(ts.Log.String(), "too late") {
			t.Errorf("logged: %s", ts.Log)
		}
	})
}

// A late handler may call Fail. Nothing of that is sent.
func TestFailLate(t *testing.T) {
	failed := make(chan struct{})
	ts := harness.Start(t, nil, gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
		defer close(failed)
		<-ctx.Context().Done()
		ctx.Fail(409, errors.New("late"))
	}, time.Millisecond, "slow"))
	c := ts.Dial()
	c.Send(peers.Get("/"))
	c.Want("GET", 408, "slow")
	<-failed
}
