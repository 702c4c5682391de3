package harness

import (
	"io"
	"log"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
)

// CountingH2Server is a server of HTTP/2 without TLS that counts requests. Requests to /wait are
// answered when release is closed.
func CountingH2Server(t *testing.T, release <-chan struct{}, status *atomic.Int32) (addr string, asked *atomic.Int64) {
	asked = new(atomic.Int64)
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &gale.Server{HTTP2: gale.HTTP2Config{H2C: true}, Logger: log.New(io.Discard, "", 0), Handler: func(ctx *gale.RequestCtx) {
		asked.Add(1)
		if string(ctx.Path()) == "/wait" {
			<-release
		}
		if n := int(status.Load()); n != 0 {
			ctx.SetStatusCode(n)
		}
	}}
	go s.Serve(ln)
	t.Cleanup(func() { s.Close() })
	return ln.Addr().String(), asked
}

// BalancedServer is a BalancingClient.
type BalancedServer struct {
	Calls, Pending atomic.Int64
	Fail           atomic.Pointer[error]
	Deadline       atomic.Pointer[time.Time]
}

func (s *BalancedServer) DoDeadline(_ *gale.Request, _ *gale.Response, deadline time.Time) error {
	s.Calls.Add(1)
	s.Deadline.Store(&deadline)
	if err := s.Fail.Load(); err != nil {
		return *err
	}
	return nil
}

func (s *BalancedServer) PendingRequests() int { return int(s.Pending.Load()) }
