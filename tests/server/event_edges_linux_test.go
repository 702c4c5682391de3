package server

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// sendUrgent sends a byte out of band.
func sendUrgent(t *testing.T, c net.Conn) {
	rc, err := c.(*net.TCPConn).SyscallConn()
	if err == nil {
		cerr := rc.Control(func(fd uintptr) { err = unix.Send(int(fd), []byte("!"), unix.MSG_OOB) })
		if err == nil {
			err = cerr
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}
