package h2

import "encoding/binary"

// smallFrame handles a frame whose payload b is complete, or is its beginning.
func (c *Conn) smallFrame(b []byte, ev *Event) {
	switch c.read.f.typ {
	case framePriority:
		c.priority(b, ev)
	case frameReset:
		c.resetBy(Code(binary.BigEndian.Uint32(b)), ev)
	case framePing:
		c.ping(b, ev)
	case frameGoAway:
		c.goAwayBy(b, ev)
	case frameWindowUpdate:
		c.windowUpdate(b, ev)
	case framePriorityUpdate:
		c.priorityUpdate(b)
	}
}

// ping handles PING (RFC 9113 section 6.7).
func (c *Conn) ping(b []byte, ev *Event) {
	ack := c.read.f.flags&flagAck != 0
	switch {
	case ack && c.peer.pings > 0:
		c.peer.pings--
		ev.Kind, ev.Data = Pong, b
	case c.odd(1) && !ack:
		c.queueFrame(framePing, flagAck, 0, b)
	}
}

func (c *Conn) beginSettings() {
	r := &c.read
	ack := r.f.flags&flagAck != 0
	switch {
	case ack && r.left > 0, r.left%settingLen != 0:
		c.fail(FrameSizeError)
	case ack:
		r.state = inRest
		c.settingsAck()
	case c.greeted:
		c.odd(1)
	}
}

// stepSettings reads a setting, and ends the frame after the last one.
func (c *Conn) stepSettings(in []byte, ev *Event) (used int, more bool) {
	r := &c.read
	if r.left == 0 {
		r.state = inFrameHeader
		c.settingsEnd(ev)
		return 0, true
	}
	b, used := r.take(in, settingLen)
	if b == nil {
		return used, false
	}
	r.left -= settingLen
	c.setting(b)
	return used, true
}

// priority handles PRIORITY (RFC 9113 section 6.3), which has no meaning any more.
func (c *Conn) priority(b []byte, ev *Event) {
	if c.odd(1) && dependency(b) == c.read.f.stream {
		c.blameFrame(ProtocolError, ev)
	}
}

// resetBy handles RST_STREAM (RFC 9113 section 6.4).
func (c *Conn) resetBy(code Code, ev *Event) {
	id := c.read.f.stream
	if c.idle(id) {
		c.fail(ProtocolError)
		return
	}
	st := c.streams.find(id)
	// A second reset costs nothing. A client limits the resets of a server by what it opens.
	if st == nil || st.state&(wasReset|ended) != 0 || c.client {
		c.odd(1)
	} else if !c.buckets.resetsIn.take(1, resetBurst, resetRate, c.now) {
		c.fail(EnhanceYourCalm)
	}
	if c.failed || st == nil || st.state&wasReset != 0 || c.client && st.isClosed() {
		return
	}
	c.closed.set(c.last, id, byPeer)
	if code == RefusedStream {
		c.endUnprocessed(st)
	} else {
		c.endStream(st)
	}
	ev.Kind, ev.Stream, ev.Code = Reset, st, code
}
