package harness

import (
	"crypto/tls"
	"net"
	"strconv"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness/peers"
)

// OnDuplexServers calls f for each engine, in the clear and over TLS. dial makes a
// connection to a server of h, whose buffers hold a small part of peers.DuplexSize.
func OnDuplexServers(t *testing.T, h gale.RequestHandler, f func(t *testing.T, dial func() *peers.Conn)) {
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		for _, secure := range []bool{false, true} {
			t.Run("tls="+strconv.FormatBool(secure), func(t *testing.T) {
				l := &peers.Log{}
				s := &gale.Server{Engine: e, StreamRequestBody: true, Handler: h, Logger: l}
				var cert, key []byte
				if secure {
					var err error
					if cert, key, err = gale.GenerateTestCertificate("localhost"); err != nil {
						t.Fatal("making a certificate:", err)
					}
				}
				ln := peers.ListenDuplex(t)
				addr := peers.ServeOn(t, ln, s, l, cert, key).Addr
				f(t, func() *peers.Conn {
					c, err := net.Dial("tcp", addr)
					if err != nil {
						t.Fatal(err)
					}
					_ = c.(*net.TCPConn).SetWriteBuffer(peers.DuplexBuffers)
					if secure {
						c = tls.Client(c, &tls.Config{InsecureSkipVerify: true})
					}
					return peers.NewConn(t, c)
				})
				if l.String() != "" {
					t.Errorf("the log has %q, want nothing", l.String())
				}
			})
		}
	})
}

// StartTLS serves s over TLS and returns its address.
func StartTLS(t *testing.T, s *gale.Server) (addr string) {
	t.Helper()
	return peers.ServeTLS(t, s, peers.LogTo(&s.Logger), gale.GenerateTestCertificate).Addr
}
