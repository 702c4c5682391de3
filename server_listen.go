package gale

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"

	"github.com/galehttp/gale/internal/sockopt"
	"github.com/galehttp/gale/tcplisten"
)

// listenTCP listens on the TCP4 address addr, as ListenConfig says.
func (s *Server) listenTCP(addr string) (net.Listener, error) {
	if s.ListenConfig == (tcplisten.Config{}) {
		return net.Listen("tcp4", addr)
	}
	ln, err := s.ListenConfig.NewListener("tcp4", addr)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, fmt.Errorf("gale: this system has no SO_REUSEPORT: leave Server.ListenConfig.ReusePort unset: %w", err)
	}
	return ln, err
}

// listenUNIX listens on the UNIX socket addr, in place of a socket that was left
// over there.
func (s *Server) listenUNIX(addr string, mode os.FileMode) (net.Listener, error) {
	if fi, err := os.Lstat(addr); err == nil && fi.Mode()&fs.ModeSocket == 0 {
		return nil, fmt.Errorf("gale: %s exists and is no socket", addr)
	}
	if err := os.Remove(addr); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("gale: removing the old socket: %w", err)
	}
	ln, err := net.Listen("unix", addr)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(addr, mode); err != nil {
		ln.Close()
		return nil, fmt.Errorf("gale: setting the mode of the socket: %w", err)
	}
	if err := setBacklog(ln.(*net.UnixListener), s.ListenConfig.Backlog); err != nil {
		ln.Close()
		return nil, fmt.Errorf("gale: setting the backlog of the socket: %w", err)
	}
	return ln, nil
}

// setBacklog lets n connections wait for Accept, where the system can be told.
func setBacklog(ln *net.UnixListener, n int) error {
	if n <= 0 {
		return nil
	}
	raw, err := ln.SyscallConn()
	if err != nil {
		return err
	}
	if cerr := raw.Control(func(fd uintptr) { err = sockopt.Backlog(fd, n) }); cerr != nil {
		return cerr
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}
