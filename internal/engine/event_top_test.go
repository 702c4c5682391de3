package engine

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/galehttp/gale/tests/harness/await"
)

// lateReader is a connection on top of another one. Its own read deadline has passed.
type lateReader struct{ net.Conn }

func (lateReader) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

// stallTold is a session that sends to stalled why a read ended without bytes.
type stallTold struct{ stalled chan error }

func (*stallTold) Open(Conn, *Next)                    {}
func (*stallTold) Feed(*Work, *Next)                   {}
func (s *stallTold) Stall(_ *Work, why error, n *Next) { s.stalled <- why; n.Op = Close }
func (*stallTold) Hijacked(net.Conn)                   {}
func (*stallTold) Closed(error)                        {}
func (*stallTold) Panicked(any)                        {}

// The session is told of a timeout of the connection on top. The engine doesn't take it
// for errAgain, its own error for nothing to read.
func TestEventOverTimesOut(t *testing.T) {
	e := &Event{Ended: func(Session, error) {}, Panicked: func(r any) { t.Errorf("panic: %v", r) }}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if !e.Serves(ln) {
		ln.Close()
		t.Skip("no event engine here")
	}
	s := &stallTold{stalled: make(chan error, 1)}
	served := make(chan error, 1)
	go func() {
		served <- e.Serve(ln, time.Minute, nil, func(nc net.Conn) {
			if err := e.Adopt(nc); err != nil {
				t.Error(err)
				return
			}
			e.Start(nc, lateReader{nc}, 0, s)
		}, func(err error) { t.Error(err) })
	}()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	select {
	case why := <-s.stalled:
		if !errors.Is(why, os.ErrDeadlineExceeded) {
			t.Errorf("the session was told of %v", why)
		}
	case <-time.After(tooLong):
		t.Error("the session was not told")
	}
	c.Close()
	ln.Close()
	<-served
	e.EndNow()
	await.Gone(t, "loops", func() bool { return e.all() == nil })
}
