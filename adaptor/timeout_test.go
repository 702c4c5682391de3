package adaptor

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/galehttp/gale"
)

// A handler that was timed out has no say any more in what becomes of the
// connection: the answer is that of the time-out.
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
