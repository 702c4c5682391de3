package gale

import (
	"crypto/tls"
	"net"
	"time"
)

// ClientTrace holds functions that a client calls at the stages of a request; see
// HostClient.Trace. Functions that are nil aren't called. A nil function, and a nil
// *ClientTrace, cost nothing.
//
// They are called from the goroutine that sends the request. Dialed and TLSDone may
// run in another goroutine if that one has given up. The functions must return soon
// and must be safe for concurrent use. req belongs to the caller of the client: a
// function that keeps parts of it must copy them.
//
// When a request is sent again, the functions are called again; only Done is called
// once.
type ClientTrace struct {
	// GotConn is called when the request has a connection. reused says whether the
	// connection carried requests before. wait is how long it took to get it,
	// including dialing.
	GotConn func(req *Request, conn net.Conn, reused bool, wait time.Duration)
	// Dialed is called when dialing addr has ended. took is how long that took.
	// conn is nil if err is not nil.
	Dialed func(addr string, conn net.Conn, took time.Duration, err error)
	// TLSDone is called when a TLS handshake has ended. took is how long that took.
	TLSDone func(addr string, state tls.ConnectionState, took time.Duration, err error)
	// Wrote is called when the request was written, or with an error if it couldn't
	// be written. A response may come before all of the request was
	// written; then it is called at that time.
	Wrote func(req *Request, err error)
	// FirstByte is called when the first bytes of an answer have arrived.
	FirstByte func(req *Request)
	// Done is called when the call ends. err is the error that it returns, attempts
	// how many times the request was sent. The body of a streamed response may not
	// have arrived yet.
	Done func(req *Request, resp *Response, attempts int, err error)
}

func (t *ClientTrace) gotConn(req *Request, w wire, wait time.Duration) {
	if t != nil && t.GotConn != nil {
		t.GotConn(req, w.Conn(), w.uses() > 0, wait)
	}
}

func (t *ClientTrace) dialed(addr string, conn net.Conn, took time.Duration, err error) {
	if t != nil && t.Dialed != nil {
		t.Dialed(addr, conn, took, err)
	}
}

func (t *ClientTrace) tlsDone(addr string, conn *tls.Conn, took time.Duration, err error) {
	if t != nil && t.TLSDone != nil {
		t.TLSDone(addr, conn.ConnectionState(), took, err)
	}
}

func (t *ClientTrace) wrote(req *Request, err error) {
	if t != nil && t.Wrote != nil {
		t.Wrote(req, err)
	}
}

func (t *ClientTrace) firstByte(req *Request) {
	if t != nil && t.FirstByte != nil {
		t.FirstByte(req)
	}
}

func (t *ClientTrace) done(req *Request, resp *Response, attempts int, err error) {
	if t != nil && t.Done != nil {
		t.Done(req, resp, attempts, err)
	}
}
