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

const (
	// lastCallFor bounds the acceptance of what waits in the queues of listeners, which
	// takes less unless an accept loop sleeps.
	lastCallFor = time.Second
	// firstRequestFor is how long new connections have for their first request when the
	// listeners are closed.
	firstRequestFor = time.Second
	// firstRequestTick is how often that is looked at.
	firstRequestTick = 10 * time.Millisecond
)

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
		return s.stop()
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
		return d.left
	}
	s.lastCall(d)
	if ctx.Err() == nil {
		s.awaitFirstRequests(ctx, d)
	}
	return s.endDrain(d)
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

// endDrain is stop, unless another goroutine has ended d.
func (s *Server) endDrain(d *drain) (left <-chan struct{}) {
	s.run.mu.Lock()
	defer s.run.mu.Unlock()
	if s.run.drain != d {
		return d.left
	}
	return s.stopLocked()
}

// lastCall closes the listeners. What waits in the queue of one that knows how is accepted
// before, and Serve has returned then.
func (s *Server) lastCall(d *drain) {
	var asked []*listening
	s.run.mu.Lock()
	for l := range s.run.listeners {
		switch {
		case l.closed:
		case l.last.Make():
			asked = append(asked, l)
		default:
			l.closed = true
			_ = closeCalmly(l.ln)
		}
	}
	s.run.mu.Unlock()
	s.event.LookAtListeners()
	late := time.NewTimer(lastCallFor)
	defer late.Stop()
	for _, l := range asked {
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
	for int(s.stats.open.Load()) > s.engine.Settled()+s.event.Settled() {
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
