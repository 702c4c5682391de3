package gale

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
)

// TestSlogPanics proves that a panic and a line of RequestCtx.Logger become records with
// attributes, in which a client's path can't begin a new line or another attribute.
func TestSlogPanics(t *testing.T) {
	onEngines(t, func(t *testing.T, e Engine) {
		for _, secure := range []bool{false, true} {
			var lines testLog
			s := &Server{
				Engine:                e,
				SecureErrorLogMessage: secure,
				Slog:                  slog.New(slog.NewJSONHandler(printed{&lines}, &slog.HandlerOptions{Level: slog.LevelError})),
				Handler: func(ctx *RequestCtx) {
					ctx.Logger().Printf("working on %d", 7)
					panic("on purpose")
				},
			}
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan error, 1)
			go func() { served <- s.Serve(ln) }()
			c, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			tc := newTestConn(t, c)
			tc.send("PUT /a\"b\xff%0a?secret=1 HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")
			tc.want("PUT", 500, "Internal Server Error")
			s.Close()
			<-served
			var records []map[string]any
			for line := range bytes.Lines([]byte(lines.String())) {
				r := map[string]any{}
				if err := json.Unmarshal(line, &r); err != nil {
					t.Fatalf("%q: %v", line, err)
				}
				records = append(records, r)
			}
			if len(records) != 2 {
				t.Fatalf("got %d records: %s", len(records), lines.String())
			}
			who := map[string]any{"method": "PUT", "path": "/a\"b\ufffd%0a", "remote": c.LocalAddr().String()}
			for k, want := range who {
				if got := records[0][k]; got != want {
					t.Errorf("line: %s is %q, want %q", k, got, want)
				}
				if got := records[1][k]; secure && got != nil || !secure && got != want {
					t.Errorf("panic, secure %v: %s is %q, want %q", secure, k, got, want)
				}
			}
			if r := records[0]; r["msg"] != "working on 7" {
				t.Errorf("the line is %v", r)
			}
			r := records[1]
			stack, _ := r["stack"].(string)
			if r["msg"] != "panic in a handler" || r["error"] != "on purpose" || r["level"] != "ERROR" || !strings.Contains(stack, "TestSlogPanics") {
				t.Errorf("the panic is %v", r)
			}
			if secure && strings.Contains(lines.String()[strings.Index(lines.String(), "on purpose"):], "secret") {
				t.Errorf("what the client sent is in the log: %s", lines.String())
			}
		}
	})
}

// Errors in functions of BeforeSend and in Fail become records like those of panics, and
// a slog handler that panics harms no request.
func TestSlogHooksAndFail(t *testing.T) {
	for _, secure := range []bool{false, true} {
		for what, run := range map[string]func(ctx *RequestCtx){
			"fail": func(ctx *RequestCtx) { ctx.Fail(502, errors.New("on purpose")) },
			"hook": func(ctx *RequestCtx) {
				ctx.BeforeSend(func(*RequestCtx) { panic("on purpose") })
				ctx.beforeSend()
			},
		} {
			var lines testLog
			ctx := RequestCtx{s: &Server{SecureErrorLogMessage: secure, Slog: slog.New(slog.NewJSONHandler(printed{&lines}, nil))}}
			ctx.Request.SetRequestURI("/a%2fb?secret=1")
			run(&ctx)
			r := map[string]any{}
			if err := json.Unmarshal([]byte(lines.String()), &r); err != nil {
				t.Fatalf("%s: %q: %v", what, lines.String(), err)
			}
			if r["error"] != "on purpose" || r["level"] != "ERROR" || strings.Contains(lines.String(), "secret") {
				t.Errorf("%s: %v", what, r)
			}
			for k, want := range map[string]any{"method": "GET", "path": "/a%2fb", "remote": "0.0.0.0:0"} {
				if got := r[k]; secure && got != nil || !secure && got != want {
					t.Errorf("%s, secure %v: %s is %v, want %v", what, secure, k, got, want)
				}
			}
			ctx = RequestCtx{s: &Server{Slog: slog.New(panickingSlog{slog.DiscardHandler})}}
			run(&ctx)
			if status := ctx.Response.StatusCode(); status/100 != 5 || len(ctx.Response.Body()) == 0 {
				t.Errorf("%s: %d %q", what, status, ctx.Response.Body())
			}
		}
	}
}

// panickingSlog is a slog handler that panics.
type panickingSlog struct{ slog.Handler }

func (panickingSlog) Enabled(context.Context, slog.Level) bool { return true }

func (panickingSlog) Handle(context.Context, slog.Record) error { panic("in slog on purpose") }
