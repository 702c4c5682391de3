package server

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestSlogPanics proves that a panic and a line of RequestCtx.Logger become records with
// attributes, in which a client's path can't begin a new line or another attribute.
func TestSlogPanics(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		for _, secure := range []bool{false, true} {
			var lines peers.Log
			s := &gale.Server{
				Engine:                e,
				SecureErrorLogMessage: secure,
				Slog:                  slog.New(slog.NewJSONHandler(peers.Printed{Log: &lines}, &slog.HandlerOptions{Level: slog.LevelError})),
				Handler: func(ctx *gale.RequestCtx) {
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
			tc := peers.NewConn(t, c)
			tc.Send("PUT /a\"b\xff%0a?secret=1 HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")
			tc.Want("PUT", 500, "Internal Server Error")
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
