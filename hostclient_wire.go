package gale

import "net"

// wire is a connection to the host, of any protocol.
type wire interface {
	// Conn returns the connection itself.
	Conn() net.Conn
	// wasUsed reports whether it has carried requests before.
	wasUsed() bool
}

var (
	_ wire = (*clientConn)(nil)
	_ wire = (*sharedConn)(nil)
)

// carryOutcome says what has become of a request that was given to a connection. An error stands
// beside it, not in its place.
type carryOutcome uint8

const (
	// carryDone: there is a response, or its head if the body is streamed. There is no error.
	carryDone carryOutcome = iota
	// carryFailed: there is an error, and the request must not be sent again.
	carryFailed
	// carryRetry: there is an error, and it makes sense to send the request again; see call.verdict.
	carryRetry
	// carryStale: the connection, which had been idle, is dead. Nothing was sent. Its place in the
	// pool is still that of the call. There is no error.
	carryStale
	// carryFull: the connection takes no more requests. Nothing was sent, and the call has no place
	// in the pool. There is no error.
	carryFull
)

// carry sends req over w and reads the response. It gives w back, unless it is stale; if the body
// is streamed, the stream does so at its end. out is req for HTTP/2, if it was prepared for that.
//
// It isn't a method of wire, because a call of a method of an interface would put k, rules and out
// on the heap.
func (c *HostClient) carry(w wire, k *call, req *Request, resp *Response, rules *readRules, out *h2Outgoing) (carryOutcome, error) {
	if hc, ok := w.(*sharedConn); ok {
		return c.carryHTTP2(hc, k, req, resp, rules, out)
	}
	return c.carryHTTP1(w.(*clientConn), k, req, resp, rules)
}

// carryOf returns what err, the error of an exchange or nil, makes of the request.
func carryOf(err error) carryOutcome {
	switch err {
	case nil:
		return carryDone
	case ErrBodyTooLarge:
		return carryFailed
	}
	return carryRetry
}
