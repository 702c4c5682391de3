package h2

// goAway records which GOAWAY frames were sent (RFC 9113 section 6.8).
type goAway struct {
	last uint32 // the stream that the last GOAWAY named; 0 also if there was none
	sent goAwayStep
}

type goAwayStep uint8

const (
	goAwayNone goAwayStep = iota
	goAwayDrain
	goAwayStop
)

// Drain begins a graceful end (RFC 9113 section 6.8): GOAWAY tells the peer to open
// no more streams. Streams that the peer opens before it has received GOAWAY are
// served. A second call does nothing.
func (c *Conn) Drain() {
	if c.goAway.sent == goAwayNone && !c.failed {
		c.goAway = goAway{maxStreamID, goAwayDrain}
		c.control.addGoAway(maxStreamID, NoError)
	}
}

// Stop is the second step: GOAWAY names the last stream that is served. Later
// streams are ignored. A second call does nothing.
func (c *Conn) Stop() {
	if c.goAway.sent != goAwayStop && !c.failed {
		c.goAway = goAway{c.last, goAwayStop}
		c.control.addGoAway(c.last, NoError)
	}
}

// Stopped reports whether Stop was called: no new stream is served.
func (c *Conn) Stopped() bool { return c.goAway.sent == goAwayStop }

// Fail ends the connection with GOAWAY and code, for example after a timeout. From
// then on Read returns Failed, and only control frames are appended. All streams
// are reset; the caller must still call Done for each.
func (c *Conn) Fail(code Code) { c.fail(code) }

func (c *Conn) fail(code Code) {
	if c.failed {
		return
	}
	last := c.last
	if c.goAway.sent == goAwayStop { // the id never increases
		last = c.goAway.last
	}
	c.goAway = goAway{last, goAwayStop}
	c.control.addGoAway(last, code)
	c.failed, c.code = true, code
	c.streams.all(func(st *Stream) bool {
		st.state |= wasReset
		c.turns.leave(st)
		return true
	})
	c.read.drop()
}
