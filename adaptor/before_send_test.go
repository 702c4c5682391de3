package adaptor

import (
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

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

// A body that the handler has closed is no body that could not be read.
func TestClosedBodyIsNotRefused(t *testing.T) {
	s := httptest.NewServer(NewHTTPHandler(func(ctx *gale.RequestCtx) {
		ctx.CloseRequestBody()
		_, _ = ctx.PostBody(), ctx.FormValue("x")
		ctx.SetBodyString("handler")
	}))
	defer s.Close()
	for _, contentType := range []string{"text/plain", "multipart/form-data; boundary=b"} {
		resp, err := http.Post(s.URL, contentType, strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || string(b) != "handler" {
			t.Errorf("%s: %s %q", contentType, resp.Status, b)
		}
	}
}

type closedValue chan struct{}

func (c closedValue) Close() error { close(c); return nil }

// After a time-out, user values are closed when the functions of BeforeSend have run, and
// only then.
func TestTimeoutClosesValues(t *testing.T) {
	for limit := 10 * time.Millisecond; !timeOutWithValue(t, limit); limit *= 2 {
	}
}

// timeOutWithValue does the test with that limit. It returns false if the limit passed before
// the handler had called BeforeSend.
func timeOutWithValue(t *testing.T, limit time.Duration) (inTime bool) {
	closed, ended := make(closedValue), make(chan struct{})
	s := httptest.NewServer(NewHTTPHandler(gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
		defer close(ended)
		ctx.SetUserValue("value", closed)
		ctx.BeforeSend(func(ctx *gale.RequestCtx) {
			<-ended
			select {
			case <-ctx.UserValue("value").(closedValue):
				t.Error("closed before the function has returned")
			case <-time.After(50 * time.Millisecond): // it must stay open, and no state shows that it does
			}
			ctx.Response.Header.Set("X-Hook", "1")
		})
		inTime = ctx.Context().Err() == nil
		<-ctx.Context().Done()
	}, limit, "slow")))
	defer s.Close()
	resp, err := http.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if <-ended; !inTime {
		return false
	}
	if resp.StatusCode != 408 || resp.Header.Get("X-Hook") != "1" {
		t.Errorf("%s %v", resp.Status, resp.Header)
	}
	<-closed
	return true
}
