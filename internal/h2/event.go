package h2

// Kind is what an Event tells.
type Kind uint8

// The kinds of events.
const (
	// None: all input was consumed, and nothing has happened that the caller must know.
	None Kind = iota
	// Head: a request's field block is whole. DecodeRequest must be called next.
	Head
	// Data: bytes of a request's body have arrived, perhaps none if End is set.
	Data
	// Trailers: a trailer section is whole and ends the request. DecodeTrailers must be
	// called next.
	Trailers
	// Reset: the peer has reset the stream, or was sent RST_STREAM for what it did, see
	// Event.Local. Nothing more comes and nothing more is sent. Done is still to be called.
	Reset
	// Room: a stream that had stalled (see AppendData) can send again, or, if Stream is
	// nil, several may. Next says which.
	Room
	// GoAway: the peer will open no more streams; Code says why. Those that are open go on.
	GoAway
	// Failed: the connection is over because of what the peer sent. Write what
	// AppendControl has, which ends with GOAWAY, and close. Code says why. All streams are reset.
	Failed
)

// Event is what Read found.
type Event struct {
	Kind   Kind
	Stream *Stream // nil if it concerns the connection
	// Data is a part of the input that was given to Read, valid as long as that is.
	Data []byte
	// End says, for Head and Data, that the peer's half of the stream has ended.
	End bool
	// Local says, for Reset, that this side has reset the stream.
	Local bool
	Code  Code // of Reset, GoAway and Failed
}
