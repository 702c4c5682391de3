package h2

// Kind is the kind of an Event.
type Kind uint8

// The kinds of events.
const (
	// None: all input was consumed, and there is no event for the caller.
	None Kind = iota
	// Head: the field block of a request, in a client of an informational or final
	// response, is complete. DecodeRequest, in a client DecodeResponse or DecodeStatus,
	// must be called next.
	Head
	// Data: bytes of a body have arrived, perhaps none if End is set.
	Data
	// Trailers: a trailer section is complete and ends the message. DecodeTrailers
	// must be called next.
	Trailers
	// Reset: the peer has reset the stream, or this side has reset it because of an
	// error of the peer, see Event.Local. Nothing more comes and nothing more is
	// sent. The caller must still call Done. In a client, Stream.Unprocessed says
	// whether the request may be sent again. A response that has ended before is
	// complete: the server doesn't want the rest of the request (RFC 9113 section 8.1).
	Reset
	// Room: a stream that had stalled (see AppendData) can send again. If Stream is
	// nil, several streams may be able to send. Next returns them.
	Room
	// GoAway: the peer will open no more streams; Code says why. Open streams
	// continue. In a client it says that the server accepts no more streams; it may
	// come again with a lower PeerLast or an error. Streams above PeerLast that were
	// not closed were reset, without events of their own: see All, WasReset and
	// Unprocessed.
	GoAway
	// Settings: SETTINGS of the server were applied, so that CanOpen may have changed,
	// and streams that had stalled may be able to send. Only clients get it.
	Settings
	// Pong: the peer has answered a Ping. Data has its 8 bytes, and is valid until the
	// next Read.
	Pong
	// Failed: the connection has ended because of what the peer sent. The caller
	// must write the frames of AppendControl, which end with GOAWAY, and close.
	// Code says why. All streams are reset.
	Failed
)

// Event is what Read found.
type Event struct {
	Kind   Kind
	Stream *Stream // nil if it concerns the connection
	// Data is a part of the input of Read, and valid as long as the input.
	Data []byte
	// End says, for Head and Data, that the peer's half of the stream has ended.
	End bool
	// Local says, for Reset, that this side has reset the stream.
	Local bool
	Code  Code // of Reset, GoAway and Failed
}
