package server

import (
	"fmt"
	"net"
	"path/filepath"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestClientIPServed proves that the peer's address is that of the connection, on both
// engines. On UNIX sockets there is none.
func TestClientIPServed(t *testing.T) {
	h := func(ctx *gale.RequestCtx) { fmt.Fprint(ctx, ctx.ClientIP()) }
	const req = "GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 6.6.6.6, 1.2.3.4\r\n\r\n"
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		for _, c := range []struct {
			network, trusted string
			unix             bool
			want             string
		}{
			{"tcp", "", false, "127.0.0.1"},
			{"tcp", "", true, "127.0.0.1"},
			{"tcp", "127.0.0.0/8", false, "1.2.3.4"},
			{"unix", "127.0.0.0/8", false, "invalid IP"},
			{"unix", "0.0.0.0/0", false, "invalid IP"},
			{"unix", "", true, "1.2.3.4"},
			{"unix", "1.0.0.0/8", true, "6.6.6.6"},
		} {
			s := &gale.Server{Engine: e, Handler: h, TrustUNIXProxies: c.unix, Logger: &peers.Log{}}
			if c.trusted != "" {
				s.TrustedProxies = peers.Prefixes(c.trusted)
			}
			addr := "127.0.0.1:0"
			if c.network == "unix" {
				addr = filepath.Join(t.TempDir(), "s")
			}
			ln, err := net.Listen(c.network, addr)
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan error, 1)
			go func() { served <- s.Serve(ln) }()
			conn, err := net.Dial(c.network, ln.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			tc := peers.NewConn(t, conn)
			tc.Send(req)
			tc.Want("GET", 200, c.want)
			s.Close()
			ln.Close() // Serve may not have begun yet
			if err := <-served; err != nil {
				t.Error(err)
			}
		}
	})
}
