package h1

import "errors"

// ErrPartial says that the input ends before the message does: come again with
// more bytes behind it.
var ErrPartial = errors.New("h1: more bytes are needed")

// Error is a message that breaks the protocol. The connection that it came
// from can't be used any further.
type Error struct {
	// Status is the status code of the answer to such a request.
	Status int
	msg    string
}

// Error says what was wrong.
func (e *Error) Error() string { return e.msg }
