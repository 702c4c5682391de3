package main

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
)

// TestApp talks to the application over loopback.
func TestApp(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	app := newApp()
	var _ *gale.Server = app.Server()
	go app.Listener(ln)
	defer app.ShutdownWithTimeout(5 * time.Second)
	for _, tt := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/api/notes", "", 200, `[]`},
		{"POST", "/api/notes", `{"text":"one"}`, 201, `{"id":1,"text":"one"}`},
		{"POST", "/api/notes", `{`, 400, "the body is no note"},
		{"GET", "/api/notes/1", "", 200, `{"id":1,"text":"one"}`},
		{"GET", "/api/notes/2", "", 404, "Not Found"},
		{"GET", "/panic", "", 500, "on purpose"},
		{"GET", "/elsewhere", "", 404, "Cannot GET /elsewhere"},
	} {
		req, err := http.NewRequest(tt.method, "http://"+ln.Addr().String()+tt.path, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		if tt.body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != tt.status || string(body) != tt.want {
			t.Errorf("%s %s: %d %q, %v, want %d %q", tt.method, tt.path, resp.StatusCode, body, err, tt.status, tt.want)
		}
		if resp.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s: no X-Request-ID", tt.path)
		}
	}
}
