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
				var addr string
				if secure {
					addr = peers.ServeTLS(t, duplexServer{s}, l, gale.GenerateTestCertificate).Addr
				} else {
					addr = peers.Serve(t, duplexServer{s}, l, nil, nil).Addr
				}
				f(t, func() *peers.Conn {
					c, err := net.Dial("tcp", addr)
					if err != nil {
						t.Fatal(err)
					}
					_ = c.(*net.TCPConn).SetReadBuffer(duplexBuffers)
					_ = c.(*net.TCPConn).SetWriteBuffer(duplexBuffers)
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

// duplexBuffers is a small part of peers.DuplexSize. Buffers much smaller than that make
// loopback wait.
const duplexBuffers = 256 << 10

// duplexServer is a server whose connections have such buffers.
type duplexServer struct{ *gale.Server }

func (s duplexServer) Serve(ln net.Listener) error {
	peers.SmallBuffers(ln, duplexBuffers, duplexBuffers)
	return s.Server.Serve(ln)
}

func (s duplexServer) ServeTLSEmbed(ln net.Listener, cert, key []byte) error {
	peers.SmallBuffers(ln, duplexBuffers, duplexBuffers)
	return s.Server.ServeTLSEmbed(ln, cert, key)
}

// StartTLS serves s over TLS and returns its address.
func StartTLS(t *testing.T, s *gale.Server) (addr string) {
	t.Helper()
	return peers.ServeTLS(t, s, peers.LogTo(&s.Logger), gale.GenerateTestCertificate).Addr
}
