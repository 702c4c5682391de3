package gale

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Fail keeps the headers that were set before, except those of the old body.
func TestFailKeepsFields(t *testing.T) {
	onEngines(t, func(t *testing.T, e Engine) {
		var closed atomic.Int32
		ts := startServer(t, &Server{Engine: e}, func(ctx *RequestCtx) {
			h := &ctx.Response.Header
			for _, name := range contentFields {
				if name != HeaderTransferEncoding && name != HeaderContentLength {
					h.Set(name, "x-"+name)
				}
			}
			h.Set("X-Set", "1")
			h.Set("Cache-Control", "no-store")
			h.SetStatusMessage([]byte("Fine"))
			var cookie Cookie
			cookie.SetKey("k")
			cookie.SetValue("v")
			h.SetCookie(&cookie)
			switch string(ctx.Path()) {
			case "/stream":
				ctx.SetBodyStream(countedClose{strings.NewReader("old"), &closed}, -1)
			case "/length":
				ctx.SetBodyStream(countedClose{strings.NewReader("old"), &closed}, 3)
			case "/skip":
				ctx.SetBodyString("old")
				ctx.Response.SkipBody = true
			case "/hijack":
				ctx.Hijack(func(net.Conn) { t.Error("hijacked") })
			}
			ctx.Fail(StatusConflict, errors.New("taken"))
		})
		c := ts.dial()
		for _, path := range []string{"/", "/stream", "/length", "/skip", "/hijack"} {
			c.send(get(path))
			a := c.want("GET", StatusConflict, "taken")
			for _, name := range contentFields {
				if v := a.Header.Get(name); strings.HasPrefix(v, "x-") {
					t.Errorf("%s: %s is %q", path, name, v)
				}
			}
			if a.Status != "409 Conflict" || a.ContentLength != 5 || a.Header.Get("Content-Type") != plainText || a.Header.Get("X-Set") != "1" ||
				a.Header.Get("Set-Cookie") != "k=v" || a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: %s %v", path, a.Status, a.Header)
			}
		}
		c.send("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n")
		c.want("HEAD", StatusConflict, "")
		c.wantOpen()
		if closed.Load() != 2 {
			t.Errorf("%d streams were closed", closed.Load())
		}
	})
}

// The text goes to the client up to 499, and to the log from 500 on. A status that isn't
// an error becomes 500.
func TestFailStatus(t *testing.T) {
	var b bytes.Buffer
	for _, s := range []*Server{{}, {Slog: slog.New(slog.NewTextHandler(&b, nil)), Logger: nil}} {
		quiet := s.Slog == nil
		ts := startServer(t, s, func(ctx *RequestCtx) {
			var err error
			if ctx.QueryArgs().Has("text") {
				err = errors.New(string(ctx.QueryArgs().Peek("text")))
			}
			ctx.Fail(ctx.QueryArgs().GetUintOrZero("status"), err)
		})
		c := ts.dial()
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
			c.send(get("/?" + test.query))
			c.want("GET", test.status, test.body)
		}
		if !quiet {
			continue
		}
		for _, secret := range []string{"secret503", "secret200", "secret399"} {
			if n := strings.Count(ts.log.String(), ": "+secret); n != 1 {
				t.Errorf("%s was logged %d times: %s", secret, n, ts.log)
			}
		}
		if strings.Contains(ts.log.String(), ": no such user") {
			t.Errorf("logged: %s", ts.log)
		}
	}
}

// With Slog the error of a 5xx is logged with attributes, but without what clients sent
// if that must not be logged.
func TestFailSlog(t *testing.T) {
	for _, secure := range []bool{false, true} {
		var b bytes.Buffer
		var ctx RequestCtx
		ctx.s = &Server{Slog: slog.New(slog.NewTextHandler(&b, nil)), SecureErrorLogMessage: secure}
		ctx.Request.SetRequestURI("/path?query")
		ctx.Fail(502, errors.New("upstream is down"))
		for _, want := range []string{"level=ERROR", "status=502", `error="upstream is down"`} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%q lacks %s", &b, want)
			}
		}
		for _, sent := range []string{"method=GET", "path=/path", "remote=0.0.0.0:0"} {
			if strings.Contains(b.String(), sent) == secure {
				t.Errorf("SecureErrorLogMessage %v: %q", secure, &b)
			}
		}
	}
}

