package engine

import (
	"net"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/galehttp/gale/tests/harness/await"
)

// talkTo returns a connection to addr on which one line was sent and echoed.
func talkTo(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(tooLong))
	send(t, c, "a line\n")
	want(t, c, "a line\n")
	return c
}

// noOptions is a system whose listeners have no options.
type noOptions struct{ system }

func (s noOptions) setOption(fd, level, name, value int) error {
	if v, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN); err != nil || v != 0 {
		return unix.EOPNOTSUPP
	}
	return s.system.setOption(fd, level, name, value)
}

// A listener that has none of the options, such as one with Multipath TCP on older
// systems, is served. The options are set on each of its connections.
func TestEventListenerWithoutOptions(t *testing.T) {
	e := &Event{}
	useSystem(t, func(sys system) system { return noOptions{sys} })
	addr := serveEvent(t, e, talker(t, "x"))
	talkTo(t, addr)
	for _, l := range e.all() {
		l.each(func(c *eventConn) {
			(*eventSocket)(c).control(func(fd int32) error {
				if v, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_KEEPIDLE); v != 60 {
					t.Errorf("TCP_KEEPIDLE is %d, %v; want 60", v, err)
				}
				return nil
			})
		})
	}
}

// Connections that waited before the listener was served have the options too.
func TestEventOptionsOfEarlyConnections(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	type values struct{ noDelay, keepAlive, idle int }
	got := make(chan values)
	handle := func(nc net.Conn) {
		var v values
		_ = nc.(*eventSocket).control(func(fd int32) error {
			v.noDelay, _ = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NODELAY)
			v.keepAlive, _ = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_KEEPALIVE)
			v.idle, _ = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_KEEPIDLE)
			return nil
		})
		nc.(*eventSocket).conn().from.sys.close(nc.(*eventSocket).fd)
		got <- v
	}
	dial := func() {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
	}
	const early = acceptBatch + 1
	for range early {
		dial()
	}
	served := make(chan error, 1)
	go func() { served <- (&Event{}).Serve(ln, 60*time.Second, nil, handle, func(error) {}) }()
	for i := range early + 2 {
		if i >= early {
			dial()
		}
		if v := <-got; v != (values{1, 1, 60}) {
			t.Errorf("connection %d has %+v", i, v)
		}
	}
	ln.Close()
	<-served
}

// poor is a system without descriptors left for connections of package net.
type poor struct{ system }

func (poor) netConn(int32) (net.Conn, error) { return nil, syscall.EMFILE }

// If there is no descriptor left, Detach fails. A connection that is being served goes
// on, and one that isn't served yet is closed.
func TestEventDetachFails(t *testing.T) {
	e := &Event{}
	useSystem(t, func(sys system) system { return poor{sys} })
	addr := serveEvent(t, e, talker(t, "x"))
	c := talkTo(t, addr)
	var conns []*eventConn
	e.all()[0].each(func(c *eventConn) { conns = append(conns, c) })
	ec := conns[0]
	await.Until(t, "an idle connection", func() bool { return ec.word.Load()&isIdle != 0 && ec.claimIdle() })
	if nc, err := ec.Detach(getWork()); err == nil {
		t.Errorf("got %v", nc)
	}
	ec.l.inject(ec, evTurn)
	send(t, c, "another line\n")
	want(t, c, "another line\n")
	await.Until(t, "an idle connection", func() bool { return ec.word.Load()&isIdle != 0 && ec.claimIdle() })
	if nc, err := e.Detach((*eventSocket)(ec)); err == nil {
		t.Errorf("got %v", nc)
	}
	if e.Len() != 0 {
		t.Errorf("%d connections left", e.Len())
	}
	var b [1]byte
	if _, err := c.Read(b[:]); err == nil {
		t.Error("the connection is open")
	}
}
