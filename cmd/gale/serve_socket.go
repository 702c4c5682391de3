package main

import (
	"errors"
	"flag"
	"io/fs"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/galehttp/gale/internal/sockopt"
)

// defaultSocketMode lets only the user of this process connect.
const defaultSocketMode socketMode = 0o600

// unixFlags say on which UNIX socket to listen.
type unixFlags struct {
	path nonEmpty // "" for TCP
	mode socketMode
}

func (u *unixFlags) flags(fs *flag.FlagSet) {
	u.mode = defaultSocketMode
	fs.Var(&u.path, "unix", "listen on a UNIX socket at this `path` instead of a port")
	fs.Var(&u.mode, "unix-mode", "the permissions of the socket, an octal `mode`; clients need permission to write")
}

// socketMode holds the permission bits of a socket.
type socketMode os.FileMode

func (m *socketMode) String() string { return strconv.FormatUint(uint64(*m), 8) }

func (m *socketMode) Set(s string) error {
	n, err := strconv.ParseUint(s, 8, 32)
	if err != nil || n > 0o777 {
		return errors.New("want an octal number such as 660")
	}
	*m = socketMode(n)
	return nil
}

// listen makes the socket. A socket that a dead process left is removed. Closing the
// listener removes the socket.
func (u *unixFlags) listen() (net.Listener, error) {
	path := string(u.path)
	if err := clearSocket(path); err != nil {
		return nil, err
	}
	ln, err := sockopt.ListenUNIX(path, os.FileMode(u.mode), 0)
	switch {
	case err == nil:
	case errors.Is(err, syscall.EINVAL):
		return nil, usagef("can't make the socket %q: the path is too long for a socket; choose a shorter one with -unix", path)
	default:
		return nil, usagef("can't make the socket %q: %v; choose another path with -unix", path, cause(err))
	}
	return ln, nil
}

// clearSocket removes a stale socket from the path.
func clearSocket(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return usagef("can't look at %q: %v", path, cause(err))
	case info.Mode()&fs.ModeSocket == 0:
		return usagef("%q exists and isn't a socket: remove it, or choose another path with -unix", path)
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		conn.Close()
		return usagef("another process listens on the socket %q: stop it, or choose another path with -unix", path)
	}
	if !errors.Is(err, errRefused) {
		return usagef("can't tell whether a process listens on the socket %q: %v; remove it, or choose another path with -unix", path, cause(err))
	}
	if err := os.Remove(path); err != nil {
		return usagef("can't remove the old socket %q: %v", path, cause(err))
	}
	return nil
}

// cause returns the error of the system call in err, without names and addresses.
func cause(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}
