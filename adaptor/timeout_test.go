package adaptor

import (
	"bytes"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
)

// A handler that was timed out can't take the connection any more: the answer is that of
// the time-out.
func TestTimedOutHandlerHasNoConnection(t *testing.T) {
	for name, late := range map[string]func(*gale.RequestCtx) error{
		"HijackNow": func(ctx *gale.RequestCtx) error {
			c, err := ctx.HijackNow()
			if err == nil {
				c.Close()
			}
			return err
		},
		"SendInterim": func(ctx *gale.RequestCtx) error { return ctx.SendInterim(gale.StatusProcessing, nil) },
		"Hijack": func(ctx *gale.RequestCtx) error {
			ctx.Hijack(func(c net.Conn) {})
			return gale.ErrNilConnection
		},
	} {
		s := httptest.NewServer(NewHTTPHandler(func(ctx *gale.RequestCtx) {
			ctx.TimeoutError("too late")
			if err := late(ctx); err != gale.ErrNilConnection {
				t.Errorf("%s: %v", name, err)
			}
		}))
		resp, err := http.Get(s.URL)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if resp.Body.Close(); resp.StatusCode != gale.StatusRequestTimeout {
			t.Errorf("%s: status %d", name, resp.StatusCode)
		}
		s.Close()
	}
}

// A time-out doesn't wait for a Flush that waits for the client to read: it breaks the
// response off, and Done is closed.
func TestTimeoutInterruptsFlush(t *testing.T) {
	for limit := 50 * time.Millisecond; !interruptsFlush(t, limit); limit *= 2 {
		if limit > 10*time.Second {
			t.Fatal("no Flush waits for a client that doesn't read")
		}
	}
}

// interruptsFlush reports false if the time was over before a Flush waited.
func interruptsFlush(t *testing.T, limit time.Duration) bool {
	flushed := make(chan error, 1)
	piece := make([]byte, 1<<20)
	s := httptest.NewServer(NewHTTPHandler(gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
		for {
			ctx.Response.SetBodyRaw(piece)
			if err := ctx.Flush(); err != nil {
				<-ctx.Done()
				flushed <- err
				return
			}
		}
	}, limit, "too late")))
	defer s.Close()
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-flushed:
		if err == gale.ErrNilConnection {
			return false
		}
		if err != gale.ErrTimeout {
			t.Errorf("a Flush that was interrupted returned %v, want ErrTimeout", err)
		}
	case <-time.After(time.Minute):
		t.Error("a Flush to a client that doesn't read has outlasted the time-out")
	}
	return true
}

// A panic of a handler within TimeoutHandler is what net/http logs, with its stack; ErrAbortHandler is
// silent, as without TimeoutHandler.
func TestPanicInTimeoutHandler(t *testing.T) {
	for value, want := range map[any]string{"on purpose": "on purpose\n", gale.ErrAbortHandler: "", http.ErrAbortHandler: ""} {
		var logged bytes.Buffer
		s := httptest.NewUnstartedServer(NewHTTPHandler(gale.TimeoutHandler(func(*gale.RequestCtx) { panic(value) }, time.Minute, "")))
		s.Config.ErrorLog = log.New(&logged, "", 0)
		s.Start()
		if resp, err := http.Get(s.URL); err == nil {
			t.Errorf("%v: got %d", value, resp.StatusCode)
			resp.Body.Close()
		}
		s.Close()
		if got := logged.String(); !strings.Contains(got, want) || (want == "") != (got == "") || want != "" && !strings.Contains(got, "timeout_test.go") {
			t.Errorf("%v: logged %q", value, got)
		}
	}
}
