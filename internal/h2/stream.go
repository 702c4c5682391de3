package h2

// Stream is one request and its response. It belongs to its Conn, and to the caller
// until Done: in a server from the Head event on, in a client from AppendRequest on.
type Stream struct {
	// Owner is only used by the caller.
	Owner any

	id       uint32
	state    streamState
	interims uint8 // informational responses so far; only in a client
	prio     Priority
	// protocol is the value of :protocol (RFC 8441), or nil. In a server it is in the
	// arena of the head.
	protocol []byte

	in  streamFlow // the peer's half
	out sendFlow   // this side's half

	// left is how many bytes of data must still come according to Content-Length,
	// or -1 if unknown.
	left int64

	// head is the stream's share of Conn.heads.
	head int

	place place   // in the schedule
	next  *Stream // in a chain of the table, or in the list of streams that are gone
}

// streamState is a set of facts about a stream.
type streamState uint8

const (
	peerEnded   streamState = 1 << iota // END_STREAM was received
	ended                               // END_STREAM was sent
	wasReset                            // RST_STREAM was received or sent
	updated                             // a PRIORITY_UPDATE has come
	awaitsHead                          // the final response has not come; only in a client
	toHead                              // the request is HEAD; only in a client
	unprocessed                         // see Unprocessed
	waits                               // see Waits
)

// ID returns the stream's number.
func (st *Stream) ID() uint32 { return st.id }

// Priority returns the priority of the response (RFC 9218): the one of the request,
// of the last PRIORITY_UPDATE, or, after the head was sent, of the response itself.
// If the client has never used priorities, responses are incremental.
func (st *Stream) Priority() Priority { return st.prio }

// Protocol returns the value of :protocol (RFC 8441), which is nil for most
// streams. In a server it points into the head that DecodeRequest has filled, and must not
// be used after that.
func (st *Stream) Protocol() []byte { return st.protocol }

// WasReset reports whether RST_STREAM was sent or received: no more data comes, and
// everything that is appended for the stream is dropped.
func (st *Stream) WasReset() bool { return st.state&wasReset != 0 }

// Unprocessed reports whether the server has not processed the request, so that a client
// may send it again on another connection (RFC 9113 section 8.7): the server has reset
// the stream with REFUSED_STREAM, or its GOAWAY has named a lower one, and no response
// had come, not even an informational one.
func (st *Stream) Unprocessed() bool { return st.state&unprocessed != 0 }

// PeerEnded reports whether the peer has sent END_STREAM: the request, in a client the
// response, has ended.
func (st *Stream) PeerEnded() bool { return st.state&peerEnded != 0 }

// IsWhole reports whether all bytes of the response to st have come, by its Content-Length or
// because it can't have a body, so that at most the end of the stream is missing.
func (c *Conn) IsWhole(st *Stream) bool {
	return st.left == 0 && st.state&awaitsHead == 0 && !(c.read.state == inData && c.read.f.stream == st.id)
}

// Ended reports whether this side has sent END_STREAM.
func (st *Stream) Ended() bool { return st.state&ended != 0 }

// HasWindow reports whether the stream's own window allows data. The connection's
// window may still be too small.
func (st *Stream) HasWindow() bool { return st.out.window > 0 }

// IsHead reports whether the method of a client's request is HEAD.
func (st *Stream) IsHead() bool { return st.state&toHead != 0 }

// Unread returns how many bytes of data have arrived but were not consumed.
func (st *Stream) Unread() int { return int(st.in.unread) }
