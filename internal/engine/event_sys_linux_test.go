package engine

import (
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/galehttp/gale/tests/harness/await"
)

// plain are the sockets of the system.
var plain linuxSockets

// fdOf returns a duplicate of a socket's descriptor.
func fdOf(t *testing.T, nc net.Conn) accepted {
	t.Helper()
	raw, err := nc.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var got accepted
	if cerr := raw.Control(func(fd uintptr) { got, err = plain.duplicate(fd) }); cerr != nil || err != nil {
		t.Fatal(cerr, err)
	}
	return got
}

// What the methods of sockets set can be read back, and addresses are the same as those
// of package net.
func TestSocketsOptions(t *testing.T) {
	server, client := tcpPair(t)
	defer client.Close()
	got := fdOf(t, server)
	if a := got.addr.netAddr(); a.String() != server.RemoteAddr().String() {
		t.Errorf("the peer of the duplicate is %v, want %v", a, server.RemoteAddr())
	}
	if a, err := plain.localAddr(got.fd); err != nil || a.netAddr().String() != server.LocalAddr().String() {
		t.Errorf("our address is %v, %v; want %v", a.netAddr(), err, server.LocalAddr())
	}
	if flags, err := unix.FcntlInt(uintptr(got.fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("other processes would have the duplicate: flags %d, %v", flags, err)
	}
	server.Close()
	for _, k := range []struct {
		sec  int
		want unix.Linger
	}{{5, unix.Linger{Onoff: 1, Linger: 5}}, {0, unix.Linger{Onoff: 1}}, {-1, unix.Linger{}}} {
		if err := plain.setLinger(got.fd, k.sec); err != nil {
			t.Error(err)
		}
		onoff, err := unix.GetsockoptInt(int(got.fd), unix.SOL_SOCKET, unix.SO_LINGER)
		if err != nil || onoff != int(k.want.Onoff) {
			t.Errorf("with setLinger(%d), SO_LINGER is %d, %v; want %+v", k.sec, onoff, err, k.want)
		}
	}
	(&acceptor{sys: plain}).setOptions(got, [][3]int{{unix.IPPROTO_TCP, 1 << 20, 1}, {unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 77}})
	if v, err := unix.GetsockoptInt(int(got.fd), unix.IPPROTO_TCP, unix.TCP_KEEPIDLE); v != 77 {
		t.Errorf("after an option that isn't there, TCP_KEEPIDLE is %d, %v; want 77", v, err)
	}

	ordinary, err := plain.netConn(got.fd)
	if err != nil {
		t.Fatal(err)
	}
	plain.close(got.fd)
	client.SetDeadline(time.Now().Add(tooLong))
	send(t, ordinary, "still open")
	want(t, client, "still open")
	ordinary.Close()
	if _, err := client.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("a descriptor of the connection is left open: %v", err)
	}
}

// Connections have each option that prepare sets. Seconds are rounded up.
func TestPrepareRoundsUp(t *testing.T) {
	for _, k := range []struct {
		keepAlive time.Duration
		secs      int
	}{{0, 1}, {time.Nanosecond, 1}, {time.Second, 1}, {time.Second + 1, 2}, {time.Minute, 60}} {
		ln := listen(t)
		a, err := newAcceptor(ln)
		if err != nil {
			t.Fatal(err)
		}
		a.sys = plain
		if err := a.prepare(k.keepAlive); err != nil {
			t.Fatal(err)
		}
		for _, o := range append(a.options, a.early...) {
			if o[1] == unix.TCP_KEEPIDLE && o[0] == unix.IPPROTO_TCP && o[2] != k.secs {
				t.Errorf("probes after %v begin after %d s, want %d", k.keepAlive, o[2], k.secs)
			}
		}
		if len(a.options)+len(a.early) != 4 {
			t.Errorf("%d options are set, want 4", len(a.options)+len(a.early))
		}
		ln.Close()
	}
}

// hungUp tells an end of stream from a reset, even if there are unread bytes.
func TestSocketsHungUp(t *testing.T) {
	for _, how := range []string{"open", "end", "reset"} {
		server, client := tcpPair(t)
		fd := fdOf(t, server).fd
		send(t, client, "unread")
		switch how {
		case "end":
			client.(*net.TCPConn).CloseWrite()
		case "reset":
			client.(*net.TCPConn).SetLinger(0)
			client.Close()
		}
		var gone, reset bool
		look := func() bool { gone, reset = plain.hungUp(fd); return gone == (how != "open") }
		await.Until(t, "the poller to see that the peer is "+how, look)
		if reset != (how == "reset") {
			t.Errorf("%s: it was reset: %v", how, reset)
		}
		plain.close(fd)
		server.Close()
		client.Close()
	}
}
