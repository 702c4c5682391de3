package galetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/galehttp/gale"
)

func TestNewContext(t *testing.T) {
	ctx := NewContext("POST", "/a?b=c", []byte("d=e"))
	if string(ctx.Method()) != "POST" || string(ctx.Path()) != "/a" || string(ctx.QueryArgs().Peek("b")) != "c" ||
		string(ctx.Host()) != "example.com" || string(ctx.PostBody()) != "d=e" || ctx.RemoteAddr() != RemoteAddr {
		t.Error(ctx, ctx.Request.String())
	}
	ctx = NewContext("GET", "http://h:81/p", nil)
	if string(ctx.Host()) != "h:81" || string(ctx.RequestURI()) != "/p" || string(ctx.Request.Header.Host()) != "h:81" {
		t.Errorf("%s", &ctx.Request)
	}
	for target, want := range map[string]string{
		"/a/%62/../c":          "http://example.com/a/c /a/%62/../c",
		"https://h":            "https://h/ /",
		"http://h?a=b":         "http://h/?a=b /?a=b",
		"/p?u=http://h/":       "http://example.com/p?u=http://h/ /p?u=http://h/",
		"http://h/p?u=http://": "http://h/p?u=http:// /p?u=http://",
	} {
		ctx := NewContext("GET", target, nil)
		if got := fmt.Sprintf("%s %s", ctx.URI().FullURI(), ctx.RequestURI()); got != want {
			t.Errorf("%s: got %s, want %s", target, got, want)
		}
	}
	var req gale.Request
	req.SetRequestURI("/p")
	req.Header.SetHost("other")
	if ctx := NewContextOf(&req); string(ctx.Host()) != "other" {
		t.Errorf("%s", &ctx.Request)
	}
}

func TestRecord(t *testing.T) {
	broken := errors.New("broken")
	for _, tt := range []struct {
		name    string
		h       gale.RequestHandler
		status  int
		body    string
		flushes int
		interim int
		err     error
	}{
		{name: "nothing", h: func(ctx *gale.RequestCtx) {}, status: 200},
		{name: "BeforeSend", h: func(ctx *gale.RequestCtx) {
			ctx.BeforeSend(func(ctx *gale.RequestCtx) { ctx.SetStatusCode(202) })
		}, status: 202},
		{name: "Fail after Flush", h: func(ctx *gale.RequestCtx) {
			ctx.WriteString("part")
			_ = ctx.Flush()
			ctx.Fail(500, nil)
			ctx.WriteString("more")
		}, status: 200, body: "part", flushes: 1, err: gale.ErrAbortHandler},
		{name: "abort in BeforeSend", h: func(ctx *gale.RequestCtx) {
			ctx.BeforeSend(func(*gale.RequestCtx) { panic(gale.ErrAbortHandler) })
		}, status: 200, err: gale.ErrAbortHandler},
		{name: "body", h: func(ctx *gale.RequestCtx) { ctx.Error("no", 403) }, status: 403, body: "no"},
		{name: "stream", h: func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("streamed"), -1) }, status: 200, body: "streamed"},
		{name: "writer", h: func(ctx *gale.RequestCtx) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { fmt.Fprint(w, "x"); w.Flush() })
		}, status: 200, body: "x"},
		{name: "broken stream", h: func(ctx *gale.RequestCtx) {
			ctx.SetBodyStream(io.MultiReader(strings.NewReader("part"), iotest.ErrReader(broken)), -1)
		}, status: 200, body: "part", err: broken},
		{name: "flush", h: func(ctx *gale.RequestCtx) {
			ctx.SetStatusCode(201)
			for range 3 {
				ctx.WriteString("x")
				if err := ctx.Flush(); err != nil {
					panic(err)
				}
			}
			ctx.SetStatusCode(500) // too late
			ctx.WriteString("!")
		}, status: 201, body: "xxx!", flushes: 3},
		{name: "interim", h: func(ctx *gale.RequestCtx) {
			ctx.Response.Header.Set("Link", "</a>")
			ctx.EarlyHints()
			ctx.SendInterim(102, nil)
		}, status: 200, interim: 2},
		{name: "timeout", h: gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
			<-ctx.Done()
			ctx.WriteString("late")
			ctx.Flush()
		}, time.Millisecond, "slow"), status: 408, body: "slow"},
	} {
		r := Record(tt.h, NewContext("GET", "/", nil))
		if r.Response.StatusCode() != tt.status || string(r.Response.Body()) != tt.body || r.Flushes != tt.flushes ||
			len(r.Interim) != tt.interim || r.Err != tt.err {
			t.Errorf("%s: %d %q, %d flushes, %d interim, %v", tt.name, r.Response.StatusCode(), r.Response.Body(), r.Flushes, len(r.Interim), r.Err)
		}
	}
}

