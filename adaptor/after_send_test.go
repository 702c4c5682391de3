package adaptor

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
)

// Functions of AfterSend run once, when net/http has the response.
func TestAfterSend(t *testing.T) {
	type call struct {
		path string
		sent int64
		err  error
	}
	calls := make(chan call, 100)
	slow := gale.TimeoutHandler(func(ctx *gale.RequestCtx) { <-ctx.Done() }, time.Millisecond, "timed out")
	srv := httptest.NewServer(NewHTTPHandler(func(ctx *gale.RequestCtx) {
		path := string(ctx.Path())
		ctx.AfterSend(func(sent int64, err error) { calls <- call{path, sent, err} })
		switch path {
		case "/bytes":
			ctx.SetBodyString("hello")
		case "/sized":
			ctx.SetBodyStream(strings.NewReader("0123456789"), 5)
		case "/unsized":
			ctx.SetBodyStream(strings.NewReader("0123456789"), -1)
		case "/flush":
			ctx.WriteString("one ")
			_ = ctx.Flush()
			ctx.WriteString("two")
		case "/204":
			ctx.SetStatusCode(gale.StatusNoContent)
		case "/timeout":
			slow(ctx)
		case "/short":
			ctx.SetBodyStream(strings.NewReader("123"), 5)
		case "/abort":
			ctx.WriteString("one ")
			_ = ctx.Flush()
			panic(gale.ErrAbortHandler)
		case "/silent":
			ctx.Hijack(func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") })
			ctx.HijackSetNoResponse(true)
		case "/granted":
			ctx.SetBodyString("hello")
			ctx.Hijack(func(net.Conn) {})
		case "/granted short":
			ctx.SetBodyStream(strings.NewReader("123"), 5)
			ctx.Hijack(func(net.Conn) {})
		case "/dismissed":
			ctx.WriteString("one ")
			_ = ctx.Flush()
			ctx.WriteString("two")
		case "/hijack":
			if c, err := ctx.HijackNow(); err == nil {
				c.Close()
			}
		}
	}))
	defer srv.Close()
	for _, c := range []struct {
		method, path string
		sent         int64
		fails        bool
	}{
		{"GET", "/bytes", 5, false}, {"GET", "/sized", 5, false}, {"GET", "/unsized", 10, false}, {"GET", "/flush", 7, false},
		{"GET", "/204", 0, false}, {"HEAD", "/bytes", 0, false}, {"HEAD", "/unsized", 0, false}, {"GET", "/timeout", 9, false},
		{"GET", "/short", 3, true}, {"GET", "/abort", 4, true}, {"GET", "/hijack", 0, true},
		{"GET", "/silent", 0, true}, {"GET", "/granted", 5, false}, {"GET", "/granted%20short", 3, true}, {"POST", "/dismissed", 7, false},
	} {
		var body io.Reader
		if c.method == "POST" {
			body = strings.NewReader(strings.Repeat("b", 1<<20)) // the handler reads nothing of it
		}
		req, err := http.NewRequest(c.method, srv.URL+c.path, body)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := http.DefaultTransport.RoundTrip(req); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		if got := <-calls; got.path != strings.ReplaceAll(c.path, "%20", " ") || got.sent != c.sent || (got.err != nil) != c.fails {
			t.Errorf("%s %s: %+v, want %d bytes", c.method, c.path, got, c.sent)
		}
	}
	if len(calls) > 0 {
		t.Errorf("one more call: %+v", <-calls)
	}
}
