//go:build !race

package server

import (
	"io"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestAfterSendAllocs proves that AfterSend itself allocates nothing.
func TestAfterSendAllocs(t *testing.T) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		count := 0
		f := func(int64, error) { count++ }
		body := make([]byte, 100)
		ts := harness.Start(t, &gale.Server{Engine: e, NoDefaultDate: true}, func(ctx *gale.RequestCtx) {
			ctx.AfterSend(f)
			ctx.SetBody(body)
		})
		c := ts.Dial()
		request := []byte(peers.Get("/"))
		c.Send(peers.Get("/"))
		a := c.Answer("GET")
		c.Send(peers.Get("/"))
		buf := make([]byte, 4<<10)
		n, err := c.Br.Read(buf) // a whole response, by one write
		if err != nil || a.Text != string(body) {
			t.Fatal(err)
		}
		round := func() {
			if _, err := c.Conn.Write(request); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(c.Br, buf[:n]); err != nil {
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
