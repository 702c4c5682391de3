package load

import (
	"time"
)

// The kinds of errors. Expectations add theirs.
const (
	kindConnect     = "connect"
	kindTLS         = "tls"
	kindUpgrade     = "upgrade" // the handshake of WebSocket
	kindTimeout     = "timeout"
	kindReset       = "reset"
	kindClosedEarly = "closed early"
	kindBadResponse = "bad response"
	kindRequest     = "bad request" // it can't be sent over HTTP/2
	kindEcho        = "echo"        // of WebSocket: another message came back
)

// open begins to open c, unless no more requests are needed.
func (l *loop) open(c *conn) {
	if l.over() && len(c.again) == 0 {
		c.since = l.now + int64(backOff)
		return
	}
	c.state, c.since = stateConnecting, l.now
	err := l.net.open(c.slot, c.gen, c.server.endpoint, l.run.source(c))
	switch {
	case err == errAgain:
		c.state, c.since = stateClosed, l.now+int64(backOff)
	case err != nil:
		l.failOpen(c, err.Error())
	}
}

// over reports whether no further request will begin.
func (l *loop) over() bool {
	return l.started && (l.now >= l.run.end.Load() ||
		l.run.plan.Count > 0 && l.run.schedule == nil && l.tickets == 0 && l.run.tickets.Load() <= 0)
}

// settle counts that the first attempt to connect has ended.
func (l *loop) settle(c *conn) {
	if c.tried {
		return
	}
	c.tried = true
	if l.settled++; l.settled == len(l.conns) {
		l.run.ready.Done()
	}
}

// failOpen is called when a connection could not be opened.
func (l *loop) failOpen(c *conn, text string) {
	kind := kindConnect
	switch c.state {
	case stateHandshaking:
		kind = kindTLS
	case stateUpgrading:
		kind = kindUpgrade
	}
	l.fault(kind, text)
	l.countUnconnected(c)
	l.settle(c)
	l.shut(c, true)
	c.since = l.now + int64(backOff)<<min(c.fails, maxFails)
	c.fails = min(c.fails+1, maxFails)
	l.scanAt = min(l.scanAt, c.since)
}

// connected is called when TCP is connected, or isn't.
func (l *loop) connected(c *conn) {
	if err := l.net.connected(c.slot); err != nil {
		l.failOpen(c, err.Error())
		return
	}
	l.clock()
	l.tally.connect.Add(time.Duration(l.now - c.since))
	if config := l.run.targets[c.server.targets[0]].config; config != nil {
		l.handshake(c, config)
		return
	}
	l.opened(c)
}

// opened is called when c can take requests.
func (l *loop) opened(c *conn) {
	if c.websocket != nil && c.state != stateUpgrading {
		l.upgrade(c)
		return
	}
	c.state, c.since = stateOpen, l.now
	c.fails, c.sent, c.served, c.closing, c.saidClose = 0, 0, 0, false, false
	l.tally.opened++
	if c.opened {
		l.tally.reopened++
	}
	c.opened = true
	l.run.opened.Store(l.now)
	l.run.connections.Add(1)
	l.settle(c)
	if c.http2 != nil {
		l.beginHTTP2(c)
	}
	if l.started && c.state == stateOpen && !c.pausing && c.websocket == nil { // a WebSocket is filled by proceed
		l.fill(c)
	}
}

// shut closes the socket of c and forgets all that belongs to it.
func (l *loop) shut(c *conn, reset bool) {
	l.net.close(c.slot, reset)
	if c.state == stateOpen || c.state == stateEnding {
		l.run.connections.Add(-1)
	}
	c.gen++
	c.state, c.since = stateClosed, 0
	c.out = [2][]byte{}
	l.giveBack(c)
	c.rest = c.rest[:0]
	if c.own != nil {
		c.own.Reset()
	}
	c.in.active = false
	if c.http2 != nil {
		c.http2.conn.End()
	}
	if w := c.websocket; w != nil {
		w.active, w.pongs = false, w.pongs[:0]
	}
	if c.tls != nil {
		c.tls.pipe.end()
		c.tls = nil
	}
}

// reopen replaces the socket of c by another one. Nothing is in flight.
func (l *loop) reopen(c *conn, reset bool) {
	idle := c.served == 0 && c.sent == 0
	l.shut(c, reset)
	if idle { // A server that closes what it accepts must not keep the loop busy.
		c.since = l.now + int64(backOff)
		l.scanAt = min(l.scanAt, c.since)
		return
	}
	l.open(c)
}

// lose ends c and what is in flight on it.
func (l *loop) lose(c *conn, kind, text string) {
	if c.state == stateUpgrading {
		l.failOpen(c, text)
		return
	}
	if c.saidClose && (kind == kindClosedEarly || kind == kindReset) && !c.in.active && len(c.rest) == 0 {
		l.refuseFlight(c, text)
		l.reopen(c, true)
		return
	}
	if c.inFlight() == 0 {
		l.fault(kind, text)
	}
	for c.inFlight() > 0 {
		e := l.takeBack(c)
		l.fail(&e, kind, text)
	}
	l.reopen(c, true)
}

// takeBack takes a request that is in flight from c.
func (l *loop) takeBack(c *conn) exchange {
	l.flying--
	if p := c.http2; p != nil {
		s := p.live[len(p.live)-1]
		l.endStream(c, s)
		return s.exchange
	}
	if c.websocket != nil {
		return l.popMessage(c)
	}
	return c.flight.pop()
}

// fault counts an error of a connection that has no request in flight.
func (l *loop) fault(kind, text string) {
	if l.counting() {
		l.tally.errors.add(kind, text, 1)
	}
	l.tally.slice.errors.add(kind, text, 1)
}

// countUnconnected counts an attempt to open c that failed. It counts for each URL of the
// server, and in an open loop for the step of this time.
func (l *loop) countUnconnected(c *conn) {
	l.tally.slice.notConnected++
	if !l.counting() {
		return
	}
	step := 0
	if l.run.schedule != nil && l.started {
		step = l.run.schedule.stepAt(time.Duration(l.now - l.run.begin))
	}
	l.tally.steps[step].requests.NotConnected++
	for i := range l.tally.targets {
		if l.run.targets[i].server == c.server.id {
			l.tally.targets[i].requests.NotConnected++
		}
	}
}

// fail counts a request without a complete response.
func (l *loop) fail(e *exchange, kind, text string) {
	l.countError(e, kind, text)
	l.settleExchange(e, failed)
}

// countError counts the error of a request.
func (l *loop) countError(e *exchange, kind, text string) {
	if e.step != uncounted {
		l.tally.errors.add(kind, text, 1)
	}
	l.tally.slice.errors.add(kind, text, 1)
}

// counting reports whether the counted time has begun.
func (l *loop) counting() bool { return !l.started || l.now >= l.run.begin }

// settleExchange counts what became of a request.
func (l *loop) settleExchange(e *exchange, o outcome) {
	d := l.now - e.start
	s := l.tally.slice
	if o == good {
		if s.good == 0 {
			s.first = l.now
		}
		s.good++
		s.last = l.now
	} else {
		s.bad++
	}
	complete := o == good || o == unexpected
	if complete || l.run.schedule != nil {
		s.latency.Add(time.Duration(d))
	}
	if e.step == uncounted {
		return
	}
	l.tally.count(e, o, d, complete || l.run.schedule != nil)
	l.tally.last = l.now
	l.done++
}
