package gale

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"github.com/galehttp/gale/internal/engine"
)

// Engine is how a Server moves bytes between connections and handlers; see Server.Engine.
// Handlers and settings are the same for all engines.
type Engine int

// The engines.
const (
	// EngineAuto uses EngineEvent for the listeners that EngineEvent can serve. It uses
	// EngineBlock for everything else, and if the system can't give it a poller.
	// Server.Stats and, if Server.Slog is set, the log say which one is used.
	EngineAuto Engine = iota
	// EngineBlock uses one goroutine per connection. It serves all
	// connections on all systems.
	EngineBlock
	// EngineEvent uses goroutines for requests that are being served and none for
	// connections that wait. It takes less processor time and much less memory. Handlers
	// may block.
	//
	// It serves listeners of package net for TCP and UNIX sockets on Linux, also with the
	// TLS of the ServeTLS methods. Everything else is served by EngineBlock: other
	// listeners (such as those that wrap another one), ServeConn, and other systems.
	// Nothing changes for handlers; the log says so.
	EngineEvent
)

// autoEngine is what EngineAuto uses where it can: this line decides.
var autoEngine = EngineEvent // except in tests, which run on both

var engineNames = [...]string{"auto", "block", "event"}

// String returns "auto", "block" or "event".
func (e Engine) String() string {
	if e < 0 || int(e) >= len(engineNames) {
		return ""
	}
	return engineNames[e]
}

// MarshalText returns what String does. The error is always nil. The result belongs to
// the caller.
func (e Engine) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText sets e to the engine of that name, for flags and configuration files. If
// the name is unknown, e doesn't change, and the error lists the names.
func (e *Engine) UnmarshalText(name []byte) error {
	for i, known := range engineNames {
		if string(name) == known {
			*e = Engine(i)
			return nil
		}
	}
	return errors.New("use auto, block or event")
}

// engineFor returns the engine for the connections of ln: EngineBlock or
// EngineEvent.
func (s *Server) engineFor(ln net.Listener) Engine {
	e := s.Engine
	if e == EngineAuto {
		e = autoEngine
	}
	if e == EngineEvent && s.event.Serves(ln) {
		return EngineEvent
	}
	return EngineBlock
}

// logServing logs which engine serves l. A log without levels, where each line may be an
// alarm, gets the line only if it isn't the engine that was asked for.
func (s *Server) logServing(l *listening, plain net.Listener) {
	s.logError(nil, "the event engine can't start, EngineBlock serves instead", l.missed)
	defer recovered("logging what is served")
	missed := s.Engine == EngineEvent && l.engine != EngineEvent
	if s.Logger == nil && s.Slog != nil {
		level := slog.LevelInfo
		if missed {
			level = slog.LevelWarn
		}
		st := l.stats()
		s.Slog.LogAttrs(context.Background(), level, "serving",
			slog.String("network", st.Network), slog.String("address", st.Address),
			slog.String("engine", st.Engine.String()), slog.String("asked", s.Engine.String()))
		return
	}
	if missed {
		s.logger().Printf("gale: serving %s with EngineBlock: EngineEvent serves *net.TCPListener and *net.UnixListener on Linux, this is a %T", l.stats().Address, plain)
	}
}

// serveEvents is serve with the event engine.
func (s *Server) serveEvents(l *listening, plain net.Listener, cfg *tls.Config) error {
	keepAlive := defaultKeepAlive
	if s.TCPKeepalive && s.TCPKeepalivePeriod > 0 {
		keepAlive = s.TCPKeepalivePeriod
	}
	return s.event.Serve(plain, keepAlive, l.last, func(nc net.Conn) { s.acceptedEvent(l, nc, cfg) }, s.starved)
}

// defaultKeepAlive is the keep-alive period that package net sets for accepted
// connections.
const defaultKeepAlive = 15 * time.Second

// acceptedEvent is accepted for connections of the event engine.
func (s *Server) acceptedEvent(l *listening, nc net.Conn, cfg *tls.Config) {
	ip, err := s.admit(nc)
	if err != nil {
		s.stats.rejected.Add(1)
		if c, derr := s.event.Detach(nc); derr == nil {
			if cfg != nil {
				c = tls.Server(c, cfg)
			}
			go s.refuse(c, err)
		}
		if d := s.SleepWhenConcurrencyLimitsExceeded; d > 0 && err == ErrConcurrencyLimit {
			time.Sleep(d)
		}
		return
	}
	if err := s.event.Adopt(nc); err != nil {
		s.dismiss(ip)
		s.logError(nil, "taking a connection", err)
		return
	}
	if cfg != nil {
		go s.greetEvent(l, nc, tls.Server(nc, cfg), ip)
		return
	}
	s.startEvent(l, nc, nil, ip)
}

// startEvent lets a session serve nc, or the TLS connection over it.
func (s *Server) startEvent(l *listening, nc, over net.Conn, ip netip.Addr) {
	top := nc
	if over != nil {
		top = over
	}
	ss := s.newConn(l, top, ip)
	ss.conn().isNew = over == nil // else it was told before the handshake
	s.event.Start(nc, over, l.epoch, ss)
}

// greetEvent does the handshake of a TLS connection. After it the connection needs no
// goroutine while it waits.
func (s *Server) greetEvent(l *listening, nc net.Conn, tc *tls.Conn, ip netip.Addr) {
	started := false
	var err error
	defer func() {
		if started {
			return
		}
		defer s.dismiss(ip)
		if r := recover(); r != nil {
			s.eventPanicked(r)
		}
		s.event.Drop(nc)
	}()
	s.setState(tc, StateNew)
	proto, err := s.handshake(tc, l.epoch)
	switch {
	case err != nil:
		tc.Close()
		s.setState(tc, StateClosed)
	case proto != nil:
		// A handler of another protocol may read and write whenever it wants.
		started = true
		defer s.dismiss(ip)
		if _, err := s.event.Detach(nc); err == nil {
			passed := false
			defer s.shield(tc, &err, &passed)
			proto(tc)
		}
		tc.Close()
		s.setState(tc, StateClosed)
	default:
		started = true
		s.startEvent(l, nc, tc, ip)
	}
}

// eventEnded is called with the last session of a connection of the event engine when the
// connection has ended.
func (s *Server) eventEnded(last engine.Session, _ error) {
	ss := last.(serverSession)
	s.dismissLast(ss)
	ss.free()
}

// eventPanicked is called with the value of a hook's panic.
func (s *Server) eventPanicked(r any) {
	s.logPanic("while serving a connection", r, stack())
}

// initEvent prepares the event engine. The caller holds run.mu.
func (s *Server) initEvent() {
	if s.event.Ended == nil {
		s.event.Ended, s.event.Panicked = s.eventEnded, s.eventPanicked
		s.event.Loops, s.event.MaxRunning = s.EventLoops, s.MaxRunningHandlers
	}
}
