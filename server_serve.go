package gale

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/engine"
)

// Serve serves the connections of ln with handler and default settings; see
// Server.Serve.
func Serve(ln net.Listener, handler RequestHandler) error {
	return (&Server{Handler: handler}).Serve(ln)
}

// ServeTLS serves the connections of ln over TLS; see Server.ServeTLS.
func ServeTLS(ln net.Listener, certFile, keyFile string, handler RequestHandler) error {
	return (&Server{Handler: handler}).ServeTLS(ln, certFile, keyFile)
}

// ServeTLSEmbed serves the connections of ln over TLS; see
// Server.ServeTLSEmbed.
func ServeTLSEmbed(ln net.Listener, certData, keyData []byte, handler RequestHandler) error {
	return (&Server{Handler: handler}).ServeTLSEmbed(ln, certData, keyData)
}

// ServeConn serves one connection; see Server.ServeConn.
func ServeConn(c net.Conn, handler RequestHandler) error {
	return (&Server{Handler: handler}).ServeConn(c)
}

// ListenAndServe serves on the TCP address addr; see Server.ListenAndServe.
func ListenAndServe(addr string, handler RequestHandler) error {
	return (&Server{Handler: handler}).ListenAndServe(addr)
}

// ListenAndServeUNIX serves on a UNIX socket; see Server.ListenAndServeUNIX.
func ListenAndServeUNIX(addr string, mode os.FileMode, handler RequestHandler) error {
	return (&Server{Handler: handler}).ListenAndServeUNIX(addr, mode)
}

// ListenAndServeTLS serves over TLS on addr; see Server.ListenAndServeTLS.
func ListenAndServeTLS(addr, certFile, keyFile string, handler RequestHandler) error {
	return (&Server{Handler: handler}).ListenAndServeTLS(addr, certFile, keyFile)
}

// ListenAndServeTLSEmbed serves over TLS on addr; see
// Server.ListenAndServeTLSEmbed.
func ListenAndServeTLSEmbed(addr string, certData, keyData []byte, handler RequestHandler) error {
	return (&Server{Handler: handler}).ListenAndServeTLSEmbed(addr, certData, keyData)
}

// ListenAndServe listens on the TCP address addr ("host:port"), as
// Server.ListenConfig says, and serves it. It blocks like Serve.
//
// If addr has no host, as in ":8080", it listens on all IPv4 addresses and, if the system
// has IPv6, on all IPv6 addresses. With an IPv4 address, such as 0.0.0.0, it listens on
// IPv4 only. With a host name, it listens on one address of the host, an IPv4 address if
// there is one. In programs that import the compat module it listens on IPv4 only. For
// anything else, use Serve with your own listener.
func (s *Server) ListenAndServe(addr string) error {
	ln, err := s.listenTCP(addr)
	if err != nil {
		return err
	}
	return s.Serve(ln)
}

// ListenAndServeUNIX listens on the UNIX socket at the path addr and serves it. A socket at addr is
// removed first, also if a server still listens on it: that one gets no more connections. Any other
// file at addr is an error; fasthttp removes it. When serving ends, the socket is removed.
//
// mode is the file mode of the socket, whatever the umask is; it says which users may connect. No
// other user can, not even while the socket is made (except on Windows, where the folder decides).
func (s *Server) ListenAndServeUNIX(addr string, mode os.FileMode) error {
	ln, err := s.listenUNIX(addr, mode)
	if err != nil {
		return err
	}
	return s.Serve(ln)
}

// Serve accepts connections from ln and serves them with the engine that Server.Engine
// chooses. It blocks until ln returns a permanent error, and closes ln. After Shutdown or
// Close, or if ln was closed, it returns nil. A Server may serve several listeners.
//
// When the process runs out of file descriptors, Serve closes idle connections and
// continues.
func (s *Server) Serve(ln net.Listener) error { return s.serve(ln, ln, nil) }

// serve is Serve. If cfg is not nil, ln is a TLS listener around plain with that
// configuration.
func (s *Server) serve(ln, plain net.Listener, cfg *tls.Config) error {
	l, err := s.begin(ln, plain)
	if err != nil {
		ln.Close()
		return err
	}
	defer s.end(l)
	s.logServing(l, plain)
	if l.engine == EngineEvent {
		err = s.serveEvents(l, plain, cfg)
	} else {
		err = engine.Accept(ln, l.last, func(c net.Conn) { s.accepted(l, c) }, s.starved)
	}
	if err == nil || isClosed(err) || s.stopped(l) {
		return nil
	}
	s.logError(nil, "Permanent error when accepting new connections", err)
	return err
}