// Clients that prefer JSON get problem details, from every place where the server itself
// makes the body of an error, if the head was read.
func TestFailJSON(t *testing.T) {
	onEngines(t, func(t *testing.T, e Engine) {
		ts := startServer(t, &Server{Engine: e, MaxRequestBodySize: 10}, func(ctx *RequestCtx) {
			switch string(ctx.Path()) {
			case "/fail":
				ctx.Fail(404, errors.New("no \"user\"\r\n<b>\x00\xff"))
			case "/panic":
				panic("on purpose")
			case "/error":
				ctx.Error("text", 400)
			}
		})
		const accept = "Accept: application/json\r\n"
		for name, test := range map[string]struct {
			in   string
			want problem
		}{
			"fail":      {"GET /fail HTTP/1.1\r\nHost: h\r\n" + accept + "\r\n", problem{"about:blank", "Not Found", 404, "no \"user\"\r\n<b>\x00\ufffd"}},
			"panic":     {"GET /panic HTTP/1.1\r\nHost: h\r\n" + accept + "\r\n", problem{"about:blank", "Internal Server Error", 500, ""}},
			"too large": {"POST / HTTP/1.1\r\nHost: h\r\n" + accept + "Content-Length: 11\r\n\r\n", problem{"about:blank", "Request Entity Too Large", 413, "Too big request body"}},
			"Expect":    {"POST / HTTP/1.1\r\nHost: h\r\nExpect: x\r\n" + accept + "\r\n", problem{"about:blank", "Expectation Failed", 417, "expectation failed"}},
		} {
			c := ts.dial()
			c.send(test.in)
			a := c.read("GET")
			var got problem
			if err := json.Unmarshal([]byte(a.body), &got); err != nil || got != test.want || a.StatusCode != test.want.Status {
				t.Errorf("%s: %d %s, %v", name, a.StatusCode, a.body, err)
			}
			if a.Header.Get("Content-Type") != "application/problem+json" || a.Header.Get("Vary") != "Accept" || a.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: %v", name, a.Header)
			}
		}
		for name, in := range map[string]string{
			"a head that is malformed": "GET / HTTP/1.1\r\nHost: h\r\n" + accept + "X x\r\n\r\n",
			"another media type":       "GET /fail HTTP/1.1\r\nHost: h\r\nAccept: text/html, application/json;q=0.9\r\n\r\n",
			"all the same":             "GET /fail HTTP/1.1\r\nHost: h\r\nAccept: application/json, text/plain, */*\r\n\r\n",
			"ctx.Error":                "GET /error HTTP/1.1\r\nHost: h\r\n" + accept + "\r\n",
		} {
			c := ts.dial()
			c.send(in)
			a := c.read("GET")
			vary := a.Header.Values("Vary")
			if !strings.HasPrefix(a.Header.Get("Content-Type"), "text/plain") || (len(vary) == 1 && vary[0] == "Accept") != (name != "ctx.Error") {
				t.Errorf("%s: %v %q", name, a.Header, a.body)
			}
		}
	})
}

// An error that Fail did not make has a status, too.
func TestErrorStatusOfNothing(t *testing.T) {
	if got := ErrorStatus(&HandlerError{}); got != StatusInternalServerError {
		t.Errorf("got %d", got)
	}
}

