package h2

// Stream is one request and its response. It belongs to its Conn, and to the caller from
// the Head event until Done.
type Stream struct {
	// Owner is for the caller alone.
	Owner any

	id    uint32
	state streamState
	prio  Priority
	// Protocol is what :protocol said, in the arena of the head (RFC 8441); nil for others.
	protocol []byte

	in  streamFlow // the peer's half
	out sendFlow   // ours

	// left is how much data Content-Length says that is still to come, -1 if unknown.
	left int64

	// head is the stream's part of Conn.heads.
	head int

	place place   // in the schedule
	next  *Stream // in a chain of the table, or in the list of those that are gone
}

// streamState is a set of facts about a stream.
type streamState uint8

const (
	peerEnded streamState = 1 << iota // END_STREAM was received
	ended                             // END_STREAM was sent
	wasReset                          // RST_STREAM was received or sent
	updated                           // a PRIORITY_UPDATE has come
)

// ID returns the stream's number.
func (st *Stream) ID() uint32 { return st.id }

// Priority returns how urgent the response is (RFC 9218): what the request said, the last
// PRIORITY_UPDATE, or what the response itself says once its head was sent. Of a client
// that has never said anything, responses are incremental.
func (st *Stream) Priority() Priority { return st.prio }

// Protocol returns what :protocol said (RFC 8441), nil for most streams. It points into
// the head that DecodeRequest has filled.
func (st *Stream) Protocol() []byte { return st.protocol }

// WasReset reports whether RST_STREAM was sent or received: nothing comes any more, and
// what is appended for the stream is dropped.
func (st *Stream) WasReset() bool { return st.state&wasReset != 0 }

// PeerEnded reports whether the request has come to its end.
func (st *Stream) PeerEnded() bool { return st.state&peerEnded != 0 }

// Ended reports whether END_STREAM was sent.
func (st *Stream) Ended() bool { return st.state&ended != 0 }

// HasWindow reports whether the stream's own window lets data through. That of the connection
// may not.
func (st *Stream) HasWindow() bool { return st.out.window > 0 }

// Unread returns how many bytes of data have arrived that were not consumed.
func (st *Stream) Unread() int { return int(st.in.unread) }
