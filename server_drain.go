package gale

import (
	"context"
	"time"
)

// drain is the time in which a server goes on to serve before a shutdown ends it, see
// Server.DrainTime. All shutdowns that begin meanwhile share it.
type drain struct {
	over chan struct{} // closed by stop
	left chan struct{} // what stop returned, set before over is closed
}

// Bounds of what follows a drain. Tests on machines that are busy set others.
var (
	// lastCallFor bounds the acceptance of what waits in the queues of listeners, which
	// takes less unless an accept loop sleeps.
	lastCallFor = time.Second
	// firstRequestFor is how long new connections have for their first request when the
	// listeners are closed.
	firstRequestFor = time.Second
	// newFor is how long a connection counts as new that has sent nothing. It is counted
	// in seconds, so it may be up to one less.
	newFor = 2 * time.Second
)

// firstRequestTick is how often is looked for new connections.
const firstRequestTick = 10 * time.Millisecond

// Draining reports whether the server shuts down: from the beginning of Shutdown or Close
// until the last connection has ended, or it serves again. A handler for health checks
// answers 503 then, so that load balancers send no more. Not in fasthttp.
func (s *Server) Draining() bool {
	s.run.mu.Lock()
	defer s.run.mu.Unlock()
	return s.run.drain != nil || s.run.drained != nil && !s.listens()
}

// listens reports whether a listener of the present epoch is served, under run.mu.
func (s *Server) listens() bool {
	for l := range s.run.listeners {
		if l.epoch == s.engine.Epoch() {
			return true
		}
	}
	return false
}

// drainAndStop is stop after a drain, which ends early with ctx or by Close.
func (s *Server) drainAndStop(ctx context.Context) (left <-chan struct{}) {
	d, first := s.beginDrain()
	if d == nil {
		return s.stop(nil, 1)
	}
	var end <-chan time.Time
	if first {
		t := time.NewTimer(s.DrainTime)
		defer t.Stop()
		end = t.C
	}
	select {
	case <-end:
	case <-ctx.Done():
	case <-d.over:
		return s.stop(d, 1)
	}
	s.lastCall(d)
	if ctx.Err() == nil {
		s.awaitFirstRequests(ctx, d)
	}
	return s.stop(d, 1)
}

// beginDrain returns the drain that runs, which the first caller has begun; nil if there
// is nothing to wait for: no time, or nothing that is served. What an earlier shutdown
// left isn't.
func (s *Server) beginDrain() (d *drain, first bool) {
	r := &s.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.drain != nil {
		return r.drain, false
	}
	serves := s.listens() || r.drained == nil && s.stats.open.Load() > 0
	if s.DrainTime <= 0 || !serves {
		return nil, false
	}
	r.drain = &drain{over: make(chan struct{})}
	s.engine.Drain()
	s.event.Drain()
	return r.drain, true
}

// lastCall has the listeners closed, and waits until no connection comes from them, for a
// while. What waits in the queue of one that knows how is accepted before.
func (s *Server) lastCall(d *drain) {
	var told []*listening
	s.run.mu.Lock()
	for l := range s.run.listeners {
		l.told = true
		told = append(told, l)
	}
	s.run.mu.Unlock()
	for _, l := range told {
		if !l.last.Make(lastCallFor) {
			go l.close() // which may wait for connections that stop closes
		}
	}
	s.event.LookAtListeners()
	late := time.NewTimer(lastCallFor)
	defer late.Stop()
	for _, l := range told {
		select {
		case <-l.ended:
		case <-late.C:
			return // stop closes the others
		case <-d.over:
			return
		}
	}
}

// awaitFirstRequests waits for the first request of connections that have only just
// begun, for a moment: stop would close them. Connections in their handshake, or which no
// goroutine has begun to serve, are not among those of the engines.
func (s *Server) awaitFirstRequests(ctx context.Context, d *drain) {
	late, tick := time.NewTimer(firstRequestFor), time.NewTicker(firstRequestTick)
	defer late.Stop()
	defer tick.Stop()
	for int(s.stats.open.Load()) > s.engine.Settled(newFor)+s.event.Settled(newFor) {
		select {
		case <-tick.C:
		case <-late.C:
			return
		case <-ctx.Done():
			return
		case <-d.over:
			return
		}
	}
}
