package h2

// Kind is the kind of an Event.
type Kind uint8

// The kinds of events.
const (
	// None: all input was consumed, and there is no event for the caller.
	None Kind = iota
	// Head: a request's field block is complete. DecodeRequest must be called next.
	Head
	// Data: bytes of a request's body have arrived, perhaps none if End is set.
	Data
	// Trailers: a trailer section is complete and ends the request. DecodeTrailers
	// must be called next.
	Trailers
	// Reset: the peer has reset the stream, or this side has reset it because of an
	// error of the peer, see Event.Local. Nothing more comes and nothing more is
	// sent. The caller must still call Done.
	Reset
	// Room: a stream that had stalled (see AppendData) can send again. If Stream is
	// nil, several streams may be able to send. Next returns them.
	Room
	// GoAway: the peer will open no more streams; Code says why. Open streams
	// continue.
	GoAway
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
