package gale

import (
	"net"
	"time"

	"github.com/galehttp/gale/internal/engine"
)

// Engine is how a Server moves bytes between connections and handlers, see
// Server.Engine. Not in fasthttp.
type Engine int

// The engines.
const (
	// EngineAuto leaves the choice to the library. It is EngineBlock as of now.
	EngineAuto Engine = iota
	// EngineBlock has a goroutine for each connection. It serves all
	// connections on all systems.
	EngineBlock
	// EngineEvent has goroutines for the requests that are served and none for
	// connections that wait, which takes less processor time and much less
	// memory. Handlers may block as they like.
	//
	// It serves plain listeners of package net for TCP and UNIX sockets on
	// Linux. Other listeners (those that wrap another one, TLS among them),
	// ServeConn and other systems are served as by EngineBlock, without a
	// change for handlers.
	EngineEvent
)

var engineNames = [...]string{"auto", "block", "event"}

// String returns "auto", "block" or "event".
func (e Engine) String() string {
	if e < 0 || int(e) >= len(engineNames) {
		return ""
	}
	return engineNames[e]
}

// takesEvents reports whether the connections of ln are for the event engine.
func (s *Server) takesEvents(ln net.Listener) bool {
	e := s.Engine
	if e == EngineAuto {
		e = autoEngine
	}
	return e == EngineEvent && s.event.Serves(ln)
}

// autoEngine is what EngineAuto takes. Tests change it, to run on both.
var autoEngine = EngineBlock

// serveEvents is Serve with the event engine.
func (s *Server) serveEvents(l *listening) error {
	keepAlive := defaultKeepAlive
	if s.TCPKeepalive && s.TCPKeepalivePeriod > 0 {
		keepAlive = s.TCPKeepalivePeriod
	}
	return s.event.Serve(l.ln, keepAlive, func(nc net.Conn) { s.acceptedEvent(l, nc) }, s.starved)
}

// defaultKeepAlive is what package net has for connections of listeners.
const defaultKeepAlive = 15 * time.Second

// acceptedEvent is accepted for connections of the event engine.
func (s *Server) acceptedEvent(l *listening, nc net.Conn) {
	ip, err := s.admit(nc)
	if err != nil {
		s.stats.rejected.Add(1)
		if c, derr := s.event.Detach(nc); derr == nil {
			go refuse(c, err)
		}
		if d := s.SleepWhenConcurrencyLimitsExceeded; d > 0 && err == ErrConcurrencyLimit {
			time.Sleep(d)
		}
		return
	}
	ss := newSession(s, l.ln)
	ss.ip = ip
	s.event.Start(nc, l.epoch, eventSession{ss})
}

// eventSession is a session on the event engine.
type eventSession struct{ *session }

// Open begins the session.
func (ss eventSession) Open(c engine.Conn, next *engine.Next) {
	ss.s.setState(c.NetConn(), StateNew)
	ss.session.Open(c, next)
}

// eventEnded is called when a connection of the event engine has ended.
func (s *Server) eventEnded(sess engine.Session, _ error) {
	ss := sess.(eventSession).session
	s.dismiss(ss.ip)
	ss.free()
}

// eventPanicked is called with what a hook panicked with.
func (s *Server) eventPanicked(r any) {
	s.logPanic("while serving a connection", r, stack())
}

// initEvent prepares the event engine, under run.mu.
func (s *Server) initEvent() {
	if s.event.Ended == nil {
		s.event.Ended, s.event.Panicked = s.eventEnded, s.eventPanicked
	}
}
