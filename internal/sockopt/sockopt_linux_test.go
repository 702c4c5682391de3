package sockopt

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// What each function sets can be read back, and wasn't so before.
func TestOptionsAreSet(t *testing.T) {
	for _, k := range []struct {
		name       string
		family     int
		set        func(fd uintptr) error
		level, opt int
		want       int
	}{
		{"ReusePort", unix.AF_INET, ReusePort, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1},
		{"DeferAccept", unix.AF_INET, DeferAccept, unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, 1},
		{"FastOpen", unix.AF_INET, FastOpen, unix.IPPROTO_TCP, unix.TCP_FASTOPEN, fastOpenQueue},
		{"DualStack", unix.AF_INET6, DualStack, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0},
		{"Backlog", unix.AF_INET, func(fd uintptr) error { return Backlog(fd, 3) }, unix.SOL_SOCKET, unix.SO_ACCEPTCONN, 1},
	} {
		fd, err := unix.Socket(k.family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Logf("%s: no such socket: %v", k.name, err)
			continue
		}
		if k.family == unix.AF_INET6 {
			_ = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1)
		}
		if got, err := unix.GetsockoptInt(fd, k.level, k.opt); err != nil || got == k.want {
			t.Errorf("%s: before, the option is %d, %v", k.name, got, err)
		}
		if err := k.set(uintptr(fd)); err != nil {
			t.Errorf("%s: %v", k.name, err)
		}
		if got, err := unix.GetsockoptInt(fd, k.level, k.opt); err != nil || got != k.want {
			t.Errorf("%s: the option is %d, %v; want %d", k.name, got, err, k.want)
		}
		unix.Close(fd)
		if err := k.set(uintptr(fd)); !errors.Is(err, syscall.EBADF) || errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s of a closed descriptor: %v, want the system's error", k.name, err)
		}
	}
}

// The ways to say that an option isn't there are one, and optional lets it pass.
func TestUnsupported(t *testing.T) {
	for _, k := range []struct {
		err         error
		unsupported bool
	}{
		{nil, false}, {syscall.ENOPROTOOPT, true}, {syscall.EOPNOTSUPP, true}, {syscall.ENOSYS, true}, {errors.ErrUnsupported, true},
		{syscall.EINVAL, false}, {syscall.EPERM, false},
	} {
		err := result("call", k.err)
		if got := errors.Is(err, errors.ErrUnsupported); got != k.unsupported || (err == nil) != (k.err == nil) {
			t.Errorf("%v became %v", k.err, err)
		}
		if got := optional(err); (got == nil) != (k.unsupported || k.err == nil) {
			t.Errorf("%v, if optional, is %v", k.err, got)
		}
		if k.err != nil && !k.unsupported && !errors.Is(err, k.err) {
			t.Errorf("%v is not to be found in %v", k.err, err)
		}
	}
}

// A port that is held can only be shared, gets no connections, and is free when the file
// is closed.
func TestHold(t *testing.T) {
	for _, network := range []string{"tcp4", "tcp"} {
		f, err := Hold(network, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		port, ok := HeldPort(int(f.Fd()))
		if !ok || port == 0 {
			t.Fatalf("%s: the port is %d, %v", network, port, ok)
		}
		addr := (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}).String()
		if flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("%s: it would be left to other processes: flags %d, %v", network, flags, err)
		}
		if ln, err := net.Listen("tcp4", addr); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("%s: somebody else listens on the port: %v, %v", network, ln, err)
		}
		if c, err := net.Dial("tcp4", addr); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%s: somebody answers on the port: %v, %v", network, c, err)
		}
		ln, err := Options{ReusePort: true}.Listen("tcp4", addr)
		if err != nil {
			t.Fatalf("%s: the port can't be shared: %v", network, err)
		}
		c, err := net.Dial("tcp4", addr)
		if err != nil {
			t.Fatal(err)
		}
		nc, err := ln.Accept()
		if err != nil {
			t.Fatalf("%s: the connection has gone elsewhere: %v", network, err)
		}
		c.Close()
		nc.Close()
		ln.Close()
		f.Close()
		if err := free(port); err != nil {
			t.Errorf("%s: the port is not free: %v", network, err)
		}
	}
}

// free binds a socket to a port whose connections may wait yet for their end.
func free(port int) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	return unix.Bind(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
}

// HeldPort knows a port that Hold holds from all else that a descriptor may be.
func TestHeldPortOfOthers(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := net.Dial("tcp4", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	unbound, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(unbound)
	wantNone := func(what string, fd int) {
		if port, ok := HeldPort(fd); ok || port != 0 {
			t.Errorf("%s holds port %d", what, port)
		}
	}
	for _, k := range []struct {
		what string
		sc   syscall.Conn
	}{{"a listener", ln.(syscall.Conn)}, {"a connection", c.(syscall.Conn)}, {"a pipe", r}} {
		raw, err := k.sc.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		if err := raw.Control(func(fd uintptr) { wantNone(k.what, int(fd)) }); err != nil {
			t.Error(err)
		}
	}
	wantNone("a socket without an address", unbound)
	wantNone("no descriptor", -1)
}
