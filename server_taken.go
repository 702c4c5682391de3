package gale

import "net/netip"

// taken is a connection, or a stream of HTTP/2, that a function of the program has taken
// over and that the server goes on to count: that of HijackCounted, or an upgradePump.
type taken struct {
	leave func() // tells the function that the server drains or stops; may be nil
	close func() // ends the connection at once
	epoch uint32 // of its listener
	told  bool   // under serverRun.mu
}

// tell calls leave, the first time, on a goroutine of its own: leave is code of the program
// and may block. The caller holds run.mu.
func (t *taken) tell(s *Server) {
	if t.told || t.leave == nil {
		return
	}
	t.told = true
	go s.callCalmly("in a function of HijackCounted", t.leave)
}

// callCalmly calls f on the goroutine that was made for it. A panic is logged and counted.
func (s *Server) callCalmly(where string, f func()) {
	panicOnFault()
	defer func() {
		if r := recover(); r != nil {
			s.logPanic(where, r, stack())
		}
	}()
	f()
}

// countTaken counts a connection of l until done is called. If the server already drains
// or stops, it calls leave. If Close has ended the connections of l, it calls close, since Close
// may have found this one neither in the engine nor here.
func (s *Server) countTaken(l *listening, leave, close func()) (done func()) {
	if l == nil { // of no server
		return func() {}
	}
	t := &taken{leave: leave, close: close, epoch: l.epoch}
	s.stats.upgraded.Add(1)
	r := &s.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taken == nil {
		r.taken = make(map[*taken]struct{})
	}
	r.taken[t] = struct{}{}
	if l.stops(s) {
		t.tell(s)
	}
	s.closeTaken(t)
	return func() {
		s.stats.upgraded.Add(-1)
		r.mu.Lock()
		delete(r.taken, t)
		r.mu.Unlock()
	}
}

// tellTaken tells all that were taken over that the server drains or stops. The caller
// holds run.mu, and has changed the epoch before.
func (s *Server) tellTaken() {
	for t := range s.run.taken {
		t.tell(s)
	}
}

// closeAllTaken closes all of epochs that have ended that were taken over.
func (s *Server) closeAllTaken() {
	s.run.mu.Lock()
	defer s.run.mu.Unlock()
	s.run.closed = s.engine.Epoch()
	for t := range s.run.taken {
		s.closeTaken(t)
	}
}

// closeTaken closes t if Close was called after the end of its epoch. It doesn't wait: closing
// may block. The caller holds run.mu.
func (s *Server) closeTaken(t *taken) {
	if t.epoch < s.run.closed {
		go s.callCalmly("closing a connection", t.close)
	}
}

// hold counts a connection that is already counted, and that its worker will dismiss, once
// more, because the program goes on with it: HijackCounted, or streams of HTTP/2 after the end
// of their connection. The caller passes ip to unhold.
func (s *Server) hold(ip netip.Addr) {
	if ip.IsValid() {
		s.perIP.again(ip)
	}
	s.stats.open.Add(1)
	s.stats.held.Add(1)
}

// unhold undoes hold.
func (s *Server) unhold(ip netip.Addr) {
	s.stats.held.Add(-1)
	s.dismiss(ip)
}

// listening returns where the connection of the request came from, nil if no Server has
// brought it.
func (ctx *RequestCtx) listening() *listening {
	switch x := ctx.bringer().(type) {
	case *h1Session:
		return x.l
	case *h2Stream:
		return x.ss.l
	}
	return nil
}
