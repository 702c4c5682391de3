package gale

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/galehttp/gale/internal/engine"
	"github.com/galehttp/gale/internal/sockopt"
)

// listening is a call of Serve. Its connections belong to the epoch in which it began, so
// that a shutdown ends all of them.
type listening struct {
	ln        net.Listener // nil for ServeConn
	engine    Engine
	fixed     fixedSettings
	epoch     uint32
	stopClock func()
	held      bool  // the event engine is held for it
	missed    error // the reason if it can't be
	told      bool  // a shutdown told it to end; under serverRun.mu
	last      *engine.LastCall
	ended     chan struct{} // closed when no more connections come from it
	ahead     int32         // see acceptAhead

	socket  unixSocket
	closing atomic.Bool   // it is being closed, or is closed
	closed  chan struct{} // closed when it is closed
}

// stops reports whether s drains or stops, for connections of l. Any goroutine may call it.
func (l *listening) stops(s *Server) bool { return s.engine.Stops(l.epoch) }

// close closes the listener. Any goroutine may call it. Closing a listener of the program may
// take any time, so no locks may be held, and may end the server, so calls do nothing, and
// don't wait, while another one closes it. closed says when it is closed.
func (l *listening) close() {
	if !l.closing.Swap(true) {
		l.closeNow()
	}
}

// beginClose is close on a goroutine of its own: the listener may wait for its connections. It
// appends l to begun, unless another call closes it.
func (l *listening) beginClose(begun []*listening) []*listening {
	if l.closing.Swap(true) {
		return begun
	}
	go l.closeNow()
	return append(begun, l)
}

func (l *listening) closeNow() {
	defer close(l.closed)
	l.socket.spare()
	_ = closeCalmly(l.ln)
}

// unixSocket is the file of a UNIX socket on which a listener listens. The zero value
// means no file.
type unixSocket struct {
	ln   *net.UnixListener
	file fs.FileInfo
}

// socketOf returns the socket of ln, if it has one with a file.
func socketOf(ln net.Listener) unixSocket {
	u, ok := ln.(*net.UnixListener)
	if !ok || runtime.GOOS == "windows" { // where no other process can replace the file
		return unixSocket{}
	}
	name := u.Addr().String()
	if name == "" || strings.HasPrefix(name, "@") { // without a file, see unix(7)
		return unixSocket{}
	}
	file, err := os.Lstat(name)
	if err != nil {
		return unixSocket{}
	}
	return unixSocket{u, file}
}

// spare prevents that closing the listener removes a file that is no longer its own:
// another process that takes over may already listen there.
func (u unixSocket) spare() {
	if u.ln == nil {
		return
	}
	now, err := os.Lstat(u.ln.Addr().String())
	if err == nil && (!os.SameFile(u.file, now) || !u.file.ModTime().Equal(now.ModTime())) {
		u.ln.SetUnlinkOnClose(false)
	}
}

// ListenConfig has options for the sockets that a Server opens; see Server.ListenConfig.
// The zero value sets none. Package tcplisten opens listeners with the same options for
// Server.Serve.
//
// DeferAccept, FastOpen and Backlog only make a listener faster. On a system that doesn't
// have them they have no effect. ReusePort is an error on a system that doesn't have it.
type ListenConfig struct {
	// ReusePort lets several listeners, of this process and of others of the same user,
	// share an address (SO_REUSEPORT). All of them must set it. The system spreads the
	// connections over them.
	ReusePort bool

	// DeferAccept accepts a connection only when it has bytes to read or about a second
	// has passed (TCP_DEFER_ACCEPT, Linux).
	DeferAccept bool

	// FastOpen accepts data in the first packet of a connection (TCP_FASTOPEN, RFC 7413;
	// on Linux, if the system's settings allow it). A request in that data may arrive
	// twice (RFC 7413 section 6.1).
	FastOpen bool

	// Backlog is how many connections may wait to be accepted; see listen(2). The system
	// limits it. 0 or negative means the longest queue that the system allows.
	Backlog int
}

// listenTCP listens on the TCP address addr, as ListenConfig says.
func (s *Server) listenTCP(addr string) (net.Listener, error) {
	s.awaitDeserted()
	network := "tcp4"
	if defaultDualStack {
		network = sockopt.NetworkFor("tcp", addr)
	}
	if s.ListenConfig == (ListenConfig{}) {
		return net.Listen(network, addr)
	}
	ln, err := sockopt.Options(s.ListenConfig).Listen(network, addr)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, fmt.Errorf("gale: this system has no SO_REUSEPORT: leave Server.ListenConfig.ReusePort unset: %w", err)
	}
	return ln, err
}

// listenUNIX listens on the UNIX socket addr. It removes a socket at addr first.
func (s *Server) listenUNIX(addr string, mode os.FileMode) (net.Listener, error) {
	s.awaitDeserted()
	if fi, err := os.Lstat(addr); err == nil && fi.Mode()&fs.ModeSocket == 0 {
		return nil, fmt.Errorf("gale: %s exists and is not a socket", addr)
	}
	if err := os.Remove(addr); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("gale: removing the old socket: %w", err)
	}
	ln, err := sockopt.ListenUNIX(addr, mode, s.ListenConfig.Backlog)
	if err != nil {
		return nil, fmt.Errorf("gale: %w", err)
	}
	return ln, nil
}
