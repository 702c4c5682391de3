package engine

import (
	"net"
	"syscall"
	"testing"
	"time"
)

// asker is a session that calls methods of its connection in Control.
type asker struct {
	*lines
	asked chan error
	hold  chan struct{} // if not nil, Control waits for it
}

func (s *asker) Feed(w *Work, next *Next) {
	w.Consume(len(w.Unread()))
	nc := s.c.NetConn()
	raw, err := nc.(syscall.Conn).SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) {
			_ = nc.LocalAddr().String() + nc.RemoteAddr().String()
			_ = nc.SetDeadline(time.Now().Add(time.Minute))
			_ = nc.SetReadDeadline(time.Time{})
			_ = nc.(interface{ SetLinger(int) error }).SetLinger(-1)
			_ = raw.Control(func(uintptr) {})
			_ = nc.SetDeadline(time.Time{})
			if s.hold != nil {
				nc.Close()
				<-s.hold
				_, err = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_TYPE)
			}
		})
	}
	s.asked <- err
	next.Op = Close
}

// A function given to Control may use the connection. The descriptor stays open until it
// returns, even if the connection is closed meanwhile.
func TestEventControlUsesTheConnection(t *testing.T) {
	for _, hold := range []chan struct{}{nil, make(chan struct{})} {
		ln, err := net.Listen("tcp", ":0") // so that LocalAddr must ask the system
		if err != nil {
			t.Fatal(err)
		}
		s := &asker{lines: newLines(), asked: make(chan error, 1), hold: hold}
		e := &Event{Panicked: func(r any) { t.Error(r) }, Ended: func(Session, error) {}}
		served := make(chan error, 1)
		go func() {
			served <- e.Serve(ln, time.Minute, nil, func(nc net.Conn) {
				if err := e.Adopt(nc); err != nil {
					t.Error(err)
					return
				}
				e.Start(nc, nil, 0, s)
			}, func(err error) { t.Error(err) })
		}()
		_, port, _ := net.SplitHostPort(ln.Addr().String())
		c, err := net.Dial("tcp", "localhost:"+port)
		if err != nil {
			t.Fatal(err)
		}
		send(t, c, "x")
		if hold != nil {
			close(hold)
		}
		select {
		case err := <-s.asked:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(tooLong):
			t.Fatal("Control did not return")
		}
		c.Close()
		<-s.closed
		ln.Close()
		<-served
	}
}
