//go:build !unix

package sockopt

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// Hold is not supported here: files can't be passed to other processes.
func Hold(string, *net.TCPAddr) (*os.File, error) { return nil, errors.ErrUnsupported }

// HeldPort is not supported here.
func HeldPort(int) (port int, ok bool) { return 0, false }

// Share is not supported here.
func Share(syscall.Conn) (*os.File, error) { return nil, errors.ErrUnsupported }
