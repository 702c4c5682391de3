//go:build !race

package adaptor

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/galehttp/gale"
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
	if n := testing.AllocsPerRun(1000, func() {
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
	if n := testing.AllocsPerRun(1000, func() {
		w.Body.Reset()
		gh.ServeHTTP(w, r)
	}); n > 16 {
		t.Errorf("a Gale handler: %v allocations", n)
	} else {
		t.Logf("a Gale handler: %v allocations", n)
	}
}
