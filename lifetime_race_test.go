//go:build race

package gale

import (
	"bytes"
	"strings"
	"testing"
)

// With the race detector, bytes that a handler kept without a copy are overwritten, so
// that the mistake is noticed.
func TestKeptBytesArePoisoned(t *testing.T) {
	kept := make(chan []byte, 6)
	ts := startServer(t, nil, func(ctx *RequestCtx) {
		kept <- ctx.Path()
		kept <- ctx.Request.Header.Peek("X-Field")
		kept <- ctx.PostBody()
	})
	c := ts.dial()
	c.send("POST /first HTTP/1.1\r\nHost: a\r\nX-Field: value\r\nContent-Length: 4\r\n\r\nbody")
	c.read("POST")
	c.send(get("/"))
	c.read("GET") // the first request has ended for sure
	for range 3 {
		if b := <-kept; len(bytes.Trim(b, "\xdb")) > 0 {
			t.Errorf("%q was kept, and nobody would see it", b)
		}
	}
}

// So are the bytes of a body that is too long for the pools of all sizes.
func TestKeptLongBodyIsPoisoned(t *testing.T) {
	kept := make(chan []byte, 2)
	s := &Server{MaxRequestBodySize: 4 << 20}
	c := startServer(t, s, func(ctx *RequestCtx) { kept <- ctx.PostBody() }).dial()
	c.send(post("/", strings.Repeat("x", 3<<20)))
	c.read("POST")
	c.send(get("/"))
	c.read("GET")
	if b := <-kept; len(b) != 3<<20 || len(bytes.Trim(b, "\xdb")) > 0 {
		t.Errorf("a body of %d bytes was kept, and nobody would see it", len(b))
	}
}