// stopped reports whether a shutdown has ended l, or is about to.
func (s *Server) stopped(l *listening) bool {
	s.run.mu.Lock()
	defer s.run.mu.Unlock()
	return l.told || l.epoch != s.engine.Epoch()
}

// resume lets a worker continue with a connection.
func (s *Server) resume(p engine.Parked) { s.workers.do(s, job{parked: p}) }

// isClosed reports whether err says that the listener was closed. Listeners of other
// packages than net may say so only in the text.
func isClosed(err error) bool {
	return errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF) ||
		strings.Contains(err.Error(), net.ErrClosed.Error())
}

// begin registers ln. The first listener also starts the parts of the server that all
// connections share. See serve for plain.
func (s *Server) begin(ln, plain net.Listener) (*listening, error) {
	fixed := s.fixed() // before the lock: it may call the program's Logger
	s.awaitDeserted()
	s.run.mu.Lock()
	defer s.run.mu.Unlock()
	if s.Handler == nil && s.tls.protos == nil {
		return nil, errors.New("gale: Server.Handler is nil: set it to the function that answers requests")
	}
	if s.run.listeners == nil {
		s.run.listeners = make(map[*listening]struct{})
	}
	e := s.engineFor(plain)
	l := &listening{ln: ln, engine: e, fixed: fixed, epoch: s.engine.Epoch(), stopClock: clock.Start(), ahead: acceptAhead()}
	l.last, l.socket = engine.NewLastCall(plain, l.close), socketOf(plain)
	l.ended, l.closed = make(chan struct{}), make(chan struct{})
	s.run.listeners[l] = struct{}{}
	if s.run.begun != nil {
		close(s.run.begun)
		s.run.begun = nil
	}
	s.workers.open(true)
	if s.engine.Dispatch == nil {
		s.engine.Dispatch, s.engine.Unwound = s.resume, s.unwound
	}
	s.initEvent()
	if e == EngineEvent && s.Engine == EngineAuto {
		l.missed = s.event.Hold()
		if l.held = l.missed == nil; !l.held {
			l.engine = EngineBlock
		}
	}
	return l, nil
}

// end undoes begin. A call of Serve may begin at the same time, and before l is closed. So
// workers are told under run.mu, as in begin.
func (s *Server) end(l *listening) {
	s.run.mu.Lock()
	delete(s.run.listeners, l)
	if len(s.run.listeners) == 0 {
		s.workers.open(false)
	}
	s.checkDrained()
	close(l.ended)
	s.run.mu.Unlock()
	l.close()
	<-l.closed
	l.stopClock()
	if l.held {
		s.event.Unhold()
	}
}

// starved makes room after an Accept that failed because there was no file descriptor.
func (s *Server) starved(err error) {
	s.stats.pauses.Add(1)
	n := s.evictIdle(16)
	s.logError(nil, fmt.Sprintf("accepting: closed %d idle connections to make room", n), err)
}

// acceptAhead returns how many accepted connections may wait for a worker before
// accepting pauses: one, or as many as keep the other processors busy
// (BenchmarkServer/perconn=10).
func acceptAhead() int32 { return 1 + 16*int32(runtime.GOMAXPROCS(0)-1) }

// accepted serves or refuses a connection of l. It doesn't block. If a method of the
// connection panics, the connection is closed, and the server goes on accepting.
func (s *Server) accepted(l *listening, nc net.Conn) {
	admitted, passed := false, false
	var ip netip.Addr
	defer func() {
		if passed {
			return
		}
		if r := recover(); r != nil {
			s.logPanic("accepting a connection", r, stack())
		}
		if admitted {
			s.dismiss(ip)
		}
		_ = closeCalmly(nc)
	}()
	ip, err := s.admit(nc)
	if err != nil {
		passed = true
		s.stats.rejected.Add(1)
		go s.refuse(nc, err)
		if d := s.SleepWhenConcurrencyLimitsExceeded; d > 0 && err == ErrConcurrencyLimit {
			time.Sleep(d)
		}
		return
	}
	admitted = true
	s.setKeepalive(nc)
	passed = true
	// Let the workers begin before more connections are accepted. If they finish soon,
	// the next connections use the same workers, with warm stacks and caches.
	if s.workers.do(s, job{l: l, nc: nc, ip: ip}) >= l.ahead {
		runtime.Gosched()
	}
}

