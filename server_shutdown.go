package gale

import (
	"context"
	"crypto/tls"
	"maps"
	"net"
	"net/netip"
	"slices"
)

// Shutdown shuts the server down without interrupting requests. It closes the listeners
// and the idle connections, waits until every request of which a byte was read is
// answered, with `Connection: close`, and then closes those connections too. It doesn't
// wait for hijacked connections, except those of HijackCounted and streams of HTTP/2. It tells
// handlers of HijackCounted and Upgrade, and waits until their connections have ended. Serve
// returns nil as soon as its listener is closed, so the program must wait for Shutdown to return.
//
// When it returns nil, no handler, hook, function of AfterSend or Close of a user value runs any
// more, not even for clients that have left. Handlers that have timed out (see TimeoutHandler)
// and goroutines of the program may run on. After Close, Shutdown waits in the same way.
//
// If DrainTime is 0, a request that a client sends on an idle connection at this moment
// is lost, and so is a connection that was not accepted yet.
//
// If DrainTime is set, Shutdown first goes on serving for that time, with `Connection:
// close` in every response. Then it accepts the connections that wait in the queues of
// listeners, and gives new connections up to a second for their first request. Only
// listeners of package net for TCP and UNIX sockets can be drained this way, also with the
// server's TLS. Others are closed at once after DrainTime. RequestCtx.Done of running handlers is closed after that,
// not while the server drains. If the server has no listener and no connection, Shutdown
// doesn't wait.
//
// Shutdown has no time limit; see ShutdownWithContext. It may be called again, and the
// Server may serve again afterwards. Calls during a drain wait for the same drain. A call
// of Serve during a drain serves until the end of the drain.
func (s *Server) Shutdown() error { return s.ShutdownWithContext(context.Background()) }

