package h2

// The functions that append a part of a message append nothing if the stream was
// reset or this side has ended it. So a caller needs to check for that only where
// it waits.

// AppendData appends DATA frames with as many bytes of b as the windows allow, and
// returns their number. end says that b ends the body: END_STREAM is set if all of
// b was appended. If n < len(b), the stream has stalled; a Room event says when it
// can continue. Empty data needs no window; without end nothing is appended for it.
func (c *Conn) AppendData(out []byte, st *Stream, b []byte, end bool) (_ []byte, n int) {
	if len(b) == 0 {
		if end {
			out, _ = c.AppendDataHeader(out, st, 0, true)
		}
		return out, 0
	}
	for n < len(b) {
		var took int
		out, took = c.AppendDataHeader(out, st, len(b)-n, end)
		if took == 0 {
			break
		}
		out = append(out, b[n:n+took]...)
		n += took
	}
	return out, n
}

// AppendDataHeader appends the header of one DATA frame for n bytes of up to most,
// which the caller must write next. It is AppendData for a caller that doesn't copy
// the body. END_STREAM is set if end is true and n == most. If n == 0 and most > 0,
// nothing was appended: the stream has stalled, or can't send any more.
func (c *Conn) AppendDataHeader(out []byte, st *Stream, most int, end bool) (_ []byte, n int) {
	if st.state&(wasReset|ended) != 0 {
		return out, 0
	}
	n = most
	if most > 0 {
		n = int(min(int64(most), maxFrame, st.out.window, c.out.window))
		if n <= 0 {
			c.stalls(st)
			return out, 0
		}
		st.out.window -= int64(n)
		c.out.window -= int64(n)
		c.out.credit += 2 * int64(n)
		if n == most || n == maxFrame {
			c.buckets.odd.refund(giveData)
		}
		if st.out.window <= 0 || n < most && n < maxFrame {
			c.stalls(st)
		}
	} else if !end {
		return out, 0
	}
	flags := uint8(0)
	if end && n == most {
		flags = flagEndStream
		c.sentEnd(st)
	}
	return appendFrameHeader(out, n, frameData, flags, st.id), n
}

// stalls records that a window was too small for st. A Room event will say when it
// is larger.
func (c *Conn) stalls(st *Stream) {
	if st.out.window <= 0 {
		c.turns.unlink(st)
		st.place.stalled = true
	}
	if c.out.window <= 0 {
		c.turns.stalled = true
	}
}

// sentEnd records that END_STREAM is sent.
func (c *Conn) sentEnd(st *Stream) {
	st.state |= ended
	c.turns.leave(st)
	c.ends(st)
}

// SendRoom returns how many bytes of data the windows allow st to send now.
func (c *Conn) SendRoom(st *Stream) int {
	return int(max(0, min(st.out.window, c.out.window)))
}
