package gale

import (
	"context"
	"net"
)

// Shutdown shuts the server down without interrupting requests: it closes the
// listeners and the connections that are idle, waits until each request of
// which a byte was read is answered, with `Connection: close`, and closes those
// connections too. Serve returns nil at once, so the program must wait for
// Shutdown. Hijacked connections are not waited for.
//
// Shutdown waits as long as it takes; see ShutdownWithContext. It may be called
// again, and the Server may serve again afterwards.
func (s *Server) Shutdown() error { return s.ShutdownWithContext(context.Background()) }

// ShutdownWithContext is Shutdown that stops waiting when ctx ends, and returns
// ctx.Err() then: what is in flight goes on, RequestCtx.Done stays closed, and
// the server can serve again. See also Close.
func (s *Server) ShutdownWithContext(ctx context.Context) error {
	drained := s.stop()
	s.engine.Stop()
	var err error
	select {
	case <-drained:
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.engine.Resume()
	s.run.mu.Lock()
	s.run.stopping = false
	s.run.mu.Unlock()
	return err
}

// stop closes the listeners and everything that no request was read from, and
// returns a channel that is closed when no connection is left.
func (s *Server) stop() <-chan struct{} {
	r := &s.run
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopping = true
	for ln := range r.listeners {
		ln.Close()
	}
	for c := range r.handshakes {
		c.Close()
	}
	for d := range r.waiters {
		d.cancel(context.Canceled)
	}
	r.waiters = nil
	if s.stats.open.Load() == 0 {
		c := make(chan struct{})
		close(c)
		return c
	}
	if r.drained == nil {
		r.drained = make(chan struct{})
	}
	return r.drained
}

// Close closes the listeners and all connections at once, whatever they do.
// Handlers that run are not waited for; their RequestCtx.Done is closed. It
// returns nil. Hijacked connections stay open. Not in fasthttp.
func (s *Server) Close() error {
	s.stop()
	s.engine.CloseAll()
	s.run.mu.Lock()
	s.run.stopping = false
	s.run.mu.Unlock()
	return nil
}

func (s *Server) isStopping() bool {
	s.run.mu.Lock()
	defer s.run.mu.Unlock()
	return s.run.stopping
}

// enterHandshake registers a connection in its handshake; false means that the
// server is shutting down.
func (s *Server) enterHandshake(c net.Conn) bool {
	s.run.mu.Lock()
	defer s.run.mu.Unlock()
	if s.run.stopping {
		return false
	}
	if s.run.handshakes == nil {
		s.run.handshakes = make(map[net.Conn]struct{})
	}
	s.run.handshakes[c] = struct{}{}
	return true
}

func (s *Server) leaveHandshake(c net.Conn) {
	s.run.mu.Lock()
	delete(s.run.handshakes, c)
	s.run.mu.Unlock()
}
