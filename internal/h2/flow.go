package h2

import "encoding/binary"

// connFlow is the window of a connection in one direction (RFC 9113 section 5.2).
type connFlow struct {
	window int64 // how much data may still be sent
	// credit is how many bytes were received but not given back to the peer yet. In
	// the sending direction it is how many bytes the peer may give back, see
	// givesBack.
	credit int64
	// initial is the window of a new stream.
	initial int64
}

// streamFlow is the window for data that the peer sends on a stream.
type streamFlow struct {
	window int64 // how much data may still come; negative after SETTINGS that reduce it
	unread int64 // has come but was not consumed
	credit int64 // was consumed but not given back to the peer yet
	size   int64 // the whole window
}

// receive takes n bytes from the connection's window, and gives bytes back when
// they are many. It returns false if the connection has failed.
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

// Consumed says that the program has read n bytes of the body that the peer sends, so that
// it may send more (RFC 9113 section 5.2). A caller that drops data must call it
// too. No frame is sent to a peer that may already send everything up to
// Content-Length.
func (c *Conn) Consumed(st *Stream, n int) {
	f := &st.in
	f.unread -= int64(n)
	f.credit += int64(n)
	settled := f.window - c.excess()
	if f.credit < f.share() || st.left >= 0 && st.left <= settled || st.state&(peerEnded|wasReset) != 0 || c.failed {
		return
	}
	if f.unread <= 0 { // the program waits for the peer
		c.grow(f)
	}
	c.giveBack(st)
}

// excess is how much smaller the windows for received data will be when the peer has
// acknowledged our SETTINGS. Until then it may send as if it had not seen them.
func (c *Conn) excess() int64 { return c.in.initial - int64(c.cfg.StreamWindow) }

// largeWindow is the size in bytes from which a quarter of a window is worth a
// frame.
const largeWindow = 1 << 20

// share is how many bytes of credit are given back at once: half of a window, less
// of a large one. The peer may be so far away that it has sent the rest before it
// receives the update.
func (f *streamFlow) share() int64 {
	if f.size > largeWindow {
		return f.size / 4
	}
	return max(f.size/2, 1)
}

// grow doubles the window of a stream, within its own limit and the limit for all
// streams of the connection. The limits are needed because a program that stops
// reading leaves data in the grown window.
func (c *Conn) grow(f *streamFlow) {
	more := min(f.size, int64(c.cfg.StreamWindowMax)-f.size, int64(c.cfg.ConnWindow)-c.grown)
	more = min(more, maxWindow-f.window-f.credit) // Collected may have made the window larger than size
	if more <= 0 {
		return
	}
	c.grown += more
	f.size += more
	f.credit += more
}

// giveBack tells the peer that it may send as many bytes as the stream has credit.
func (c *Conn) giveBack(st *Stream) {
	f := &st.in
	n := int(f.credit)
	f.window += f.credit
	f.credit = 0
	c.queueWindowUpdate(st.id, n)
}

// leastBack is the smallest number of bytes that a WINDOW_UPDATE counts for.
const leastBack = 1 << 10

// givesBack reports whether a WINDOW_UPDATE for n bytes can give back bytes that
// were sent: each byte once for its stream and once for the connection. Such frames
// never count as odd, however many they are: net/http's client sends two for each 4
// KiB that a program reads, even after the whole response has come.
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

// setInitialWindow applies SETTINGS_INITIAL_WINDOW_SIZE to open streams (RFC 9113
// section 6.9.2). Their windows may become negative. widest >= n is the largest
// value in the frame: no value may make a window too large, because values are
// processed in order (section 6.5.3).
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
