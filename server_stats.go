package gale

import "sync/atomic"

// Stats is what a Server counts, see Server.Stats. Not in fasthttp.
type Stats struct {
	// OpenConnections are open now, those in a TLS handshake included. Of
	// them, IdleConnections wait for a request, of which nothing has arrived.
	OpenConnections, IdleConnections int
	// AcceptedConnections and RejectedConnections are all that were served,
	// and all that were refused for a limit.
	AcceptedConnections, RejectedConnections uint64
	// Requests are all whose head was read.
	Requests uint64
	// Panics are all handlers that panicked.
	Panics uint64
	// Timeouts are all waits for a client that took too long: for the next
	// request, for the rest of one, or for a client to take its answer.
	Timeouts uint64
	// AcceptPauses are all pauses of accepting for want of descriptors or
	// memory.
	AcceptPauses uint64
	// Listeners are those that are being served, in no order.
	Listeners []ListenerStats
	// Event is about the event engine.
	Event EventStats
}

// ListenerStats is about a listener of a Server. Not in fasthttp.
type ListenerStats struct {
	// Network and Address are those of the listener's Addr.
	Network, Address string
	// Engine is EngineBlock or EngineEvent.
	Engine Engine
}

// EventStats is what the event engine of a Server counts. Numbers of goroutines
// and loops are those of now.
type EventStats struct {
	// Loops is the number of pollers, 0 while nothing is served with this
	// engine, and Connections what they serve.
	Loops, Connections int
	// Running goroutines serve a connection, Parked ones wait to be needed. One
	// of each loop may be neither: it polls.
	Running, Parked int
	// PendingWrites are connections with output that their sockets don't take.
	PendingWrites int
	// Polls are all calls of the poller, Wakeups those that blocked.
	Polls, Wakeups uint64
}

// Stats returns what the server has counted. It takes a look at each connection,
// so it is meant for now and then. Package expvarhandler has a function that
// publishes it.
func (s *Server) Stats() Stats {
	e := s.event.Counts()
	return Stats{
		OpenConnections:     int(s.stats.open.Load()),
		IdleConnections:     s.idleConns(),
		AcceptedConnections: s.stats.accepted.Load(),
		RejectedConnections: uint64(s.stats.rejected.Load()),
		Requests:            s.stats.requests.sum(),
		Panics:              s.stats.panics.Load(),
		Timeouts:            s.stats.timeouts.Load() + e.WriteTimeouts + s.engine.WriteTimeouts(),
		AcceptPauses:        s.stats.pauses.Load(),
		Listeners:           s.listeners(),
		Event: EventStats{
			Loops:         e.Loops,
			Connections:   e.Conns,
			Running:       e.Running,
			Parked:        e.Resting,
			PendingWrites: e.PendingWrites,
			Polls:         e.Polls,
			Wakeups:       e.Wakeups,
		},
	}
}

func (s *Server) listeners() (all []ListenerStats) {
	s.run.mu.Lock()
	defer s.run.mu.Unlock()
	for l := range s.run.listeners {
		all = append(all, l.stats())
	}
	return all
}

func (l *listening) stats() ListenerStats {
	st := ListenerStats{Engine: l.engine}
	if addr := l.ln.Addr(); addr != nil {
		st.Network, st.Address = addr.Network(), addr.String()
	}
	return st
}

// serverStats are the counters of a Server.
type serverStats struct {
	open     atomic.Int32  // connections that are open, handshakes included
	rejected atomic.Uint32 // connections refused for a limit
	accepted atomic.Uint64
	panics   atomic.Uint64
	timeouts atomic.Uint64
	pauses   atomic.Uint64
	requests spread
}

// spread is a counter that many processors add to: each adds to the part that
// is that of the connection.
type spread [8]struct {
	n atomic.Uint64
	_ [56]byte // a cache line
}

func (c *spread) add(id, n uint64) { c[id%uint64(len(c))].n.Add(n) }

func (c *spread) sum() (n uint64) {
	for i := range c {
		n += c[i].n.Load()
	}
	return n
}
