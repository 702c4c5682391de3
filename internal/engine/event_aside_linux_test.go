package engine

import (
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// slow is a system with a write that waits before it returns.
type slow struct {
	system
	waits   atomic.Bool // the next write waits
	in, out chan struct{}
	closed  atomic.Int32 // descriptors
}

func (s *slow) write(fd int32, p []byte) (int, syscall.Errno) {
	if s.waits.CompareAndSwap(true, false) {
		s.in <- struct{}{}
		<-s.out
	}
	return s.system.write(fd, p)
}

func (s *slow) close(fd int32) {
	s.closed.Add(1)
	s.system.close(fd)
}

// A write through a connection on top may come from any goroutine, such as the closure
// alert of TLS. The descriptor stays open until the write is done, even if the connection
// ends. Otherwise its number may already be that of another connection.
func TestEventWriteFromAsideHoldsDescriptor(t *testing.T) {
	sys := &slow{in: make(chan struct{}), out: make(chan struct{})}
	ended := make(chan struct{})
	e := &Event{
		Panicked: func(r any) { t.Error(r) },
		Ended:    func(Session, error) { close(ended) },
	}
	useSystem(t, func(s system) system { sys.system = s; return sys })
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &held{lines: newLines(), in: make(chan struct{}, 1), out: make(chan struct{}), close: true}
	conns := make(chan net.Conn, 1)
	served := make(chan error, 1)
	go func() {
		served <- e.Serve(ln, time.Minute, nil, func(nc net.Conn) {
			if err := e.Adopt(nc); err != nil {
				t.Error(err)
				return
			}
			conns <- nc
			e.Start(nc, &layered{Conn: nc}, 0, s)
		}, func(err error) { t.Error(err) })
	}()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	send(t, client, "a\n")
	<-s.in
	nc := <-conns

	sys.waits.Store(true)
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		_, _ = nc.Write([]byte("bye"))
	}()
	<-sys.in
	close(s.out)
	<-ended
	if n := sys.closed.Load(); n != 0 {
		t.Errorf("%d descriptors were closed during a write", n)
	}
	close(sys.out)
	<-wrote
	if n := sys.closed.Load(); n != 1 {
		t.Errorf("%d descriptors were closed, want 1", n)
	}
	ln.Close()
	<-served
}
