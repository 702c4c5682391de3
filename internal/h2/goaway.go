package h2

import "encoding/binary"

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
// served. A second call does nothing. It is for servers.
func (c *Conn) Drain() {
	if c.goAway.sent == goAwayNone && !c.failed {
		c.goAway = goAway{maxStreamID, goAwayDrain}
		c.control.addGoAway(maxStreamID, NoError)
	}
}

// Stop is the second step: GOAWAY names the last stream that is served. Later
// streams are ignored. A second call does nothing. A client calls it before it closes
// a connection; it opens no more streams.
func (c *Conn) Stop() {
	if c.goAway.sent != goAwayStop && !c.failed {
		c.goAway = goAway{c.lastOfPeer(), goAwayStop}
		c.control.addGoAway(c.goAway.last, NoError)
	}
}

// lastOfPeer returns the highest id of a stream that the peer has opened. A server
// opens none, because this side never allows it to push.
func (c *Conn) lastOfPeer() uint32 {
	if c.client {
		return 0
	}
	return c.last
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
	last := c.lastOfPeer()
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

// goAwayBy handles GOAWAY (RFC 9113 section 6.8).
func (c *Conn) goAwayBy(b []byte, ev *Event) {
	last, code := dependency(b), Code(binary.BigEndian.Uint32(b[4:]))
	switch {
	case !c.odd(1), c.peer.gone && (!c.client || last == c.peerLast && code == NoError):
		return
	case c.peer.gone && last > c.peerLast: // it never increases
		c.fail(ProtocolError)
		return
	}
	c.peer.gone, c.peerLast = true, last
	ev.Kind, ev.Code = GoAway, code
	if c.client && last < c.last {
		c.dropAfter(last)
	}
}

// dropAfter ends the streams that the peer will not process. The peer may have sent
// frames for them, and ignores all that are sent to it.
func (c *Conn) dropAfter(last uint32) {
	c.streams.all(func(st *Stream) bool {
		if st.id > last && !st.isClosed() {
			c.closed.set(c.last, st.id, byUs)
			c.endUnprocessed(st)
		}
		return true
	})
}

// endUnprocessed ends a stream whose request the peer has not processed, unless it contradicts
// itself: a response has come, even if it is an informational one.
func (c *Conn) endUnprocessed(st *Stream) {
	if st.state&awaitsHead != 0 && st.interims == 0 {
		st.state |= unprocessed
	}
	c.endStream(st)
}