// ShutdownWithContext is Shutdown, but stops waiting when ctx ends and then returns
// ctx.Err(). Requests in flight go on, their connections are closed after them, and their
// RequestCtx.Done stays closed. See also Close.
//
// If ctx ends during a drain, the drain ends for all calls: after the return the server still
// accepts the connections that wait in the queues of listeners, for up to a second, and then
// stops as after DrainTime, without waiting for the first requests of other new connections.
// Calls of Serve, ServeConn and ListenAndServe that come meanwhile begin when it has stopped. So
// the timeout of ctx should be DrainTime plus the time that requests may take after it.
func (s *Server) ShutdownWithContext(ctx context.Context) error {
	d, first := s.beginDrain()
	defer s.endShutdown(d)
	var drained <-chan struct{}
	if d != nil {
		drained = d.await(ctx, first)
	} else {
		var closes []*listening
		drained, closes = s.stop(nil, 1)
		awaitClosed(ctx, closes)
	}
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// endShutdown notes that a call of Shutdown no longer waits. d is the drain that it waited for,
// or nil.
func (s *Server) endShutdown(d *drain) {
	s.run.mu.Lock()
	defer s.run.mu.Unlock()
	if d == nil || s.run.drain != d {
		s.run.shutdowns--
		return
	}
	d.calls--
	d.desert()
}

// connEpoch returns the epoch for a connection without a listener. While a shutdown waits, that
// is an epoch that has ended, unless Close was called since: that closed what the epoch had.
func (s *Server) connEpoch() uint32 {
	s.awaitDeserted()
	s.run.mu.Lock()
	defer s.run.mu.Unlock()
	if s.run.shutdowns > 0 && s.run.closed != s.engine.Epoch() {
		return s.engine.Epoch() - 1
	}
	return s.engine.Epoch()
}

// stop begins the next epoch, closes connections from which no request was read, and Done of
// requests, and then begins to close the listeners. It returns a channel that is closed when no
// connection is left, and the listeners that it began to close. If d is not nil and another
// goroutine has already ended d, it does nothing. calls is how many calls of Shutdown will wait,
// besides those that wait for a drain.
func (s *Server) stop(d *drain, calls int) (left <-chan struct{}, closes []*listening) {
	left, told, waiters := s.stopEpoch(d, calls)
	for _, w := range waiters {
		w.hurry()
	}
	s.event.LookAtListeners()
	for _, l := range told {
		closes = l.beginClose(closes)
	}
	return left, closes
}

// stopEpoch is stop without closing Done of requests and the listeners. It returns both.
func (s *Server) stopEpoch(d *drain, calls int) (left <-chan struct{}, told []*listening, waiters []*requestDone) {
	left, told, waiters = s.endEpoch(d, calls)
	s.engine.CloseOver()
	s.closeHandshakes()
	return left, told, waiters
}

// endEpoch is the part of stopEpoch that is done under run.mu. It calls no method of a
// connection: that may be the program's, and call the server.
func (s *Server) endEpoch(d *drain, calls int) (left <-chan struct{}, told []*listening, waiters []*requestDone) {
	r := &s.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if d != nil && r.drain != d {
		return d.left, nil, nil
	}
	r.shutdowns += calls
	for l := range r.listeners {
		l.told = true
		told = append(told, l)
	}
	r.h2.leave()
	s.engine.EndEpoch()
	s.event.Stop()
	s.tellTaken()
	if r.drained == nil {
		r.drained = make(chan struct{})
	}
	drained := r.drained
	if d := r.drain; d != nil {
		r.shutdowns += d.calls
		d.left, r.drain = drained, nil
		close(d.over)
	}
	s.checkDrained()
	return drained, told, s.allWaiters()
}

// checkDrained wakes waiting shutdowns if no connection is left and no call of Serve can
// still bring one from before the shutdown. The caller holds run.mu.
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

// Close closes the listeners and all connections at once, even if they serve requests or
// the server drains. It doesn't wait for running handlers; their RequestCtx.Done is closed
// after that, with the cause net.ErrClosed if it was called before. Call Shutdown after Close
// to wait for them. Hijacked connections stay open, except those of HijackCounted and streams
// of HTTP/2. It returns nil.
func (s *Server) Close() error {
	_, told, waiters := s.stopEpoch(nil, 0)
	s.event.LookAtListeners()
	// Connections come first: a handler whose context has ended may return, and what it leaves
	// would be sent as a whole response. A listener may wait for its connections.
	for _, d := range waiters {
		d.endsWith(net.ErrClosed)
	}
	s.engine.CloseAll()
	s.event.CloseAll()
	for _, d := range waiters {
		d.end(net.ErrClosed)
	}
	s.closeAllTaken()
	for _, l := range told {
		l.close()
	}
	return nil
}

// handshaking is a connection in its handshake.
type handshaking struct {
	epoch  uint32
	closed chan struct{} // closed when closeHandshakes has closed it; nil before it begins to
}

// closeHandshakes closes the connections of epochs that have ended that are in their
// handshake. It doesn't hold run.mu while it closes one: leaveHandshake waits for it, so the
// connection can't end, nor its first request be read, meanwhile.
func (s *Server) closeHandshakes() {
	r := &s.run
	r.mu.Lock()
	defer r.mu.Unlock()
	for c, h := range r.handshakes {
		if h.closed != nil || h.epoch == s.engine.Epoch() {
			continue
		}
		h.closed = make(chan struct{})
		r.handshakes[c] = h
		func() {
			r.mu.Unlock()
			defer func() {
				close(h.closed)
				r.mu.Lock()
			}()
			_ = closeCalmly(c)
		}()
	}
}

// enterHandshake registers a connection in its handshake. It returns false if the
// connection's epoch has ended.
func (s *Server) enterHandshake(c *tls.Conn, epoch uint32) bool {
	s.run.mu.Lock()
	defer s.run.mu.Unlock()
	if epoch != s.engine.Epoch() {
		return false
	}
	if s.run.handshakes == nil {
		s.run.handshakes = make(map[*tls.Conn]handshaking)
	}
	s.run.handshakes[c] = handshaking{epoch: epoch}
	return true
}

// leaveHandshake undoes enterHandshake. It returns false if a shutdown has closed the
// connection.
func (s *Server) leaveHandshake(c *tls.Conn) bool {
	s.run.mu.Lock()
	h := s.run.handshakes[c]
	delete(s.run.handshakes, c)
	s.run.mu.Unlock()
	if h.closed == nil {
		return true
	}
	<-h.closed
	return false
}

// allWaiters returns all that addWaiter has registered. The caller holds run.mu.
func (s *Server) allWaiters() []*requestDone { return slices.Collect(maps.Keys(s.run.waiters)) }

// addWaiter registers d until removeWaiter, so that a shutdown that begins in the
// meantime hurries it, and Close ends it. Contexts without a server are not registered.
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
	if s == &noServer {
		return
	}
	s.run.mu.Lock()
	delete(s.run.waiters, d)
	s.run.mu.Unlock()
}

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
	if x, ok := ctx.bringer().(servedExchange); ok {
		return x.listened()
	}
	return nil
}
