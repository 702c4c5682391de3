package gale

import (
	"context"
	"errors"
	"log/slog"
	"net"
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
