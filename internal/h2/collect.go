package h2

// Bodies that a server or a client collects. All of a body has arrived before the program gets
// it, so its bytes can't be given back to the window while it is read. Instead the window of the
// stream grows until the body fits. That growth counts for Config.ConnWindow, as all growth
// does, so a connection can't make the library hold more than that in bodies that have
// not all arrived, except for the first windows of its streams and the rest of one body.

// Collect makes room for more of a body that the caller keeps as it arrives, without
// Consumed. The caller calls it before it keeps the first bytes, and after each Data event.
// Until Collected or Done it counts as memory of the connection.
//
// A peer that announces a length gets room for all of it at once, as long as such
// announcements take half of Config.ConnWindow at most. Otherwise there is as much room as
// has already arrived. A stream for which Config.ConnWindow leaves no room waits, see Waits.
// One stream at a time may go beyond it, so that streams that all have a part of their
// bodies never wait for each other.
func (c *Conn) Collect(st *Stream) {
	f := &st.in
	window := f.window - c.excess()
	if st.left >= 0 && st.left <= window || st.state&(peerEnded|wasReset) != 0 || c.failed {
		return
	}
	most := min(int64(c.cfg.StreamWindowMax), maxWindow-f.credit)
	more := min(st.left, most) - window
	if st.left < 0 || c.grown+more > int64(c.cfg.ConnWindow)/2 {
		ahead := min(max(f.unread, int64(c.cfg.StreamWindow)), most)
		if window > ahead/2 {
			return
		}
		if more = ahead - window; st.left >= 0 {
			more = min(more, st.left-window)
		}
	}
	if more <= 0 {
		return
	}
	if c.grown+more > int64(c.cfg.ConnWindow) {
		if c.beyond == nil {
			c.beyond = st
		}
		if c.beyond != st {
			c.wait(st)
			return
		}
	}
	c.grown += more
	f.size += more
	f.credit += more
	c.giveBack(st)
}

// Collected says that the caller doesn't keep the body of st any more: its handler has it,
// or it was dropped. Done says that, too.
func (c *Conn) Collected(st *Stream) {
	c.shrink(st)
	f := &st.in
	f.unread, f.credit = 0, max(f.size-f.window, 0)
	c.Consumed(st, 0) // the peer may send on if the body was dropped
}

// shrink ends the collection of a body. The peer may still use the window that it has.
func (c *Conn) shrink(st *Stream) {
	f := &st.in
	c.grown -= f.size - int64(c.cfg.StreamWindow)
	f.size = int64(c.cfg.StreamWindow)
	if c.beyond == st {
		c.beyond = nil
	}
	c.unwait(st)
}

// Waits reports whether st has to wait until there is room for the rest of its body. The
// peer is not to blame for that.
func (st *Stream) Waits() bool { return st.state&waits != 0 }

// Allowed returns how many bytes of data the peer may send on a stream of Collect in all,
// with those that have come.
func (st *Stream) Allowed() int64 { return st.in.size }

func (c *Conn) wait(st *Stream) {
	if st.state&waits == 0 {
		st.state |= waits
		c.waiting++
	}
}

func (c *Conn) unwait(st *Stream) {
	if st.state&waits != 0 {
		st.state &^= waits
		c.waiting--
	}
}

// HasWaiting reports whether Waits is true for a stream.
func (c *Conn) HasWaiting() bool { return c.waiting != 0 }

// Resume makes room for the stream that has opened first of those that wait, and returns
// it. It returns nil if there is no room or no such stream. It is called again and again
// after Collected and Done, which make room.
func (c *Conn) Resume() *Stream {
	if !c.HasWaiting() {
		return nil
	}
	first := (*Stream)(nil)
	c.streams.all(func(st *Stream) bool {
		if st.Waits() && (first == nil || st.id < first.id) {
			first = st
		}
		return true
	})
	c.unwait(first)
	if c.Collect(first); first.Waits() {
		return nil
	}
	return first
}