func TestRecordInterimFields(t *testing.T) {
	r := Record(func(ctx *gale.RequestCtx) {
		ctx.Response.Header.Set("Link", "</a>")
		ctx.EarlyHints()
	}, NewContext("GET", "/", nil))
	if i := r.Interim[0]; i.StatusCode() != 103 || string(i.Header.Peek("Link")) != "</a>" {
		t.Errorf("%s", i)
	}
}

func TestRecordTrailers(t *testing.T) {
	for _, flush := range []bool{false, true} {
		r := Record(func(ctx *gale.RequestCtx) {
			ctx.Response.Header.SetTrailer("X-Sum")
			ctx.WriteString("x")
			if flush {
				ctx.Flush()
			}
			ctx.Response.Header.Set("X-Sum", "1")
		}, NewContext("GET", "/", nil))
		if s := string(r.Response.Header.TrailerHeader()); s != "X-Sum: 1\r\n\r\n" {
			t.Errorf("flush %t: %q", flush, s)
		}
	}
}

func TestRecordHijack(t *testing.T) {
	r := Record(func(ctx *gale.RequestCtx) { ctx.Hijack(func(net.Conn) { t.Error("called") }) }, NewContext("GET", "/", nil))
	if !r.Hijacked {
		t.Error("not hijacked")
	}
}

// The context of a request ends with its handler; user values reach it.
func TestRecordContext(t *testing.T) {
	var kept context.Context
	ctx := NewContext("GET", "/", nil)
	ctx.SetUserValue("k", "v")
	Record(func(ctx *gale.RequestCtx) {
		if ctx.Value("k") != "v" || ctx.Err() != nil {
			t.Error("the context is not ready")
		}
		kept = ctx.Context()
	}, ctx)
	if kept.Err() != context.Canceled {
		t.Error("the context goes on")
	}
}

// Other contexts can be recorded as well.
func TestRecordAnyContext(t *testing.T) {
	var ctx gale.RequestCtx
	if r := Record(func(ctx *gale.RequestCtx) { ctx.SetBodyString("x") }, &ctx); string(r.Response.Body()) != "x" {
		t.Error(r.Response)
	}
}

// What is derived from a recorded context ends as on a server.
func TestRecordEndsContext(t *testing.T) {
	ctx := NewContext("GET", "/", nil)
	var derived context.Context
	Record(func(ctx *gale.RequestCtx) {
		var cancel context.CancelFunc
		derived, cancel = context.WithTimeout(ctx, time.Hour)
		t.Cleanup(cancel)
		ctx.SetUserValue("user", "me")
		if derived.Err() != nil {
			t.Error("ended while the handler runs")
		}
	}, ctx)
	for _, c := range []context.Context{ctx, ctx.Context(), derived} {
		if c.Err() != context.Canceled || context.Cause(c) != gale.ErrRequestDone {
			t.Errorf("%v, cause %v", c.Err(), context.Cause(c))
		}
	}
	if v := derived.Value("user"); v != "me" {
		t.Errorf("the user is %v", v)
	}
}

// A handler that is late doesn't decide on the result: neither by Hijack nor by what it holds.
func TestRecordLate(t *testing.T) {
	end, closed := make(chan struct{}), make(closer)
	r := Record(gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
		ctx.SetUserValue("value", closed)
		for {
			select {
			case <-end:
				return
			default:
				ctx.SetBodyString("late")
				ctx.HijackSetNoResponse(true)
				ctx.Hijack(func(net.Conn) { t.Error("called") })
			}
		}
	}, time.Millisecond, "slow"), NewContext("GET", "/", nil))
	if r.Response.StatusCode() != 408 || string(r.Response.Body()) != "slow" || r.Hijacked {
		t.Errorf("%d %q, hijacked %t", r.Response.StatusCode(), r.Response.Body(), r.Hijacked)
	}
	close(end)
	<-closed
}

type closer chan struct{}

func (c closer) Close() error { close(c); return nil }

// Functions of AfterSend run when the response is recorded.
func TestRecordAfterSend(t *testing.T) {
	var calls []int64
	handler := func(ctx *gale.RequestCtx) {
		ctx.AfterSend(func(sent int64, err error) {
			if calls = append(calls, sent); err != nil {
				t.Error(err)
			}
		})
		ctx.WriteString("one ")
		_ = ctx.Flush()
		ctx.WriteString("two")
	}
	Record(handler, NewContext("GET", "/", nil))
	if len(calls) != 1 || calls[0] != 7 {
		t.Errorf("calls with %d bytes", calls)
	}
}
