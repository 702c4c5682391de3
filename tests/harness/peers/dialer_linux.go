package peers

import (
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// HungTarget listens on a port of ::1 where connections wait forever: its queue is full.
func HungTarget(t *testing.T, port string) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET6, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	n, _ := strconv.Atoi(port)
	addr := &syscall.SockaddrInet6{Port: n}
	addr.Addr[15] = 1
	if err := syscall.Bind(fd, addr); err != nil {
		t.Skip(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Skip(err)
	}
	for late, tries := 0, 0; tries < 10; tries++ {
		conn, err := net.DialTimeout("tcp", "[::1]:"+port, 300*time.Millisecond)
		if err == nil {
			late = 0
			t.Cleanup(func() { conn.Close() })
		} else if late++; late == 2 { // a slow machine may cause one
			return
		}
	}
	t.Skip("the queue of a listener doesn't fill up")
}
