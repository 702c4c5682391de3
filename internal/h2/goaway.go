package h2

// goAway says what the peer was told about the end of the connection (RFC 9113 section 6.8).
type goAway struct {
	last uint32 // what the last GOAWAY named; 0 also if there was none
	sent goAwayStep
}

type goAwayStep uint8

const (
	goAwayNone goAwayStep = iota
	goAwayDrain
	goAwayStop
)

// Drain begins a graceful end (RFC 9113 section 6.8): GOAWAY tells the peer to open no
// more streams, and all that it opens until it knows are served. It does nothing the second time.
func (c *Conn) Drain() {
	if c.goAway.sent == goAwayNone && !c.failed {
		c.goAway = goAway{maxStreamID, goAwayDrain}
		c.control.addGoAway(maxStreamID, NoError)
	}
}

// Stop is the second step: GOAWAY names the last stream that is served. Those that are
// opened later are ignored. It does nothing the second time.
func (c *Conn) Stop() {
	if c.goAway.sent != goAwayStop && !c.failed {
		c.goAway = goAway{c.last, goAwayStop}
		c.control.addGoAway(c.last, NoError)
	}
}

// Stopped reports whether Stop was called: no new stream is served.
func (c *Conn) Stopped() bool { return c.goAway.sent == goAwayStop }

// Fail ends the connection with GOAWAY and code, as a time-out may: Read returns Failed
// from then on, and nothing more is appended but control frames. All streams are reset;
// Done is still to be called for each.
func (c *Conn) Fail(code Code) { c.fail(code) }

func (c *Conn) fail(code Code) {
	if c.failed {
		return
	}
	last := c.last
	if c.goAway.sent == goAwayStop { // it never rises
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
