package ws

import (
	"io"
	"math"
	"net"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/wsframe"
)

// session is a Socket as the server sees it.
//
// Each method begins with enter and ends with leave. Between them output is collected:
// any goroutine appends it to UpgradedConn.Out, with mu held. At other times, and when the
// connection must write first, output goes to the queue.
type session Socket

var _ gale.UpgradeHandler = (*session)(nil)

// Opened begins the WebSocket.
func (ss *session) Opened(c *gale.UpgradedConn) {
	s, done := (*Socket)(ss), false
	defer func() {
		if !done {
			s.panicked()
		}
	}()
	p := s.params
	s.c = c
	c.SetWriteTimeout(p.writeTimeout)
	p.stats.accepted.Add(1)
	p.stats.open.Add(1)
	now := s.enter()
	s.begins(now)
	s.h.OnOpen(s)
	s.leave(now)
	done = true
}

// Received handles bytes that have arrived, and output of other goroutines.
func (ss *session) Received(c *gale.UpgradedConn, in []byte) (n int) {
	s, done := (*Socket)(ss), false
	defer func() {
		if !done {
			s.panicked()
		}
	}()
	now := s.enter()
	landed := c.Landed()
	if landed > 0 || len(in) > int(s.rest) {
		s.hear(now)
	}
	if landed > 0 {
		s.land(landed)
	}
	n = s.read(in, now)
	s.rest = uint32(len(in) - n)
	s.leave(now)
	done = true
	return n
}

// Stalled is called instead of Received if nothing arrives.
func (ss *session) Stalled(_ *gale.UpgradedConn, why error) {
	s, done := (*Socket)(ss), false
	defer func() {
		if !done {
			s.panicked()
		}
	}()
	now := s.enter()
	if ne, ok := why.(net.Error); !ok || !ne.Timeout() {
		s.mu.Lock()
		if s.set(sentClose); why == io.EOF {
			s.set(lastly)
		} else {
			s.set(broken)
		}
		s.mu.Unlock()
	}
	s.leave(now)
	done = true
}

// Closed ends the WebSocket.
func (ss *session) Closed(_ *gale.UpgradedConn, err error) {
	s := (*Socket)(ss)
	s.mu.Lock()
	s.set(over | sentClose)
	if q := s.q; q != nil {
		q.wake()
		q.release()
		s.q = nil
	}
	if s.z != nil {
		s.z.in.Free()
		s.z.out.Free()
		s.z = nil
	}
	switch {
	case s.end != nil && !s.is(aborted):
		err = s.end
	case s.is(aborted):
		err = ErrClosed
	case err == nil:
		err = io.ErrUnexpectedEOF // the peer ended its side without a close frame
	}
	s.mu.Unlock()
	s.dropMessage()
	s.params.stats.open.Add(-1)
	s.subs.end()
	s.h.OnClose(s, err)
}

// hear notes that something was received.
func (s *Socket) hear(now clock.Tick) {
	if s.is(timed) {
		return
	}
	s.heard = now
	if s.is(pinged) {
		s.mu.Lock()
		s.unset(pinged)
		s.mu.Unlock()
	}
}

// enter begins a method of session.
func (s *Socket) enter() (now clock.Tick) {
	now = clock.Ticks()
	s.mu.Lock()
	if s.is(outLeft) && !s.is(timed) {
		s.heard = now // nothing was read while output waited
	}
	s.unset(woken | outLeft)
	s.set(inCall)
	s.moveQueue()
	s.mu.Unlock()
	return now
}

// leave ends a method of session: it looks at the time limits, and tells the connection
// what to do next.
func (s *Socket) leave(now clock.Tick) {
	s.mu.Lock()
	for s.is(flushing) {
		s.queue().wait()
	}
	if !s.is(sentClose) && s.c.Stopping() {
		s.sendClose(StatusGoingAway, "the server shuts down")
	}
	s.watchTime(now)
	c, wake := s.c, false
	switch waits := s.q.size() > 0; {
	case s.is(aborted):
		c.Abort()
	case s.is(broken):
	case s.is(lastly) && !waits && !s.is(outLeft):
		c.Close()
	case len(*c.Out()) > gale.OutLimit:
		s.set(outLeft)
	case waits && !s.is(outLeft):
		wake = !s.is(woken)
		s.set(woken)
	}
	s.unset(inCall | outOpen | outFull)
	if q := s.q; q != nil && q.waiters == 0 && q.size() == 0 {
		q.release()
		s.q = nil
	}
	s.mu.Unlock()
	if wake {
		c.Wake()
	}
	s.readAhead()
}

// watchTime does what is due, and sets the time of the next call of Stalled. mu is held.
func (s *Socket) watchTime(now clock.Tick) {
	p := s.params
	life := s.lifetime(now)
	if !s.is(sentClose) && life <= 0 {
		p.stats.lifetimeClosed.Add(1)
		s.sendClose(StatusGoingAway, "the WebSocket has been open for too long")
	}
	if s.is(sentClose) {
		s.watchClosing(now)
		return
	}
	wait, ping := s.silence()
	if wait > 0 && now >= s.heard.Add(wait) {
		switch {
		case !s.is(outOpen): // the connection has output to write
		case ping:
			s.put(wsframe.Ping, false, nil)
			s.set(pinged)
		default:
			p.stats.idleClosed.Add(1)
			s.sendClose(StatusGoingAway, "nothing was received for too long")
			s.set(lastly)
			return
		}
		s.heard = now
		wait, _ = s.silence()
	}
	due := life
	if wait > 0 {
		due = min(due, time.Duration(s.heard.Add(wait)-now))
	}
	if due == math.MaxInt64 {
		s.c.SetTimeout(0)
		return
	}
	s.c.SetTimeout(max(due, time.Millisecond))
}

// coarse is the unit of Socket.expiry, about 17 ms: an instant fits into 32 bits.
const coarse = 1 << 24

// begins sets the end of the Socket's life. There is none after more than a year.
func (s *Socket) begins(now clock.Tick) {
	s.heard = now
	if life := s.params.maxLifetime; life > 0 && life/coarse < math.MaxInt32 {
		s.expiry = uint32((now.Add(life)+coarse-1)/coarse) | 1 // 0 means never
	}
}

// lifetime returns how long the Socket may still live.
func (s *Socket) lifetime(now clock.Tick) time.Duration {
	if s.expiry == 0 {
		return math.MaxInt64
	}
	left := int32(s.expiry - uint32(now/coarse))
	return time.Duration(left) * coarse
}

// silence returns how long after heard something must be done; 0 means never. ping says
// that it is a ping; otherwise the connection is closed.
func (s *Socket) silence() (wait time.Duration, ping bool) {
	ping, idle := false, s.params.idleTimeout
	interval := s.params.pingInterval
	switch {
	case interval == 0 || idle > 0 && interval >= idle:
		return idle, false
	case idle > 0 && s.is(pinged):
		return idle - interval, false
	}
	return interval, true
}

// watchClosing limits how long the closing handshake takes. mu is held.
func (s *Socket) watchClosing(now clock.Tick) {
	limit := s.params.closeTimeout
	if !s.is(timed) {
		s.set(timed)
		s.heard = now.Add(limit)
		if t := s.params.writeTimeout; t == 0 || t > limit {
			s.c.SetWriteTimeout(limit)
		}
	}
	if now >= s.heard {
		s.set(broken)
		s.c.Abort()
		return
	}
	s.c.SetTimeout(max(time.Duration(s.heard-now), time.Millisecond))
}
