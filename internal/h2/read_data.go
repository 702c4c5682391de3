package h2

// dribble is the length in bytes below which DATA on a closed stream counts as odd.
const dribble = 1024

// beginData takes the bytes from the windows, and decides how the data is handled
// (RFC 9113 section 6.1).
func (c *Conn) beginData(ev *Event) {
	r := &c.read
	if r.f.flags&flagPadded != 0 && r.left == 0 {
		c.fail(FrameSizeError)
		return
	}
	if c.idle(r.f.stream) {
		c.fail(ProtocolError)
		return
	}
	if !c.receive(r.left) {
		return
	}
	st := c.streams.find(r.f.stream)
	if st.isClosed() {
		c.dataOnClosed()
		return
	}
	switch {
	case st.state&peerEnded != 0:
		c.refuseData(StreamClosed, ev)
	case st.state&awaitsHead != 0:
		c.refuseData(ProtocolError, ev)
	case r.left > 0 && int64(r.left) > st.in.window: // which may be negative
		c.refuseData(FlowControlError, ev)
	default:
		st.in.window -= int64(r.left)
		if r.f.flags&flagPadded != 0 {
			r.state = inPadding
			return
		}
		c.checkLength(st, ev)
	}
}

// dataOnClosed drops data that the peer may have sent before it knew that the
// stream was closed. For other data it fails the connection.
func (c *Conn) dataOnClosed() {
	r := &c.read
	r.state = inRest
	how, known := c.closed.of(c.last, r.f.stream)
	if known && how != byUs {
		c.fail(StreamClosed)
		return
	}
	if r.left < dribble {
		c.odd(1)
	}
}

// refuseData resets the stream of a DATA frame, and drops the frame.
func (c *Conn) refuseData(code Code, ev *Event) {
	c.read.state = inRest
	c.blame(c.read.f.stream, code, ev)
}

// paddedData is called when the length of the padding is known. The padding counts
// as consumed as soon as it comes.
func (c *Conn) paddedData(ev *Event) {
	r := &c.read
	r.state = inData
	st := c.streams.find(r.f.stream)
	if st == nil || st.state&wasReset != 0 {
		r.state = inRest
		return
	}
	pad := 1 + r.pad
	st.in.unread += int64(pad)
	c.Consumed(st, pad)
	c.checkLength(st, ev)
}

// checkLength compares the length of the data with Content-Length (RFC 9113 section
// 8.1.1), before the caller gets any of it.
func (c *Conn) checkLength(st *Stream, ev *Event) {
	r := &c.read
	n := int64(r.left - r.pad)
	end := r.f.flags&flagEndStream != 0
	if st.left >= 0 {
		if n > st.left || end && n < st.left {
			c.refuseData(ProtocolError, ev)
			return
		}
		st.left -= n
	}
	if n == 0 && !end {
		r.state = inRest
		if !c.buckets.empty.take(1, emptyBurst, emptyRate, c.now) {
			c.fail(EnhanceYourCalm)
		}
	}
}

// stepData passes data to the caller as it comes.
func (c *Conn) stepData(in []byte, ev *Event) (used int, more bool) {
	r := &c.read
	n := r.left - r.pad
	if len(in) == 0 && n > 0 {
		return 0, false
	}
	used = min(len(in), n)
	r.left -= used
	whole := used == n
	if whole {
		r.state = inRest
	}
	st := c.streams.find(r.f.stream)
	if st == nil || st.state&wasReset != 0 {
		return used, true
	}
	ev.Kind, ev.Stream, ev.Data = Data, st, in[:used:used]
	st.in.unread += int64(used)
	if whole && r.f.flags&flagEndStream != 0 {
		ev.End = true
		st.state |= peerEnded
		c.ends(st)
	}
	return used, true
}
