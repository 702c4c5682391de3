package wsframe

// Status codes of close frames (RFC 6455 section 7.4.1).
const (
	CodeProtocol    = 1002 // the peer broke a rule of the protocol
	CodeNoStatus    = 1005 // the close frame had no code; never sent
	CodeInvalidData = 1007 // text that isn't UTF-8, or broken compressed data
	CodeTooBig      = 1009 // the message exceeds the limit
	CodeInternal    = 1011
)

// Error says why a connection must fail. All values are declared in this package, so
// making one doesn't allocate.
type Error struct {
	Code   uint16 // what the close frame to the peer says
	Reason string // English, at most 123 bytes, fit for a close frame
}

// Error returns the reason with the prefix "websocket: ".
func (e *Error) Error() string { return "websocket: " + e.Reason }

var (
	errReserved     = &Error{CodeProtocol, "reserved bit set in a frame"}
	errOpcode       = &Error{CodeProtocol, "reserved opcode"}
	errMasked       = &Error{CodeProtocol, "masked frame from a server"}
	errUnmasked     = &Error{CodeProtocol, "unmasked frame from a client"}
	errControlFin   = &Error{CodeProtocol, "fragmented control frame"}
	errControlSize  = &Error{CodeProtocol, "control frame with more than 125 bytes"}
	errContinuation = &Error{CodeProtocol, "continuation frame without a message"}
	errInterleaved  = &Error{CodeProtocol, "new message inside a fragmented message"}
	errLengthForm   = &Error{CodeProtocol, "frame length not in its shortest form"}
	errLength       = &Error{CodeProtocol, "frame length exceeds 63 bits"}
	errText         = &Error{CodeInvalidData, "text message is not valid UTF-8"}
	errTooBig       = &Error{CodeTooBig, "message too big"}
	errLanded       = &Error{CodeInternal, "more bytes than the frame has"}

	errCloseSize   = &Error{CodeProtocol, "close frame with a payload of one byte"}
	errCloseCode   = &Error{CodeProtocol, "invalid status code in a close frame"}
	errCloseReason = &Error{CodeInvalidData, "reason of a close frame is not valid UTF-8"}

	errInflate    = &Error{CodeInvalidData, "broken compressed data"}
	errExtensions = &Error{CodeProtocol, "server's answer about extensions is not acceptable"}
)
