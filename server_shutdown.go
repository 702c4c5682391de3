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
// ctx.Err() then: what is in flight goes on and its connections are closed after it,
// RequestCtx.Done stays closed. See also Close.
func (s *Server) ShutdownWithContext(ctx context.Context) error {
	drained := s.stop()
	s.addShutdown(1)
	defer s.addShutdown(-1)
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Server) addShutdown(n int) {
	s.run.mu.Lock()
	s.run.shutdowns += n
	s.run.mu.Unlock()
}

// connEpoch returns the epoch of a connection that comes without a listener:
// while a shutdown waits, one that has ended.
func (s *Server) connEpoch() uint32 {
	s.run.mu.Lock()
	defer s.run.mu.Unlock()
	if s.run.shutdowns > 0 {
		return s.engine.Epoch() - 1
	}
	return s.engine.Epoch()
}

// stop closes the listeners and everything that no request was read from, and
// returns a channel that is closed when no connection is left.
func (s *Server) stop() <-chan struct{} {
	r := &s.run
	r.mu.Lock()
	defer r.mu.Unlock()
	for l := range r.listeners {
		if !l.closed {
			l.closed = true
			_ = closeCalmly(l.ln)
		}
	}
	s.engine.Stop()
	s.event.Stop()
	s.event.LookAtListeners()
	for c := range r.handshakes {
		_ = closeCalmly(c)
	}
	for d := range r.waiters {
		d.cancel(context.Canceled)
	}
	r.waiters = nil
	if r.drained == nil {
		r.drained = make(chan struct{})
	}
	drained := r.drained
	s.checkDrained()
	return drained
}

// checkDrained tells the goroutines that wait for it, under run.mu, if no connection is
// left and no call of Serve is about to bring one from before the shutdown.
func (s *Server) checkDrained() {
	if s.run.drained == nil || s.stats.open.Load() > 0 {
		return
	}
	for l := range s.run.listeners {
		if l.epoch != s.engine.Epoch() {
			return
		}
	}
	close(s.run.drained)
	s.run.drained = nil
}

// Close closes the listeners and all connections at once, whatever they do.
// Handlers that run are not waited for; their RequestCtx.Done is closed. It
// returns nil. Hijacked connections stay open. Not in fasthttp.
func (s *Server) Close() error {
	s.stop()
	s.engine.CloseAll()
	s.event.CloseAll()
	return nil
}

// enterHandshake registers a connection in its handshake; false means that its
// epoch has ended.
func (s *Server) enterHandshake(c net.Conn, epoch uint32) bool {
	s.run.mu.Lock()
	defer s.run.mu.Unlock()
	if epoch != s.engine.Epoch() {
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

// addWaiter registers d, which a shutdown that begins afterwards cancels, until
// removeWaiter. Contexts without a server are not waited for.
func (s *Server) addWaiter(d *requestDone) {
	if s == &noServer {
		return
	}
	s.run.mu.Lock()
	defer s.run.mu.Unlock()
	if s.run.waiters == nil {
		s.run.waiters = make(map[*requestDone]struct{})
	}
	s.run.waiters[d] = struct{}{}
}

func (s *Server) removeWaiter(d *requestDone) {
	s.run.mu.Lock()
	delete(s.run.waiters, d)
	s.run.mu.Unlock()
}
