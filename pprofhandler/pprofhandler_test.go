package pprofhandler_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/pprofhandler"
)

// get asks a server of its own for target.
func get(t testing.TB, target string) *gale.Response {
	t.Helper()
	client, server := net.Pipe()
	_ = client.SetDeadline(time.Now().Add(30 * time.Second))
	done := make(chan error, 1)
	go func() {
		done <- (&gale.Server{Handler: pprofhandler.PprofHandler}).ServeConn(server)
	}()
	go io.WriteString(client, "GET "+target+" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	resp := new(gale.Response)
	if err := resp.Read(bufio.NewReader(client)); err != nil {
		t.Fatalf("%s: %v", target, err)
	}
	client.Close()
	<-done
	return resp
}

// What each path answers with. A body begins with want; gz says that it is a
// profile.
func TestPprofHandler(t *testing.T) {
	const (
		html   = "text/html; charset=utf-8"
		text   = "text/plain; charset=utf-8"
		binary = "application/octet-stream"
	)
	for _, tt := range []struct {
		target string
		status int
		kind   string
		want   string
		gz     bool
	}{
		{target: "/debug/pprof/", status: 200, kind: html, want: "<html>"},
		{target: "/debug/pprof", status: 200, kind: html, want: "<html>"},
		{target: "/", status: 200, kind: html, want: "<html>"},
		{target: "/debug/pprofheap", status: 200, kind: html, want: "<html>"},
		{target: "/debug/pprof/cmdline", status: 200, kind: text, want: os.Args[0]},
		{target: "/debug/pprof/symbol", status: 200, kind: text, want: "num_symbols: 1\n"},
		{target: "/debug/pprof/heap", status: 200, kind: binary, gz: true},
		{target: "/debug/pprof/heap?gc=1&debug=1", status: 200, kind: text, want: "heap profile: "},
		{target: "/debug/pprof//heap", status: 200, kind: binary, gz: true},
		{target: "/debug/pprof/goroutine?debug=2", status: 200, kind: text, want: "goroutine "},
		{target: "/debug/pprof/allocs?seconds=1", status: 200, kind: binary, gz: true},
		{target: "/debug/pprof/trace?seconds=0.05", status: 200, kind: binary, want: "go 1."},
		{target: "/debug/pprof/profile?seconds=1", status: 200, kind: binary, gz: true},
		{target: "/debug/pprof/nothing", status: 404, kind: text, want: "Unknown profile\n"},
		{target: "/debug/pprof/cmdlineFoo", status: 404, kind: text, want: "Unknown profile\n"},
		{target: "/debug/pprof/symbolFoo", status: 404, kind: text, want: "Unknown profile\n"},
		{target: "/debug/pprof/cmdline/extra", status: 404, kind: text, want: "Unknown profile\n"},
		{target: "/debug/pprof/cmdline/", status: 404, kind: text},
		{target: "/debug/pprof/heap/", status: 404, kind: text},
	} {
		resp := get(t, tt.target)
		body := resp.Body()
		if resp.StatusCode() != tt.status || string(resp.Header.ContentType()) != tt.kind || !strings.HasPrefix(string(body), tt.want) {
			t.Errorf("%s: got %d %q %.40q, want %d %q %q", tt.target,
				resp.StatusCode(), resp.Header.ContentType(), body, tt.status, tt.kind, tt.want)
		}
		if tt.gz {
			r, err := gzip.NewReader(bytes.NewReader(body))
			if err != nil {
				t.Errorf("%s: %v", tt.target, err)
				continue
			}
			if n, err := io.Copy(io.Discard, r); err != nil || n == 0 {
				t.Errorf("%s: a profile of %d bytes, %v", tt.target, n, err)
			}
		}
		if tt.status == 404 && bytes.Contains(body, []byte(os.Args[0])) {
			t.Errorf("%s tells the command line", tt.target)
		}
	}
}

// A context without a connection will do, as in tests of programs.
func TestWithoutConnection(t *testing.T) {
	var ctx gale.RequestCtx
	ctx.Request.SetRequestURI("/debug/pprof/symbol")
	pprofhandler.PprofHandler(&ctx)
	if got := string(ctx.Response.Body()); got != "num_symbols: 1\n" {
		t.Errorf("got %q", got)
	}
}

func ExamplePprofHandler() {
	handler := func(ctx *gale.RequestCtx) {
		if bytes.HasPrefix(ctx.Path(), []byte("/debug/pprof/")) {
			pprofhandler.PprofHandler(ctx)
			return
		}
		ctx.WriteString("the program")
	}
	// On an address that is not public; then:
	//	go tool pprof http://127.0.0.1:6060/debug/pprof/heap
	var ctx gale.RequestCtx
	ctx.Request.SetRequestURI("/debug/pprof/heap")
	handler(&ctx)
	fmt.Println(ctx.Response.StatusCode(), string(ctx.Response.Header.Peek("Content-Disposition")))
	// Output: 200 attachment; filename="heap"
}
