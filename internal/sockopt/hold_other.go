//go:build !unix

package sockopt

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// ListenUNIX listens on the UNIX socket addr and sets its mode. The system has no other way to
// set it, and chooses how many connections may wait.
func ListenUNIX(addr string, mode os.FileMode, _ int) (net.Listener, error) {
	ln, err := net.Listen("unix", addr)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(addr, mode); err != nil {
		ln.Close()
		return nil, err
	}
	return ln, nil
}

// Hold is not supported here: files can't be passed to other processes.
func Hold(string, *net.TCPAddr) (*os.File, error) { return nil, errors.ErrUnsupported }

// HeldPort is not supported here.
func HeldPort(int) (port int, ok bool) { return 0, false }

// Share is not supported here.
func Share(syscall.Conn) (*os.File, error) { return nil, errors.ErrUnsupported }
