package adaptor

import (
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/galehttp/gale"
)

// Over HTTP/2 of net/http, too, every response has what functions of BeforeSend set; one
// that is broken off after Flush, or aborted, is never whole.
func TestBeforeSendOnNetHTTP(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	slow := gale.TimeoutHandler(func(*gale.RequestCtx) { <-stop }, 1, "slow")
	h := NewHTTPHandler(func(ctx *gale.RequestCtx) {
		ctx.BeforeSend(func(ctx *gale.RequestCtx) { ctx.Response.Header.Set("X-Hook", string(ctx.Path())) })
		switch string(ctx.Path()) {
		case "/flush":
			_ = ctx.Flush()
		case "/timeout":
			slow(ctx)
		case "/panics":
			ctx.BeforeSend(func(*gale.RequestCtx) { panic("on purpose") })
		case "/aborts":
			ctx.BeforeSend(func(*gale.RequestCtx) { panic(gale.ErrAbortHandler) })
		case "/body":
			ctx.PostBody()
		case "/cut":
			ctx.WriteString("part")
			_ = ctx.Flush()
			ctx.Fail(500, errors.New("too late"))
		}
	})
	for _, h2 := range []bool{false, true} {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Body = http.MaxBytesReader(w, r.Body, 10)
			h.ServeHTTP(w, r)
		}))
		s.EnableHTTP2 = h2
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.StartTLS()
		defer s.Close()
		for path, want := range map[string]int{"/": 200, "/flush": 200, "/timeout": 408, "/panics": 500, "/body": 413} {
			resp, err := s.Client().Post(s.URL+path, "text/plain", strings.NewReader("more than ten bytes"))
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			resp.Body.Close()
			if resp.StatusCode != want || resp.Header.Get("X-Hook") != path {
				t.Errorf("%s: %s %v", path, resp.Status, resp.Header)
			}
		}
		for _, path := range []string{"/aborts", "/cut"} {
			resp, err := s.Client().Get(s.URL + path)
			if err != nil {
				continue
			}
			b, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err == nil {
				t.Errorf("%s: %s %q looks whole", path, resp.Status, b)
			}
		}
	}
}
