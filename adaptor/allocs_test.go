//go:build !race

package adaptor

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/alloctest"
)

// What an adapted request costs is bounded. The parts that a handler may keep
// are not used again, so it can't be nothing.
func TestAllocs(t *testing.T) {
	var ctx gale.RequestCtx
	ctx.Init(nil, nil, nil)
	ctx.Request.SetRequestURI("/path?q=1")
	for _, name := range []string{"Host", "Accept", "User-Agent", "X-Some", "X-Other"} {
		ctx.Request.Header.Set(name, "value")
	}
	body := []byte("body")
	h := NewFastHTTPHandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Write(body)
	})
	if n := alloctest.PerRun(1000, func() {
		ctx.Response.Reset()
		h(&ctx)
	}); n > 8 {
		t.Errorf("a net/http handler: %v allocations", n)
	} else {
		t.Logf("a net/http handler: %v allocations", n)
	}

	gh := NewHTTPHandler(func(ctx *gale.RequestCtx) { ctx.SetBody(body) })
	r := httptest.NewRequest("GET", "/path?q=1", nil)
	w := httptest.NewRecorder()
	if n := alloctest.PerRun(1000, func() {
		w.Body.Reset()
		gh.ServeHTTP(w, r)
	}); n > 16 {
		t.Errorf("a Gale handler: %v allocations", n)
	} else {
		t.Logf("a Gale handler: %v allocations", n)
	}
}

// So is what it costs on a server, where its connections take turns.
func TestAllocsOnEngines(t *testing.T) {
	s := func() *gale.Server {
		return &gale.Server{Handler: NewFastHTTPHandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			io.WriteString(w, "hello")
		})}
	}
	onEngines(t, s, func(t *testing.T, addr string) {
		var conns []net.Conn
		for range 4 {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			conns = append(conns, c)
		}
		req, answer := []byte("GET /path?q=1 HTTP/1.1\r\nHost: h\r\n\r\n"), make([]byte, 4096)
		round := func() {
			for _, c := range conns {
				if _, err := c.Write(req); err != nil {
					t.Fatal(err)
				}
				if n, err := c.Read(answer); n == 0 {
					t.Fatal(err)
				}
			}
		}
		for range 100 {
			round()
		}
		if n := alloctest.PerRun(500, round) / float64(len(conns)); n > 7 {
			t.Errorf("%v allocations for a request", n)
		} else {
			t.Logf("%v allocations for a request", n)
		}
	})
}
