package h2

// isClosed reports whether a stream is closed (RFC 9113 section 5.1). A stream that
// is gone is nil.
func (st *Stream) isClosed() bool {
	return st == nil || st.state&wasReset != 0 || st.state&(peerEnded|ended) == peerEnded|ended
}

// wasClosed reports whether stream id, which isn't idle, is closed. A stream that is
// refused, and so was never open, isn't.
func (c *Conn) wasClosed(id uint32) bool {
	if st := c.streams.find(id); st != nil {
		return st.isClosed()
	}
	how, known := c.closed.of(c.last, id)
	return !known || how != neverOpen
}

// ends records the end of one half of a stream.
func (c *Conn) ends(st *Stream) {
	if st.state&(peerEnded|ended) == peerEnded|ended {
		c.closed.set(c.last, st.id, byEnd)
		c.streams.answered++
	}
}

// endStream ends a stream in both directions because of a reset.
func (c *Conn) endStream(st *Stream) {
	st.state |= wasReset
	c.turns.leave(st)
}

// blame resets a stream because of an error of the peer (RFC 9113 section 5.4.2).
// Such resets are counted, because an attacker may cause them on purpose
// (CVE-2025-8671). If the caller has the stream, it gets an event. A stream that
// was never open becomes closed.
func (c *Conn) blame(id uint32, code Code, ev *Event) {
	if !c.buckets.resetsOut.take(1, resetBurst, resetRate, c.now) {
		c.fail(EnhanceYourCalm)
		return
	}
	if !c.queueReset(id, code) {
		return
	}
	c.closed.set(c.last, id, byUs)
	if st := c.streams.find(id); st != nil {
		c.endStream(st)
		*ev = Event{Kind: Reset, Stream: st, Local: true, Code: code}
	}
}

// blameFrame is blame for a frame that may come on any stream. If the stream isn't
// open, the connection fails.
func (c *Conn) blameFrame(code Code, ev *Event) {
	id := c.read.f.stream
	if c.streams.find(id).isClosed() {
		c.fail(code)
		return
	}
	c.blame(id, code, ev)
}

// ResetStream ends the stream in both directions: RST_STREAM is queued, unless both
// sides have ended already or it was reset. The caller must still call Done. What was
// appended for the stream must still be sent: HEADERS change the peer's table, and DATA has
// taken bytes from the connection's window.
func (c *Conn) ResetStream(st *Stream, code Code) {
	if st.state&wasReset != 0 {
		return
	}
	if st.state&(peerEnded|ended) != peerEnded|ended {
		c.queueReset(st.id, code)
		c.closed.set(c.last, st.id, byUs)
	}
	c.endStream(st)
}

// Done ends the use of a stream: the caller has sent and read everything, or has given
// up. st must not be used afterwards.
//
// In a server, a stream whose response has not ended is reset with INTERNAL_ERROR. If
// only the request has not ended, it is reset with NO_ERROR (RFC 9113 section 8.1), by
// AppendHeld. In a client, a stream that has not ended is reset with CANCEL.
func (c *Conn) Done(st *Stream) {
	switch {
	case c.client:
		c.ResetStream(st, Cancel)
	case st.state&ended == 0:
		c.ResetStream(st, InternalError)
	case st.state&(peerEnded|wasReset) == 0:
		if c.queueReset(st.id, NoError) {
			c.control.hold()
		}
		c.closed.set(c.last, st.id, byUs)
	}
	if st.state&(peerEnded|ended) == peerEnded|ended {
		c.streams.answered--
	}
	c.endStream(st)
	c.shrink(st)
	c.heads -= int32(st.head)
	c.streams.remove(st)
}
