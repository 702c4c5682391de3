package gale

import (
	"context"
	"net"
)

// Shutdown shuts the server down without interrupting requests: it closes the
// listeners and the connections that are idle, waits until each request of
// which a byte was read is answered, with `Connection: close`, and closes those
// connections too. Serve returns nil once its listener is closed, so the program must
// wait for Shutdown. Hijacked connections are not waited for.
//
// A request that a client sends on an idle connection at this moment is lost, as is a
// connection that was not accepted yet, unless DrainTime is set. Then Shutdown first
// serves on for so long, with `Connection: close` in every answer. At the end of it
// what waits to be accepted is accepted (from listeners of package net for TCP and UNIX
// sockets, over TLS too if the server does it; others are just closed), and
// connections that are new have up to a second for their first request.
// RequestCtx.Done of handlers that run is closed after that, and not while the server
// drains. If the server has neither a listener nor a connection, nothing is waited for.
//
// Shutdown waits as long as it takes; see ShutdownWithContext. It may be called
// again, and the Server may serve again afterwards. Calls that come while the server
// drains wait for the same drain, and Serve serves until its end.
func (s *Server) Shutdown() error { return s.ShutdownWithContext(context.Background()) }

// ShutdownWithContext is Shutdown that stops waiting when ctx ends, and returns
// ctx.Err() then: what is in flight goes on and its connections are closed after it,
// RequestCtx.Done stays closed. A drain ends with ctx for all calls: the time of ctx
// should be that of DrainTime and what requests may take after it. See also Close.
func (s *Server) ShutdownWithContext(ctx context.Context) error {
	drained := s.drainAndStop(ctx)
	defer s.endShutdown()
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// endShutdown says that a call of Shutdown waits no more.
func (s *Server) endShutdown() {
	s.run.mu.Lock()
	s.run.shutdowns--
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

// stop begins the next epoch, closes what no request was read from and then the listeners,
// and returns a channel that is closed when no connection is left. If d is not nil, it does
// so unless another goroutine has ended d. waits is how many calls of Shutdown will wait.
func (s *Server) stop(d *drain, waits int) (left <-chan struct{}) {
	left, told := s.stopEpoch(d, waits)
	s.event.LookAtListeners()
	for _, l := range told {
		l.close() // without run.mu, and last: a listener may wait for its connections
	}
	return left
}

// stopEpoch is stop without the listeners, which it returns.
func (s *Server) stopEpoch(d *drain, waits int) (left <-chan struct{}, told []*listening) {
	r := &s.run
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shutdowns += waits
	if d != nil && r.drain != d {
		return d.left, nil
	}
	for l := range r.listeners {
		l.told = true
		told = append(told, l)
	}
	r.h2.leave()
	s.engine.Stop()
	s.event.Stop()
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
	if d := r.drain; d != nil {
		d.left, r.drain = drained, nil
		close(d.over)
	}
	s.checkDrained()
	return drained, told
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

// Close closes the listeners and all connections at once, whatever they do, also while
// the server drains.
// Handlers that run are not waited for; their RequestCtx.Done is closed. It
// returns nil. Hijacked connections stay open. Not in fasthttp.
func (s *Server) Close() error {
	s.stop(nil, 0)
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
