//go:build !race

package gale

import (
	"io"
	"testing"
)

// Reading a large body as a stream allocates nothing, by Read and by io.Copy.
func TestStreamReadAllocs(t *testing.T) {
	onEngines(t, func(t *testing.T, e Engine) {
		p := make([]byte, 64<<10)
		for _, path := range []string{"/read", "/copy"} {
			ts := startServer(t, &Server{Engine: e, NoDefaultDate: true, StreamRequestBody: true}, func(ctx *RequestCtx) {
				r := ctx.RequestBodyStream()
				if string(ctx.Path()) == "/copy" {
					if _, err := io.Copy(io.Discard, r); err != nil {
						t.Error(err)
					}
					return
				}
				for {
					if _, err := r.Read(p); err != nil {
						return
					}
				}
			})
			c := ts.dial()
			request := []byte(post(path, bodyText(300_000)))
			buf := make([]byte, 4<<10)
			round := func() {
				if _, err := c.Conn.Write(request); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Conn.Read(buf); err != nil { // a whole response, by one write
					t.Fatal(err)
				}
			}
			for range 50 {
				round()
			}
			if allocs := testing.AllocsPerRun(200, round); allocs >= 1 {
				t.Errorf("%s: %v allocations for a request", path, allocs)
			}
		}
	})
}
