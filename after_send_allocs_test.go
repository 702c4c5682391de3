//go:build !race

package gale

import (
	"io"
	"testing"
)

// TestAfterSendAllocs proves that AfterSend itself allocates nothing.
func TestAfterSendAllocs(t *testing.T) {
	onEngines(t, func(t *testing.T, e Engine) {
		count := 0
		f := func(int64, error) { count++ }
		body := make([]byte, 100)
		ts := startServer(t, &Server{Engine: e, NoDefaultDate: true}, func(ctx *RequestCtx) {
			ctx.AfterSend(f)
			ctx.SetBody(body)
		})
		c := ts.dial()
		request := []byte(get("/"))
		c.send(get("/"))
		a := c.read("GET")
		c.send(get("/"))
		buf := make([]byte, 4<<10)
		n, err := c.br.Read(buf) // a whole response, by one write
		if err != nil || a.body != string(body) {
			t.Fatal(err)
		}
		round := func() {
			if _, err := c.Conn.Write(request); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(c.br, buf[:n]); err != nil {
				t.Fatal(err)
			}
		}
		for range 100 {
			round()
		}
		if allocs := testing.AllocsPerRun(500, round); allocs >= 1 {
			t.Errorf("%v allocations for a request", allocs)
		}
	})
}