// Server.ErrorHandler makes the body for errors of handlers, panics, limits and malformed
// requests. The status of the first two stays.
func TestErrorHandlerIsOnePlace(t *testing.T) {
	onEngines(t, func(t *testing.T, e Engine) {
		s := &Server{Engine: e, MaxRequestBodySize: 10, ErrorHandler: func(ctx *RequestCtx, err error) {
			status := ErrorStatus(err)
			var failed *HandlerError
			var panicked *PanicError
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
		ts := startServer(t, s, func(ctx *RequestCtx) {
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
			{get("/fail"), "409: taken", 409, true},
			{get("/nil"), "404: Not Found", 404, true},
			{get("/other"), "of ErrorHandler", 409, true},
			{get("/panic"), "500: gale: the handler panicked", 500, false},
			{post("/", strings.Repeat("x", 11)), "413: " + ErrBodyTooLarge.Error(), 413, false},
		} {
			c := ts.dial()
			c.send(test.in)
			a := c.want("GET", test.status, test.body)
			if (a.Header.Get("X-Set") == "1") != test.kept {
				t.Errorf("%.20q: %v", test.in, a.Header)
			}
		}
		c := ts.dial()
		c.send("GET / HTTP/1.1\r\nHost h\r\n\r\n")
		if a := c.read("GET"); a.StatusCode != 400 || a.Header.Get("Content-Type") != "text/x-error" {
			t.Errorf("%d %v", a.StatusCode, a.Header)
		}
	})
}

// If ErrorHandler panics after a handler ran, the client gets a 500, and ErrorHandler
// isn't called for it. Otherwise the connection is dropped.
func TestErrorHandlerPanics(t *testing.T) {
	onEngines(t, func(t *testing.T, e Engine) {
		var calls atomic.Int32
		s := &Server{Engine: e, ErrorHandler: func(*RequestCtx, error) { calls.Add(1); panic("in ErrorHandler") }}
		ts := startServer(t, s, func(ctx *RequestCtx) {
			if string(ctx.Path()) == "/panic" {
				panic("on purpose")
			}
			ctx.Fail(409, nil)
		})
		for _, path := range []string{"/fail", "/panic"} {
			calls.Store(0)
			c := ts.dial()
			c.send(get(path))
			c.want("GET", 500, "Internal Server Error")
			c.wantClosed()
			if calls.Load() != 1 {
				t.Errorf("%s: ErrorHandler was called %d times", path, calls.Load())
			}
		}
		c := ts.dial()
		c.send("GET\r\n\r\n")
		c.wantClosed()
	})
}

// PanicHandler comes before ErrorHandler, as its documentation says.
func TestPanicHandlerBeforeErrorHandler(t *testing.T) {
	s := &Server{
		ErrorHandler: func(*RequestCtx, error) { t.Error("ErrorHandler was called") },
		PanicHandler: func(ctx *RequestCtx, _ any) { ctx.SetBodyString("PanicHandler") },
	}
	ts := startServer(t, s, func(*RequestCtx) { panic("on purpose") })
	c := ts.dial()
	c.send(get("/"))
	c.want("GET", 500, "PanicHandler")
}

// After Flush, Fail breaks the response off, whatever the handler does after it.
func TestFailAfterFlush(t *testing.T) {
	onEngines(t, func(t *testing.T, e Engine) {
		ts := startServer(t, &Server{Engine: e, ErrorHandler: func(*RequestCtx, error) { t.Error("ErrorHandler was called") }}, func(ctx *RequestCtx) {
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
		for _, in := range []string{get("/"), get("/?stream"), "GET / HTTP/1.0\r\n\r\n"} {
			c := ts.dial()
			c.send(in)
			b, err := io.ReadAll(c.br)
			if !bytes.Contains(b, []byte("part")) && err == nil || bytes.Contains(b, []byte("more")) || bytes.HasSuffix(b, []byte("0\r\n\r\n")) {
				t.Errorf("%q: got %q, %v", in, b, err)
			}
		}
		if !strings.Contains(ts.log.String(), "too late") {
			t.Errorf("logged: %s", ts.log)
		}
	})
}

// A late handler may call Fail. Nothing of that is sent.
func TestFailLate(t *testing.T) {
	failed := make(chan struct{})
	ts := startServer(t, nil, TimeoutHandler(func(ctx *RequestCtx) {
		defer close(failed)
		<-ctx.Context().Done()
		ctx.Fail(409, errors.New("late"))
	}, time.Millisecond, "slow"))
	c := ts.dial()
	c.send(get("/"))
	c.want("GET", 408, "slow")
	<-failed
}
