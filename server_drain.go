package gale

import (
	"context"
	"time"
)

// drain is the period in which a server goes on serving before a shutdown stops it; see
// Server.DrainTime. All shutdowns that begin during that period share it.
type drain struct {
	over chan struct{} // closed by stop
	left chan struct{} // what stop returned, set before over is closed
	done chan struct{} // closed when the goroutine of the drain has ended

	// closes are the listeners that it began to close, set before done is closed.
	closes []*listening

	// deserted is closed, under serverRun.mu, when the context of a call has ended before the
	// drain was over. Then the drain takes no more time than the last accepts need.
	deserted chan struct{}
	calls    int // calls of Shutdown that wait for over; under serverRun.mu
}

// desert notes that a call of Shutdown has ended early. The caller holds run.mu.
func (d *drain) desert() {
	if !d.isDeserted() {
		close(d.deserted)
	}
}

func (d *drain) isDeserted() bool {
	select {
	case <-d.deserted:
		return true
	default:
		return false
	}
}

// Time limits for what follows a drain. Tests change them on busy machines.
var (
	// lastCallFor is how long connections in the queues of listeners are still accepted.
	// That takes less time unless an accept loop sleeps.
	lastCallFor = time.Second
	// firstRequestFor is how long new connections have for their first request when the
	// listeners are closed.
	firstRequestFor = time.Second
	// newFor is how long a connection that has sent nothing counts as new. It is counted
	// in whole seconds, so it may be up to one second less.
	newFor = 2 * time.Second
)

// firstRequestTick is how often awaitFirstRequests looks for new connections.
const firstRequestTick = 10 * time.Millisecond

// Draining reports whether the server is shutting down: from the beginning of Shutdown or
// Close until the last connection has ended or the server serves again. While it is true,
// a health check handler should answer 503, so that load balancers send no more requests.
func (s *Server) Draining() bool {
	s.run.mu.Lock()
	defer s.run.mu.Unlock()
	return s.run.drain != nil || s.run.drained != nil && !s.listens()
}

// listens reports whether a listener of the current epoch is served. The caller holds
// run.mu.
func (s *Server) listens() bool {
	for l := range s.run.listeners {
		if l.epoch == s.engine.Epoch() {
			return true
		}
	}
	return false
}

// run carries d out, on a goroutine of its own: calls of Shutdown whose contexts end don't wait
// for the last accepts.
func (d *drain) run(s *Server, long time.Duration) {
	defer close(d.done)
	t := time.NewTimer(long)
	defer t.Stop()
	select {
	case <-t.C:
	case <-d.deserted:
	case <-d.over:
		return
	}
	d.closes = s.lastCall(d)
	s.awaitFirstRequests(d)
	_, more := s.stop(d, 0)
	d.closes = append(d.closes, more...)
}

// await waits for the end of d, or of ctx: then it returns nil. The call that began d also
// waits until the listeners are closed. Others may be the closing of a listener.
func (d *drain) await(ctx context.Context, first bool) (left <-chan struct{}) {
	end := d.over
	if first {
		end = d.done
	}
	select {
	case <-end:
	case <-ctx.Done():
		return nil
	}
	if first {
		awaitClosed(ctx, d.closes)
	}
	return d.left
}

// awaitDeserted waits for the end of a drain that a call of Shutdown has left behind. For the
// program the server has shut down, so what it serves now belongs to the time after that.
func (s *Server) awaitDeserted() {
	s.run.mu.Lock()
	d := s.run.drain
	s.run.mu.Unlock()
	if d != nil && d.isDeserted() {
		<-d.over
	}
}

// awaitClosed waits until the listeners are closed, or ctx ends.
func awaitClosed(ctx context.Context, all []*listening) {
	for _, l := range all {
		select {
		case <-l.closed:
		case <-ctx.Done():
		}
	}
}

// beginDrain returns the drain that runs, and counts the call; the first caller begins it. It
// returns nil if there is nothing to wait for: DrainTime isn't positive, or nothing is served.
// What an earlier shutdown left running doesn't count as served.
func (s *Server) beginDrain() (d *drain, first bool) {
	r := &s.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.drain != nil {
		r.drain.calls++
		return r.drain, false
	}
	serves := s.listens() || r.drained == nil && s.stats.open.Load() > 0
	if s.DrainTime <= 0 || !serves {
		return nil, false
	}
	d = &drain{over: make(chan struct{}), done: make(chan struct{}), deserted: make(chan struct{}), calls: 1}
	r.drain = d
	s.engine.Drain()
	s.event.Drain()
	s.tellTaken()
	long := s.DrainTime
	go s.callCalmly("at the end of a drain", func() { d.run(s, long) })
	return d, true
}

// lastCall closes the listeners and waits, up to a limit, until no connection comes from
// them. A listener that supports it first accepts the connections in its queue. Others are
// being closed when it returns: those that it began to close are closes.
func (s *Server) lastCall(d *drain) (closes []*listening) {
	var told []*listening
	s.run.mu.Lock()
	for l := range s.run.listeners {
		l.told = true
		told = append(told, l)
	}
	s.run.mu.Unlock()
	for _, l := range told {
		if !l.last.Make(lastCallFor) {
			closes = l.beginClose(closes)
		}
	}
	s.event.LookAtListeners()
	late := time.NewTimer(lastCallFor)
	defer late.Stop()
	for _, l := range told {
		select {
		case <-l.ended:
		case <-late.C:
			return closes // stop closes the others
		case <-d.over:
			return closes
		}
	}
	return closes
}

// awaitFirstRequests waits a moment for the first request of connections that are new,
// because stop would close them. The engines don't count connections that are in their
// handshake or that no goroutine has begun to serve, nor those that are held.
func (s *Server) awaitFirstRequests(d *drain) {
	late, tick := time.NewTimer(firstRequestFor), time.NewTicker(firstRequestTick)
	defer late.Stop()
	defer tick.Stop()
	for int(s.stats.open.Load()-s.stats.held.Load()) > s.engine.Settled(newFor)+s.event.Settled(newFor) {
		select {
		case <-tick.C:
		case <-late.C:
			return
		case <-d.deserted:
			return
		case <-d.over:
			return
		}
	}
}
