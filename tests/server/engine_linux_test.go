package server

import (
	"fmt"
	"io"
	"syscall"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// If HijackNow fails after a part of the body was read, since there is no descriptor left, the
// connection ends with the answer: the rest of the body is not a request.
func TestHijackNowWithoutDescriptor(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		ts := harness.Start(t, &gale.Server{Engine: e, StreamRequestBody: true}, func(ctx *gale.RequestCtx) {
			if string(ctx.Path()) != "/hijack" {
				t.Errorf("a request for %s came", ctx.Path())
				return
			}
			_, _ = io.ReadFull(ctx.RequestBodyStream(), make([]byte, 1))
			var limit syscall.Rlimit
			if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
				t.Error(err)
			}
			none := limit
			none.Cur = 3
			if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
				t.Error(err)
			}
			nc, err := ctx.HijackNow()
			if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
				t.Error(err)
			}
			if err == nil { // the block engine needs none
				_, _ = io.WriteString(nc, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
				nc.Close()
				return
			}
			ctx.SetStatusCode(gale.StatusServiceUnavailable)
		})
		const next = "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n"
		c := ts.Dial()
		c.Send(fmt.Sprintf("POST /hijack HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\nx%s", 1+len(next), next))
		c.Want("POST", gale.StatusServiceUnavailable, "")
		if n, err := c.Br.Read(make([]byte, 1)); n > 0 || err == nil {
			t.Error("there is a second response")
		}
	})
}
