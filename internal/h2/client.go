package h2

import "errors"

// The errors of opening a stream.
var (
	// ErrStreamLimit: as many streams are open as the peer or Config.Streams allows. Another
	// one can be opened after Done or a Settings event.
	ErrStreamLimit = errors.New("h2: too many streams are open, wait until one is done")
	// ErrNoMoreStreams: the connection will open no more streams, because it has failed, one
	// side has sent GOAWAY, or all ids were used.
	ErrNoMoreStreams = errors.New("h2: the connection opens no more streams, use another one")
)

// firstStreams is how many streams may be open before the server's SETTINGS have come. RFC
// 9113 section 6.5.2 recommends that servers allow so many.
const firstStreams = 100

// BeginClient is Begin for a client. It appends the first bytes of a client: the preface,
// SETTINGS, and a WINDOW_UPDATE for the connection.
func (c *Conn) BeginClient(cfg *Config, out []byte) []byte {
	c.End()
	c.cfg, c.client = cfg, true
	c.read.state = inFrameHeader
	c.begin()
	return c.appendFirst(append(out, Preface...))
}

// CanOpen returns how many streams a client may open now.
func (c *Conn) CanOpen() int {
	if c.opensNoMore() {
		return 0
	}
	most := c.cfg.Streams
	switch {
	case c.peer.streams >= 0:
		most = min(most, int(c.peer.streams))
	case !c.greeted:
		most = min(most, firstStreams)
	}
	ids := int((maxStreamID-c.nextID())/2) + 1
	return max(0, min(most-int(c.streams.n), ids))
}

// opensNoMore reports whether a client will never open a stream again.
func (c *Conn) opensNoMore() bool {
	return c.failed || c.peer.gone || c.goAway.sent == goAwayStop || c.nextID() > maxStreamID
}

// nextID returns the id of the next stream of a client.
func (c *Conn) nextID() uint32 { return (c.last + 1) | 1 }

// open opens a stream of a client. Its HEADERS must be appended next, because the peer
// closes all streams with lower ids that it doesn't know (RFC 9113 section 5.1.1). open
// appends the queued frames, because a server counts a stream as open until it has the
// reset (section 5.1.2).
func (c *Conn) open(out []byte) ([]byte, *Stream, error) {
	if c.CanOpen() == 0 {
		if c.opensNoMore() {
			return out, nil, ErrNoMoreStreams
		}
		return out, nil, ErrStreamLimit
	}
	id := c.nextID()
	c.closed.open(c.last, id)
	c.last = id
	st := c.addStream(id)
	st.state = awaitsHead
	st.prio.Incremental = true // bodies share the connection
	return c.control.take(out), st, nil
}

// PeerConnects reports whether the server has allowed extended CONNECT (RFC 8441 section
// 3). Before Greeted it is false.
func (c *Conn) PeerConnects() bool { return c.peer.connects }

// PeerLast returns the highest stream that the server may process: the one that its last
// GOAWAY has named, or the highest possible id if none has come.
func (c *Conn) PeerLast() uint32 {
	if c.peer.gone {
		return c.peerLast
	}
	return maxStreamID
}

// Ping queues a PING frame with data. A Pong event reports the answer. It does nothing
// while maxPings have no answer.
func (c *Conn) Ping(data [8]byte) {
	if c.peer.pings < maxPings && c.queueFrame(framePing, 0, 0, data[:]) {
		c.peer.pings++
	}
}

// maxPings is how many PING frames of this side may have no answer yet.
const maxPings = 100
