package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"

	"github.com/galehttp/gale"
)

// TestRoutes talks to the program, whose types are those of Gale.
func TestRoutes(t *testing.T) {
	ln := fasthttputil.NewInmemoryListener()
	defer ln.Close()
	var s *gale.Server = &fasthttp.Server{Handler: routes().Handler}
	go s.Serve(ln)
	defer s.Shutdown()
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return ln.Dial() },
	}}
	for _, tt := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/", "", 200, "Welcome!\n"},
		{"GET", "/hello/you", "", 200, "Hello, you!\n"},
		{"POST", "/echo", "abc", 200, "abc"},
		{"GET", "/echo", "", 405, "Method Not Allowed"},
		{"GET", "/elsewhere", "", 404, "Not Found"},
	} {
		req, err := http.NewRequest(tt.method, "http://example.com"+tt.path, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != tt.status || string(body) != tt.want {
			t.Errorf("%s %s: %d %q, %v, want %d %q", tt.method, tt.path, resp.StatusCode, body, err, tt.status, tt.want)
		}
		if got := resp.Header.Get("Server"); got != "fasthttp" {
			t.Errorf("Server: %q", got)
		}
	}
}
