package server

import (
	"crypto/tls"
	"net"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/peers"
)

// dialers serves s on TCP, on a UNIX socket, and on TCP with TLS. It returns for each a
// function that makes a connection whose client has a small receive buffer.
func dialers(t *testing.T, s *gale.Server) map[string]func() *peers.Conn {
	t.Helper()
	if s.Logger == nil {
		s.Logger = &peers.Log{}
	}
	cert, key, err := gale.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	serve := func(network, addr string, f func(ln net.Listener) error) string {
		ln, err := net.Listen(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		peers.SmallBuffers(ln, 16<<10, 256<<10)
		served := make(chan error, 1)
		go func() { served <- f(ln) }()
		t.Cleanup(func() {
			_ = s.Close()
			ln.Close() // Serve may not have begun yet
			if err := <-served; err != nil {
				t.Errorf("serving %s: %v", network, err)
			}
		})
		return ln.Addr().String()
	}
	dial := func(network, addr string) net.Conn {
		c, err := net.Dial(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		if tc, ok := c.(*net.TCPConn); ok {
			_ = tc.SetReadBuffer(64 << 10)
		}
		return c
	}
	plain := serve("tcp", "127.0.0.1:0", s.Serve)
	secure := serve("tcp", "127.0.0.1:0", func(ln net.Listener) error { return s.ServeTLSEmbed(ln, cert, key) })
	all := map[string]func() *peers.Conn{
		"tcp": func() *peers.Conn { return peers.NewConn(t, dial("tcp", plain)) },
		"tls": func() *peers.Conn {
			c := tls.Client(dial("tcp", secure), &tls.Config{InsecureSkipVerify: true})
			_ = c.SetDeadline(time.Now().Add(time.Minute))
			if err := c.Handshake(); err != nil {
				t.Fatal(err)
			}
			return peers.NewConn(t, c)
		},
	}
	if runtime.GOOS != "windows" {
		unix := serve("unix", filepath.Join(t.TempDir(), "s"), s.Serve)
		all["unix"] = func() *peers.Conn { return peers.NewConn(t, dial("unix", unix)) }
	}
	return all
}
