package h2

// Code is an error code (RFC 9113 section 7).
type Code uint32

// The error codes.
const (
	NoError Code = iota
	ProtocolError
	InternalError
	FlowControlError
	SettingsTimeout
	StreamClosed
	FrameSizeError
	RefusedStream
	Cancel
	CompressionError
	ConnectError
	EnhanceYourCalm
	InadequateSecurity
	HTTP11Required
)

var codeTexts = [...]string{
	"NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT",
	"STREAM_CLOSED", "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR",
	"CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
}

// String returns the name that RFC 9113 gives the code.
func (c Code) String() string {
	if int(c) < len(codeTexts) {
		return codeTexts[c]
	}
	return "unknown error code"
}

// Error says why a message or a connection is refused. All Errors are package
// variables.
type Error struct {
	// Code is sent with RST_STREAM or GOAWAY.
	Code Code
	// Status is the status code for the answer to a request that is refused but not
	// malformed. It is 0 if no answer is possible.
	Status int
	msg    string
}

// Error says what was wrong.
func (e *Error) Error() string { return e.msg }

// The errors of field blocks.
var (
	ErrCompression   = &Error{CompressionError, 0, "h2: invalid field block"}
	ErrHeadTooLong   = &Error{EnhanceYourCalm, 431, "h2: head too long"}
	ErrTooManyFields = &Error{EnhanceYourCalm, 431, "h2: too many fields"}
	ErrTargetTooLong = &Error{ProtocolError, 414, "h2: :path too long"}
	ErrMethodTooLong = &Error{ProtocolError, 501, "h2: :method too long"}
	ErrBodyTooLong   = &Error{ProtocolError, 413, "h2: length of the body too large"}
	ErrHeads         = &Error{RefusedStream, 0, "h2: the heads of all streams are too long"}
	ErrTrailers      = &Error{EnhanceYourCalm, 0, "h2: the heads of all streams are too long"}
	ErrConnect       = &Error{ProtocolError, 501, "h2: CONNECT is not supported"}

	ErrFieldName     = &Error{ProtocolError, 0, "h2: invalid field name"}
	ErrFieldValue    = &Error{ProtocolError, 0, "h2: invalid field value"}
	ErrConnection    = &Error{ProtocolError, 0, "h2: connection-specific field"}
	ErrPseudo        = &Error{ProtocolError, 0, "h2: invalid pseudo-field"}
	ErrPseudoMissing = &Error{ProtocolError, 0, "h2: pseudo-field missing"}
	ErrMethod        = &Error{ProtocolError, 0, "h2: invalid :method"}
	ErrScheme        = &Error{ProtocolError, 0, "h2: invalid :scheme"}
	ErrPath          = &Error{ProtocolError, 0, "h2: invalid :path"}
	ErrHost          = &Error{ProtocolError, 0, "h2: invalid :authority or Host"}
	ErrContentLength = &Error{ProtocolError, 0, "h2: invalid Content-Length"}
	ErrTrailer       = &Error{ProtocolError, 0, "h2: field not allowed in a trailer section"}

	ErrStatus        = &Error{ProtocolError, 0, "h2: invalid :status"}
	ErrInterims      = &Error{EnhanceYourCalm, 0, "h2: too many informational responses"}
	ErrResponseHeads = &Error{EnhanceYourCalm, 0, "h2: the heads of all streams are too long"}
)
