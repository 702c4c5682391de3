package gale

import (
	"crypto/tls"
	"net"
	"net/netip"
	"time"

	"github.com/galehttp/gale/internal/engine"
)

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
