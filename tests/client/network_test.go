package client

import (
	"testing"

	"github.com/galehttp/gale/tests/harness/peers"
)

// cannedServer answers each write of a client with the same bytes.
func cannedServer(t *testing.T, answer string) *peers.Network {
	n := peers.NewNetwork(t)
	ln := n.Listen("host.test:80")
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				b, out := make([]byte, 4096), []byte(answer)
				for {
					if _, err := c.Read(b); err != nil {
						_ = c.Close()
						return
					}
					_, _ = c.Write(out)
				}
			}()
		}
	}()
	return n
}
