package gale

import (
	"context"
	"errors"
	"log/slog"
	"net"
)

// Engine is how a Server moves bytes between connections and handlers, see
// Server.Engine. Handlers and settings are the same on all. Not in fasthttp.
type Engine int

// The engines.
const (
	// EngineAuto takes EngineEvent for the listeners that it serves, and
	// EngineBlock for everything else, or if the system has no poller to spare. What it
	// took is in Server.Stats and, if there is a Server.Slog, in the log.
	EngineAuto Engine = iota
	// EngineBlock uses one goroutine per connection. It serves all
	// connections on all systems.
	EngineBlock
	// EngineEvent has goroutines for the requests that are served and none for
	// connections that wait, which takes less processor time and much less
	// memory. Handlers may block as they like.
	//
	// It serves listeners of package net for TCP and UNIX sockets on Linux,
	// with the TLS of the ServeTLS methods too. Other listeners (those that
	// wrap another one), ServeConn and other systems are served as by
	// EngineBlock, without a change for handlers; the log says so.
	EngineEvent
)

// autoEngine is what EngineAuto takes where it can: this line decides.
var autoEngine = EngineEvent // except in tests, which run on both

var engineNames = [...]string{"auto", "block", "event"}

// String returns "auto", "block" or "event".
func (e Engine) String() string {
	if e < 0 || int(e) >= len(engineNames) {
		return ""
	}
	return engineNames[e]
}

// MarshalText returns what String does. The error is always nil.
func (e Engine) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText sets e to the engine of that name, for flags and files of
// settings. If there is none, e stays and the error says which there are.
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

// logServing tells which engine serves l. A log without levels, which may be
// one where each line is an alarm, hears of it only if it isn't the one that was
// asked for.
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
