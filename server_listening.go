package gale

import (
	"io/fs"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/galehttp/gale/internal/engine"
)

// listening is a call of Serve. Its connections are of the epoch in which it
// began, so that none slips through a shutdown.
type listening struct {
	ln        net.Listener // nil for ServeConn
	engine    Engine
	fixed     fixedSettings
	epoch     uint32
	stopClock func()
	held      bool  // the event engine is kept for it
	missed    error // why it can't be
	told      bool  // to end, by a shutdown; under serverRun.mu
	last      *engine.LastCall
	ended     chan struct{} // closed when no connection comes from it any more
	ahead     int32         // see acceptAhead

	socket  unixSocket
	closing sync.Once
}

// close closes the listener. Any goroutine may call it; those that come later wait for
// the first. It may take as long as a listener of the program's does, so it is called
// without locks.
func (l *listening) close() {
	l.closing.Do(func() {
		l.socket.spare()
		_ = closeCalmly(l.ln)
	})
}

// unixSocket is the file of a UNIX socket that is listened on. The zero value is none.
type unixSocket struct {
	ln   *net.UnixListener
	file fs.FileInfo
}

// socketOf returns the socket of ln, if it has one with a file.
func socketOf(ln net.Listener) unixSocket {
	u, ok := ln.(*net.UnixListener)
	if !ok || runtime.GOOS == "windows" { // which lets nobody replace it
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

// spare keeps the closing of the listener from removing a file that isn't its own any
// more: another process, which takes over, may listen there by now.
func (u unixSocket) spare() {
	if u.ln == nil {
		return
	}
	now, err := os.Lstat(u.ln.Addr().String())
	if err == nil && (!os.SameFile(u.file, now) || !u.file.ModTime().Equal(now.ModTime())) {
		u.ln.SetUnlinkOnClose(false)
	}
}
