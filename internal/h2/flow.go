package h2

import "encoding/binary"

// connFlow is the window of a connection in one direction (RFC 9113 section 5.2).
type connFlow struct {
	window int64 // how much data may still be sent
	// credit is what was received, and not given back to the peer yet. Of what we send it
	// is what the peer may give back, see givesBack.
	credit int64
	// initial is the window of a stream that is opened now.
	initial int64
}

// streamFlow is the window for what the peer sends on a stream.
type streamFlow struct {
	window int64 // how much data may still come; negative after SETTINGS that reduce it
	unread int64 // has come, and was not consumed
	credit int64 // was consumed, and not given back to the peer yet
	size   int64 // that of the whole window
}

// receive takes n bytes of the connection's window, and gives them back when they are many.
// It reports false if the connection has failed.
func (c *Conn) receive(n int) bool {
	if int64(n) > c.in.window {
		c.fail(FlowControlError)
		return false
	}
	c.in.window -= int64(n)
	c.in.credit += int64(n)
	if c.in.credit < int64(c.cfg.ConnWindow)/4 {
		return true
	}
	n = int(c.in.credit)
	c.in.window += c.in.credit
	c.in.credit = 0
	return c.queueWindowUpdate(0, n)
}

// Consumed tells that the program took n bytes of a request's body, so that the peer may
// send more (RFC 9113 section 5.2). A caller that drops data calls it too. A peer that has
// room for all that Content-Length promises isn't told: it would only cost both a frame.
func (c *Conn) Consumed(st *Stream, n int) {
	f := &st.in
	f.unread -= int64(n)
	f.credit += int64(n)
	if f.credit < f.share() || st.left >= 0 && st.left <= f.window || st.state&(peerEnded|wasReset) != 0 || c.failed {
		return
	}
	if f.unread <= 0 { // the program waits for the peer
		c.grow(f)
	}
	c.giveBack(st)
}

// largeWindow is from which size on, in bytes, a quarter of a window is worth a frame.
const largeWindow = 1 << 20

// share is how much credit is given back at once: half of a window, and less of a large
// one. The peer may be so far away that it has sent the rest before it hears of that.
func (f *streamFlow) share() int64 {
	if f.size > largeWindow {
		return f.size / 4
	}
	return max(f.size/2, 1)
}

// grow doubles the window of a stream, as far as its bound allows, and that for all streams
// of the connection: a program that reads no more leaves data in what has grown.
func (c *Conn) grow(f *streamFlow) {
	more := min(f.size, int64(c.cfg.StreamWindowMax)-f.size, int64(c.cfg.ConnWindow)-int64(c.grown))
	if more <= 0 {
		return
	}
	c.grown += int32(more)
	f.size += more
	f.credit += more
}

// giveBack tells the peer that it may send what the stream has as credit.
func (c *Conn) giveBack(st *Stream) {
	f := &st.in
	n := int(f.credit)
	f.window += f.credit
	f.credit = 0
	c.queueWindowUpdate(st.id, n)
}

// ExpectAll lets the peer send the whole body of a request, as long as Content-Length says
// that it is and StreamWindowMax allows, before it hears of WINDOW_UPDATE again. It is for
// callers that call Consumed for all data as it comes.
func (c *Conn) ExpectAll(st *Stream) {
	f := &st.in
	need := min(st.left, int64(c.cfg.StreamWindowMax)) - f.window
	if need <= 0 || st.state&(peerEnded|wasReset) != 0 || c.failed {
		return
	}
	f.credit = max(f.credit, need)
	c.giveBack(st)
}

// leastBack is how many bytes a WINDOW_UPDATE counts for at least.
const leastBack = 1 << 10

// givesBack reports whether a WINDOW_UPDATE for n bytes can be one that gives back what
// was sent: each byte once for its stream, and once for the connection. However many these
// are, they don't count as odd: net/http's client sends two for each 4 KiB that a program
// reads, also when all of the response has come.
func (c *Conn) givesBack(n int64) bool {
	if n = max(n, leastBack); n > c.out.credit {
		return false
	}
	c.out.credit -= n
	return true
}

// windowUpdate handles a WINDOW_UPDATE frame (RFC 9113 section 6.9).
func (c *Conn) windowUpdate(b []byte, ev *Event) {
	n := int64(binary.BigEndian.Uint32(b) & maxWindow)
	id := c.read.f.stream
	switch {
	case !c.givesBack(n) && !c.odd(1):
	case id == 0 && n == 0:
		c.fail(ProtocolError)
	case id == 0 && c.out.window+n > maxWindow:
		c.fail(FlowControlError)
	case id == 0:
		was := c.out.window
		c.out.window += n
		if c.turns.stalled && c.out.window > 0 && was <= 0 {
			c.turns.stalled = false
			ev.Kind = Room
		}
	case c.idle(id):
		c.fail(ProtocolError)
	default:
		c.streamWindowUpdate(c.streams.find(id), n, ev)
	}
}

func (c *Conn) streamWindowUpdate(st *Stream, n int64, ev *Event) {
	switch {
	case n == 0 && st.isClosed():
		c.fail(ProtocolError)
	case st.isClosed():
	case n == 0:
		c.blame(st.id, ProtocolError, ev)
	case st.out.window+n > maxWindow:
		c.blame(st.id, FlowControlError, ev)
	default:
		st.out.window += n
		if c.turns.revive(st) {
			ev.Kind, ev.Stream = Room, st
		}
	}
}

// setInitialWindow applies SETTINGS_INITIAL_WINDOW_SIZE to streams that are open (RFC 9113
// section 6.9.2). Their windows may become negative. widest >= n is the largest value that the
// frame had: none may make a window too large, since values are processed in order (section
// 6.5.3).
func (c *Conn) setInitialWindow(n, widest int64, ev *Event) {
	delta, most := n-c.out.initial, widest-c.out.initial
	c.out.initial = n
	if delta == 0 && most == 0 {
		return
	}
	c.streams.all(func(st *Stream) bool {
		if st.out.window+most > maxWindow {
			c.fail(FlowControlError)
			return false
		}
		st.out.window += delta
		if c.turns.revive(st) {
			ev.Kind = Room
		} else if st.out.window <= 0 {
			c.turns.stall(st)
		}
		return true
	})
	if c.failed {
		*ev = Event{}
	}
}
