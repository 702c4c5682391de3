package h2

import "github.com/galehttp/gale/internal/clock"

// Conn is one side of an HTTP/2 connection. Begin makes it ready as a server,
// BeginClient as a client. End releases its memory. It must not be copied.
type Conn struct {
	cfg  *Config
	now  clock.Tick // of the last Read
	read reader

	streams table
	heads   int32  // bytes of the heads of open streams; limited by Config.Heads
	last    uint32 // the highest id of a stream that the client has opened
	closed  closedStreams
	early   earlyPriorities // for streams that are not open yet
	turns   schedule

	control  queue
	in, out  connFlow
	peer     peerState
	coding   coding
	buckets  buckets
	goAway   goAway
	peerLast uint32 // the stream that the peer's last GOAWAY named, if peer.gone
	client   bool   // this side is the client
	greeted  bool   // the preface, if this side is the server, and the first SETTINGS have come
	settled  bool   // the peer has acknowledged our SETTINGS
	failed   bool
	code     Code  // why it failed
	waiting  int32 // the number of streams for which Waits is true
	// grown is the sum of the growth of all open streams' windows. Only because of beyond
	// can it be more than Config.ConnWindow.
	grown  int64
	beyond *Stream // the one stream of Collect that may go beyond that, or nil
}

// Begin makes c ready for a connection, like a new Conn, and appends the first
// frames of a server: SETTINGS, and a WINDOW_UPDATE for the connection. Fill must
// have been called for cfg.
func (c *Conn) Begin(cfg *Config, out []byte) []byte {
	c.End()
	c.cfg = cfg
	c.begin()
	return c.appendFirst(out)
}

// End forgets the connection, and gives back its memory. All streams end with it,
// without Done; they must not be used any more.
func (c *Conn) End() {
	c.read.drop()
	c.streams.drop()
	c.coding.drop()
	*c = Conn{coding: c.coding}
}

// Rest gives back the memory that a connection without streams doesn't need. While
// there are streams, it does nothing.
func (c *Conn) Rest() {
	if c.streams.n > 0 {
		return
	}
	c.streams.rest()
	c.control.rest()
	c.coding.rest()
	c.turns.rest()
	c.read.rest()
}

// Read consumes bytes from the front of in, up to the first event, and returns
// their number. n < len(in) only after an event; call Read again with the rest. now
// is the time on the monotonic clock; the limits of rates use it. Afterwards
// AppendControl has the frames that Read wants to send.
func (c *Conn) Read(in []byte, now clock.Tick, ev *Event) (n int) {
	*ev = Event{}
	c.now = now
	return c.readEvent(in, ev)
}

// AppendControl appends the queued control frames, except those for AppendHeld, and
// empties the queue. They must be sent before anything that is appended to the output
// later. After Read it must be called before other frames are appended: a peer may refuse
// DATA for which its new SETTINGS have made room until it has the acknowledgement.
func (c *Conn) AppendControl(out []byte) []byte { return c.control.take(out) }

// HasControl reports whether AppendControl would append something.
func (c *Conn) HasControl() bool { return len(c.control.b) > int(c.control.held) }

// AppendHeld appends the resets of Done that were queued before the last call of
// AppendHeld. Call it once for each write, as long as HasHeld reports that there are
// more. So a response and the reset after it are never written together: some clients
// lose the response then.
func (c *Conn) AppendHeld(out []byte) []byte { return c.control.takeHeld(out) }

// HasHeld reports whether resets wait for AppendHeld.
func (c *Conn) HasHeld() bool { return c.control.held > 0 }

// Greeted reports whether the peer's preface has come, with its first SETTINGS
// (RFC 9113 section 3.4). A caller limits the time until then.
func (c *Conn) Greeted() bool { return c.greeted }

// Settled reports whether the peer has acknowledged our SETTINGS. A caller may limit
// the time until then, and end the connection with SettingsTimeout (RFC 9113 section
// 6.5.3).
func (c *Conn) Settled() bool { return c.settled }

// InHead reports whether a part of a field block has come. A caller limits the time
// from HeadSince until the block is complete.
func (c *Conn) InHead() bool { return c.read.inHead() }

// HeadSince returns when the incomplete field block began, or 0 if there is none.
func (c *Conn) HeadSince() clock.Tick {
	if !c.read.inHead() {
		return 0
	}
	return c.read.since
}

// InFrame reports whether a frame, or the preface, has come only in part.
func (c *Conn) InFrame() bool { return c.read.inFrame() }

// FrameSince returns when the incomplete frame began, or 0 if there is none.
func (c *Conn) FrameSince() clock.Tick {
	if !c.read.inFrame() {
		return 0
	}
	return c.read.since
}

// Streams returns the number of streams that count as open: those for which Done
// was not called yet.
func (c *Conn) Streams() int { return int(c.streams.n) }

// Last returns the highest id of a stream that the client has opened, or 0 if there
// is none.
func (c *Conn) Last() uint32 { return c.last }

// All calls f for each stream that counts as open, in no order, until f returns
// false. f may call Done only for the stream that it gets.
func (c *Conn) All(f func(*Stream) bool) { c.streams.all(f) }

// Code returns the error code with which the connection has failed.
func (c *Conn) Code() Code { return c.code }

// Failed reports whether the connection is over because of what the peer sent, or Fail.
func (c *Conn) Failed() bool { return c.failed }
