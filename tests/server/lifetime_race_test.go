//go:build race

package server

import (
	"bytes"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// With the race detector, bytes that a handler kept without a copy are overwritten, so
// that the mistake is noticed.
func TestKeptBytesArePoisoned(t *testing.T) {
	kept := make(chan []byte, 6)
	ts := harness.Start(t, nil, func(ctx *gale.RequestCtx) {
		kept <- ctx.Path()
		kept <- ctx.Request.Header.Peek("X-Field")
		kept <- ctx.PostBody()
	})
	c := ts.Dial()
	c.Send("POST /first HTTP/1.1\r\nHost: a\r\nX-Field: value\r\nContent-Length: 4\r\n\r\nbody")
	c.Answer("POST")
	c.Send(peers.Get("/"))
	c.Answer("GET") // the first request has ended for sure
	for range 3 {
		if b := <-kept; len(bytes.Trim(b, "\xdb")) > 0 {
			t.Errorf("%q was kept, and nobody would see it", b)
		}
	}
}

// So are the bytes of a body that is too long for the pools of all sizes.
func TestKeptLongBodyIsPoisoned(t *testing.T) {
	kept := make(chan []byte, 2)
	s := &gale.Server{MaxRequestBodySize: 4 << 20}
	c := harness.Start(t, s, func(ctx *gale.RequestCtx) { kept <- ctx.PostBody() }).Dial()
	c.Send(peers.Post("/", strings.Repeat("x", 3<<20)))
	c.Answer("POST")
	c.Send(peers.Get("/"))
	c.Answer("GET")
	if b := <-kept; len(b) != 3<<20 || len(bytes.Trim(b, "\xdb")) > 0 {
		t.Errorf("a body of %d bytes was kept, and nobody would see it", len(b))
	}
}
