package gale

import (
	"cmp"
	"io"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/h2"
)

// The times of the upkeep of a connection. They are multiples of h2Tick.
const (
	h2Tick = 5 * time.Second
	// h2Overdue is how long no byte may come while calls wait, before a PING asks whether
	// the server still lives. After a PING that was answered without anything else, the
	// next one comes after h2NextPing: servers of gRPC end connections with more of them.
	h2Overdue  = 15 * time.Second
	h2NextPing = 5 * time.Minute
	// h2PingLimit is how long the answer to a PING may take.
	h2PingLimit = 10 * time.Second
	// h2SettingsLimit is how long the server may take to send its SETTINGS and to
	// acknowledge those of the client.
	h2SettingsLimit = 10 * time.Second
	// h2HeadLimit is how long a field block may take from its first to its last byte. No
	// other stream gets anything meanwhile. h2FrameLimit is the same for other frames.
	h2HeadLimit  = 30 * time.Second
	h2FrameLimit = 60 * time.Second
	// h2WriteLimit is how long one write may take.
	h2WriteLimit = 15 * time.Second
	// h2EndLimit is how long the last write of a connection may take.
	h2EndLimit = 2 * time.Second
)

// h2Upkeep looks after a connection: one timer, which fires every h2Tick while there are
// calls, and otherwise when the connection has been idle for too long. Calls read no clock
// for it: it compares counters with those of the tick before. sharedConn.mu guards it.
type h2Upkeep struct {
	timer *time.Timer
	long  bool // the timer fires after more than h2Tick

	busy   bool          // there were calls at the last tick
	in     clock.Tick    // sharedConn.lastIn at the last tick
	quiet  time.Duration // how long no byte has come while there were calls
	pinged bool          // a PING has no answer yet
	answer bool          // nothing came since the last PING except its answer
	writes uint64        // sharedConn.writes at the last tick
	stuck  time.Duration // how long that write has taken
}

func (u *h2Upkeep) begin(hc *sharedConn) {
	hc.mu.Lock()
	u.in = hc.idleSince()
	u.timer = time.AfterFunc(h2Tick, hc.tick)
	hc.mu.Unlock()
}

func (u *h2Upkeep) end() {
	if u.timer != nil {
		u.timer.Stop()
	}
}

// wakeUp makes the timer of an idle connection fire soon enough for a call, under mu.
func (u *h2Upkeep) wakeUp() {
	if u.long {
		u.long = false
		u.timer.Reset(h2Tick)
	}
}

// hurry makes the timer fire when the end of the connection must be done, under mu.
func (u *h2Upkeep) hurry(hc *sharedConn) {
	u.long = false
	u.timer.Reset(h2EndLimit)
}

// pong handles the answer to a PING, under mu.
func (u *h2Upkeep) pong() {
	u.pinged, u.answer = false, true
}

// tick is called by the timer.
func (hc *sharedConn) tick() { hc.upkeepAt(clock.Ticks()) }

// upkeepAt does the upkeep, and says when it comes again.
func (hc *sharedConn) upkeepAt(now clock.Tick) {
	hc.mu.Lock()
	err, expired := hc.check(now)
	if err == nil && hc.stage != sharedOver {
		hc.rearm(now)
	}
	if expired {
		hc.advance(sharedRetired)
		hc.maybeEnd()
	}
	if hc.proto.Failed() && hc.stage < sharedEnding {
		hc.failAll()
	}
	hc.out = hc.proto.AppendControl(hc.out)
	mine := err == nil && hc.claim()
	hc.wakeAll()
	hc.unlock()
	if expired {
		hc.c.countExpired()
	}
	if mine {
		hc.flushApart()
	}
	if err != nil {
		hc.end(err)
	}
}

// check looks for what takes too long, under mu. It returns the error that ends the
// connection at once, and whether it was idle for too long.
func (hc *sharedConn) check(now clock.Tick) (err error, expired bool) {
	u := &hc.upkeep
	since := func(t clock.Tick) time.Duration { return time.Duration(now - t) }
	switch {
	case hc.stage == sharedOver:
		return nil, false
	case hc.stage == sharedEnding:
		return cmp.Or(hc.cause, io.ErrUnexpectedEOF), false
	case !hc.proto.Settled() && since(hc.created) >= h2SettingsLimit:
		hc.proto.Fail(h2.SettingsTimeout)
		return nil, false
	case hc.proto.InHead() && since(hc.proto.HeadSince()) >= h2HeadLimit,
		hc.proto.InFrame() && since(hc.proto.FrameSince()) >= h2FrameLimit:
		hc.proto.Fail(h2.EnhanceYourCalm)
		return nil, false
	}
	u.stuck += h2Tick
	if !hc.writing || hc.writes != u.writes {
		u.writes, u.stuck = hc.writes, 0
	}
	if u.stuck >= h2WriteLimit {
		return ErrTimeout, false
	}
	if hc.proto.Streams() == 0 {
		u.busy = false
		if !hc.writing && since(hc.idleSince()) >= hc.c.maxIdle() {
			return nil, true
		}
		hc.rest()
		return nil, false
	}
	return hc.probe(), false
}

// probe sends a PING if nothing has come for too long while calls wait, under mu. Its error says that the
// server hasn't answered one.
func (hc *sharedConn) probe() error {
	u, in := &hc.upkeep, hc.idleSince()
	came := in != u.in
	u.in = in
	if hc.lively || !u.busy {
		hc.lively, u.answer = false, false
	}
	if came || !u.busy {
		u.busy, u.quiet = true, 0
		return nil
	}
	u.quiet += h2Tick
	limit := h2Overdue
	if u.answer {
		limit = h2NextPing
	}
	switch {
	case u.pinged && u.quiet >= limit+h2PingLimit:
		return io.EOF
	case !u.pinged && u.quiet >= limit:
		u.pinged = true
		hc.proto.Ping([8]byte{'g', 'a', 'l', 'e'})
	}
	return nil
}

// rest gives back memory that an idle connection doesn't need, under mu.
func (hc *sharedConn) rest() {
	hc.proto.Rest()
	if !hc.writing {
		if cap(hc.out) > keepH2Sent && len(hc.out) == 0 {
			hc.out = nil
		}
		if cap(hc.spare) > keepH2Sent {
			hc.spare = nil
		}
	}
}

// rearm starts the timer again, under mu.
func (hc *sharedConn) rearm(now clock.Tick) {
	u := &hc.upkeep
	d := h2Tick
	if hc.proto.Streams() == 0 && hc.proto.Settled() && !hc.writing && !hc.proto.InFrame() {
		d = max(hc.c.maxIdle()-time.Duration(now-hc.idleSince()), time.Millisecond)
	}
	u.long = d > h2Tick
	u.timer.Reset(d)
}
