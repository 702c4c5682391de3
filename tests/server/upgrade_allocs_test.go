//go:build !race

package server

import (
	"io"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
)

// Bytes that arrive, output and deadlines allocate nothing after a warm-up. A Wake of a
// connection of the block engine allocates an error of package net.
func TestUpgradeAllocs(t *testing.T) {
	for _, way := range harness.UpgradeWays[:2] {
		for _, timeout := range []time.Duration{time.Second, time.Hour} {
			us := way.Serve(t, &gale.Server{}, func() *harness.UpgradeFuncs {
				return &harness.UpgradeFuncs{
					OnOpened: func(c *gale.UpgradedConn) { c.SetTimeout(timeout) },
					OnReceived: func(c *gale.UpgradedConn, in []byte) int {
						*c.Out() = append(*c.Out(), in...)
						if len(in) < 1000 {
							return len(in)
						}
						_, _ = c.Send(in)
						return len(in)
					},
				}
			})
			c := us.Connect("")
			b := make([]byte, 40_000)
			round := func() {
				for _, n := range []int{1, 100, 1000} {
					if _, err := c.Conn.Write(b[:n]); err != nil {
						t.Fatal(err)
					}
					if n == 1000 {
						n *= 2
					}
					if _, err := io.ReadFull(c.Conn, b[:n]); err != nil {
						t.Fatal(err)
					}
				}
			}
			for range 100 {
				round()
			}
			if n := testing.AllocsPerRun(300, round); n > 0.5 {
				t.Errorf("%s: %v allocations for 3 messages", way.Name, n)
			}
			c.Close()
		}
	}
}
