package ws

import (
	"errors"
	"strconv"
)

// MessageType is the type of a message (RFC 6455 section 5.6).
type MessageType uint8

// The types of messages.
const (
	Text   MessageType = 1 // valid UTF-8
	Binary MessageType = 2 // any bytes
)

// String returns "text" or "binary".
func (t MessageType) String() string {
	switch t {
	case Text:
		return "text"
	case Binary:
		return "binary"
	}
	return "MessageType(" + strconv.Itoa(int(t)) + ")"
}

// StatusCode says why a WebSocket was closed (RFC 6455 section 7.4).
type StatusCode uint16

// The status codes of RFC 6455 and of the registry that it made.
const (
	StatusNormal          StatusCode = 1000 // the purpose is fulfilled
	StatusGoingAway       StatusCode = 1001 // the server shuts down, or a browser leaves the page
	StatusProtocolError   StatusCode = 1002 // the peer broke a rule of RFC 6455
	StatusUnsupportedData StatusCode = 1003 // the type of a message can't be accepted
	StatusNoStatus        StatusCode = 1005 // the close frame had no code; never sent
	StatusAbnormal        StatusCode = 1006 // the connection ended without a close frame; never sent
	StatusInvalidData     StatusCode = 1007 // text that isn't UTF-8, or compressed data that is broken
	StatusPolicy          StatusCode = 1008 // a policy of the application or a limit was violated
	StatusTooBig          StatusCode = 1009 // a message is too big
	StatusMissing         StatusCode = 1010 // the client needs an extension that the server didn't accept
	StatusInternalError   StatusCode = 1011 // something unexpected happened
	StatusServiceRestart  StatusCode = 1012 // the server restarts
	StatusTryAgainLater   StatusCode = 1013 // the peer reads too slowly, or there is too much load
	StatusBadGateway      StatusCode = 1014 // an upstream answered wrongly
)

// CloseError says how a WebSocket ended. It is the error of the methods of a Conn and the
// argument of Handler.OnClose after a close frame was received or sent.
type CloseError struct {
	// Code is the status code. It is StatusNoStatus if the close frame had none.
	Code StatusCode
	// Reason is the text of the close frame, at most 123 bytes.
	Reason string
	// Local says that this side began to close: the program, a limit, or because the peer
	// broke a rule. Otherwise the peer began.
	Local bool
}

// Error returns a message with the code and the reason.
func (e *CloseError) Error() string {
	by := "by the peer"
	if e.Local {
		by = "by this side"
	}
	text := "ws: closed " + by + " with status code " + strconv.Itoa(int(e.Code))
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// CloseStatus returns the Code of the CloseError in err's tree, StatusAbnormal if there is
// none, and 0 if err is nil.
func CloseStatus(err error) StatusCode {
	var ce *CloseError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ce):
		return ce.Code
	}
	return StatusAbnormal
}

// Errors of writing.
var (
	// ErrClosed says that the WebSocket has ended, or that this side has sent its close
	// frame.
	ErrClosed = errors.New("ws: the WebSocket is closed")
	// ErrQueueFull says that a message was not sent, because the peer reads too slowly;
	// see Options.QueuePolicy.
	ErrQueueFull = errors.New("ws: the queue of unsent bytes is full: the peer reads too slowly")
	// ErrMessageType says that a message's type is neither Text nor Binary.
	ErrMessageType = errors.New("ws: the type of a message must be Text or Binary")
)
