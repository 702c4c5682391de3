package h1

import "errors"

// ErrPartial says that the input ends before the message does: call again with the same
// bytes and more after them.
var ErrPartial = errors.New("h1: more bytes are needed")

// Error is the error for a message that violates the protocol. Its connection can't be
// used again.
type Error struct {
	// Status is the status code for the response to such a request.
	Status int
	msg    string
}

// Error says what was wrong.
func (e *Error) Error() string { return e.msg }

// The errors of start lines.
var (
	ErrTLSHello      = &Error{400, "h1: TLS handshake on a port for plain HTTP"}
	ErrHTTP2Preface  = &Error{505, "h1: HTTP/2 preface on a port for HTTP/1.1"}
	ErrMethod        = &Error{400, "h1: invalid method"}
	ErrMethodTooLong = &Error{501, "h1: method too long"}
	ErrTarget        = &Error{400, "h1: invalid request-target"}
	ErrTargetTooLong = &Error{414, "h1: request-target too long"}
	ErrVersionSyntax = &Error{400, "h1: invalid HTTP version"}
	ErrVersion       = &Error{505, "h1: HTTP version not supported"}
	ErrStatusLine    = &Error{400, "h1: invalid status line"}
	ErrLineEnd       = &Error{400, "h1: line not ended by CRLF"}
)

// The errors of field sections.
var (
	ErrFieldName     = &Error{400, "h1: invalid field name"}
	ErrFieldValue    = &Error{400, "h1: invalid byte in a field value"}
	ErrFieldFold     = &Error{400, "h1: whitespace at the start of a field line"}
	ErrHeadTooLong   = &Error{431, "h1: head too long"}
	ErrTooManyFields = &Error{431, "h1: too many fields"}
	ErrNoHost        = &Error{400, "h1: no Host field"}
	ErrManyHosts     = &Error{400, "h1: more than one Host field"}
	ErrHost          = &Error{400, "h1: invalid Host field"}
)

// The errors of framing.
var (
	ErrContentLength     = &Error{400, "h1: invalid Content-Length"}
	ErrManyLengths       = &Error{400, "h1: more than one Content-Length"}
	ErrLengthAndCoding   = &Error{400, "h1: both Content-Length and Transfer-Encoding"}
	ErrCoding            = &Error{400, "h1: invalid Transfer-Encoding"}
	ErrCodingUnsupported = &Error{501, "h1: unsupported transfer coding"}
	ErrCodingHTTP10      = &Error{400, "h1: Transfer-Encoding in an HTTP/1.0 message"}
	ErrBodyTooLong       = &Error{413, "h1: length of the body too large"}
	ErrChunkSize         = &Error{400, "h1: invalid chunk size"}
	ErrChunkExt          = &Error{400, "h1: invalid chunk extension"}
	ErrChunkEnd          = &Error{400, "h1: chunk data not followed by CRLF"}
	ErrChunkOverhead     = &Error{400, "h1: too much framing for the data in a chunked body"}
	ErrTrailer           = &Error{400, "h1: field not allowed in a trailer section"}
)