// ServeConn serves the requests of c on the calling goroutine and closes c. It returns
// nil if the connection ended normally, ErrConcurrencyLimit or ErrPerIPConnLimit if a
// limit refused it, and otherwise the error that ended it.
//
// c must not buffer writes: it must send what is written to it at once.
//
// If SetReadDeadline or SetWriteDeadline of c panics, as in some types made for tests, c
// is served without timeouts.
func (s *Server) ServeConn(c net.Conn) error {
	if !hasDeadlines(c) {
		c = timeless{c}
	}
	ip, err := s.admit(c)
	if err != nil {
		s.stats.rejected.Add(1)
		s.refuse(c, err)
		return err
	}
	defer s.dismiss(ip)
	return s.serveConn(&job{l: s.unlistened(), nc: c})
}

// unlistened returns the listening for ServeConn. It returns the same one as long as the
// epoch and the settings don't change.
func (s *Server) unlistened() *listening {
	fixed, epoch := s.fixed(), s.connEpoch()
	if l := s.direct.Load(); l != nil && l.epoch == epoch && l.fixed == fixed {
		return l
	}
	l := &listening{fixed: fixed, epoch: epoch}
	s.direct.Store(l)
	return l
}

// hasDeadlines reports whether deadlines can be set on c.
func hasDeadlines(c net.Conn) (ok bool) {
	switch c.(type) {
	case *net.TCPConn, *net.UnixConn, *tls.Conn:
		return true
	}
	defer func() { _ = recover() }()
	_ = c.SetReadDeadline(time.Time{})
	_ = c.SetWriteDeadline(time.Time{})
	return true
}

// timeless is a connection without deadlines.
type timeless struct{ net.Conn }

func (timeless) SetDeadline(time.Time) error      { return nil }
func (timeless) SetReadDeadline(time.Time) error  { return nil }
func (timeless) SetWriteDeadline(time.Time) error { return nil }

// serveConn runs a connection that was admitted, until it ends or, if it came from a
// listener, is parked.
func (s *Server) serveConn(j *job) (err error) {
	nc := j.nc
	passed := false
	defer s.shield(nc, &err, &passed)
	s.setState(nc, StateNew)
	if tc, ok := nc.(*tls.Conn); ok {
		proto, err := s.handshake(tc, j.l.epoch)
		if proto != nil {
			err = proto(tc)
		}
		if proto != nil || err != nil {
			nc.Close()
			s.setState(nc, StateClosed)
			return err
		}
	}
	_, isTLS := nc.(*tls.Conn)
	thrifty := isTLS || s.ReduceMemoryUsage
	ss := s.newConn(j.l, nc, j.ip)
	passed, j.entered = true, true
	if j.l.ln == nil {
		last, err := s.engine.Serve(nc, thrifty, j.l.epoch, ss)
		j.returned = true
		return j.doneWith(last, err)
	}
	last, err := s.engine.Start(nc, thrifty, j.l.epoch, ss)
	j.returned = true
	return j.doneWith(last, err)
}

// shield is deferred around user code that runs outside of requests (hooks, handlers of
// other protocols). If that code panics, shield closes the connection, and the process
// goes on. It also closes the connection after runtime.Goexit, unless passed is set: then
// the engine has the connection.
func (s *Server) shield(nc net.Conn, err *error, passed *bool) {
	r := recover()
	if r == nil && *passed {
		return
	}
	trace := []byte(nil)
	if r != nil {
		trace = stack()
	}
	_ = closeCalmly(nc)
	if r != nil {
		s.logPanic("while serving a connection", r, trace)
		*err = fmt.Errorf("gale: panic while serving a connection: %v", r)
	}
}

func (s *Server) setState(nc net.Conn, st ConnState) {
	if s.ConnState != nil {
		s.ConnState(nc, st)
	}
}

func (s *Server) setKeepalive(nc net.Conn) {
	if !s.TCPKeepalive {
		return
	}
	if tc, ok := nc.(interface {
		SetKeepAlive(bool) error
		SetKeepAlivePeriod(time.Duration) error
	}); ok {
		tc.SetKeepAlive(true)
		if s.TCPKeepalivePeriod > 0 {
			tc.SetKeepAlivePeriod(s.TCPKeepalivePeriod)
		}
	}
}
