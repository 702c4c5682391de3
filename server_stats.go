package gale

import "sync/atomic"

// Stats has the counters of a Server; see Server.Stats.
type Stats struct {
	// OpenConnections is the number of connections that are open now, including those in
	// a TLS handshake, and those of HTTP/2 that have ended while functions of the program still
	// run for their streams. IdleConnections is how many of them wait for a request of which no
	// byte has arrived.
	OpenConnections, IdleConnections int
	// UpgradedConnections is the number of connections, and of streams of HTTP/2, that
	// RequestCtx.Upgrade or RequestCtx.HijackCounted has given to the program and that are
	// open now.
	UpgradedConnections int
	// AcceptedConnections and RejectedConnections are the numbers of connections that
	// were served, and that were refused because of a limit, since the server began.
	AcceptedConnections, RejectedConnections uint64
	// Requests is the number of requests whose head was read.
	Requests uint64
	// Panics is what Server.GetPanicsCount returns.
	Panics uint64
	// Timeouts counts waits for clients that ended by a timeout: for the next request,
	// for the rest of a request, or for the client to read its response.
	Timeouts uint64
	// AcceptPauses counts how often the server stopped accepting for a while because file
	// descriptors or memory ran out.
	AcceptPauses uint64
	// Listeners are the listeners that are being served, in no particular order.
	Listeners []ListenerStats
	// Event is about the event engine.
	Event EventStats
	// Lifetimes is about GuardLifetimes.
	Lifetimes LifetimeStats
}

// ListenerStats describes a listener of a Server.
type ListenerStats struct {
	// Network and Address are what the listener's Addr returns.
	Network, Address string
	// Engine is EngineBlock or EngineEvent.
	Engine Engine
}

// LifetimeStats has the counters of a Server's LifetimeGuard. They are 0 if nothing is
// guarded. If several servers or GuardPools share a guard, the counters are for all of
// them, except Requests.
type LifetimeStats struct {
	// Requests is the number of requests that were guarded.
	Requests uint64
	// Reports is the number of late uses that were found, including those that were not
	// logged because others at the same place were, and faults in goroutines of a server.
	Reports uint64
	// Held is the number of bytes that the guard holds now: memory of requests that are
	// being served, pages of ended ones, of which only addresses are used, and pages that
	// belong to the program for good, see LifetimeGuard.MaxBytes.
	Held int64
	// Unpaged counts how often bytes were not on pages, although LifetimeGuard.Pages is
	// set, because MaxBytes was reached or the system gave none.
	Unpaged uint64
	// Early counts pages that were used again before LifetimeGuard.Hold had passed. If it
	// grows, MaxBytes is too low for Hold.
	Early uint64
}

// EventStats has the counters of a Server's event engine. Numbers of goroutines, loops
// and connections are current ones.
type EventStats struct {
	// Loops is the number of pollers, 0 while this engine serves nothing. Connections is
	// the number of connections that they serve.
	Loops, Connections int
	// Running is the number of goroutines that serve a connection, Parked the number of
	// those that wait for work. One goroutine of each loop may be neither: it polls.
	Running, Parked int
	// PendingWrites is the number of connections with output that their sockets can't
	// take at the moment.
	PendingWrites int
	// Polls is the number of calls of the poller, Wakeups the number of those that
	// blocked.
	Polls, Wakeups uint64
}

// Stats returns the server's counters. It looks at every connection, so don't call it
// often. Package expvarhandler has a function that publishes them.
func (s *Server) Stats() Stats {
	e := s.event.Counts()
	return Stats{
		OpenConnections:     int(s.stats.open.Load()),
		IdleConnections:     s.idleConns(),
		UpgradedConnections: int(s.stats.upgraded.Load()),
		AcceptedConnections: s.stats.accepted.Load(),
		RejectedConnections: uint64(s.stats.rejected.Load()),
		Requests:            s.stats.requests.Load().sum(),
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
		Lifetimes: s.lifetimes(),
	}
}

func (s *Server) listeners() (all []ListenerStats) {
	var served []*listening
	s.run.mu.Lock()
	for l := range s.run.listeners {
		served = append(served, l)
	}
	s.run.mu.Unlock()
	for _, l := range served { // not under run.mu: Addr may be the program's code
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

// serverStats are the counters of a Server. Those that change with each connection are in
// other cache lines than fields of Server that each request reads.
type serverStats struct {
	requests atomic.Pointer[spread] // see counter
	_        [64]byte
	open     atomic.Int32  // connections that are open, including those in a handshake
	held     atomic.Int32  // those of open that no engine has: see hold
	upgraded atomic.Int64  // connections of Upgrade and HijackCounted
	rejected atomic.Uint32 // connections refused because of a limit
	accepted atomic.Uint64
	panics   atomic.Uint64
	timeouts atomic.Uint64
	pauses   atomic.Uint64
	_        [64]byte
}

// spread is a counter that many processors add to at the same time. Each workspace has
// its part, by engine.Work.Number; only if there are more workspaces, some share one.
type spread [512]struct {
	n atomic.Uint64
	_ [56]byte // a cache line
}

func (c *spread) add(id uint32, n uint64) { c[id%uint32(len(c))].n.Add(n) }

// sum returns the number. c may be nil.
func (c *spread) sum() (n uint64) {
	if c == nil {
		return 0
	}
	for i := range c {
		n += c[i].n.Load()
	}
	return n
}

// counter returns the counter of requests. The first call makes it.
func (s *serverStats) counter() *spread {
	if c := s.requests.Load(); c != nil {
		return c
	}
	s.requests.CompareAndSwap(nil, new(spread)) // unless another goroutine was first
	return s.requests.Load()
}
