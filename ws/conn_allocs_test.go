//go:build !race

package ws

import (
	"context"
	"testing"

	"github.com/galehttp/gale/internal/alloctest"
)

// An echo allocates nothing on either side, with a context that can be cancelled, too.
func TestConnEchoAllocs(t *testing.T) {
	for _, n := range []int{64, 16 << 10, 100_000} {
		for _, z := range []*Compression{nil, {}, {SendTakeover: true, ReceiveTakeover: true, SendBits: 10, ReceiveBits: 10}} {
			eachEngine(t, func(t *testing.T, w way) {
				s := serveConns(t, w, echoConn, &Options{Compression: z})
				c := s.open(t, &DialOptions{Compression: z})
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				data := make([]byte, n)
				buf := make([]byte, 0, n+1024) // inflating needs some room at the end
				echo := func() {
					if err := c.Write(ctx, Binary, data); err != nil {
						t.Fatal(err)
					}
					if _, got, err := c.AppendRead(ctx, buf[:0]); err != nil || len(got) != n {
						t.Fatal(len(got), err)
					}
				}
				for range 10 {
					echo()
				}
				if allocs := alloctest.PerRun(100, echo); allocs > 0 {
					t.Errorf("%d bytes, compression %v: %v allocations", n, z != nil, allocs)
				}
			})
		}
	}
}
