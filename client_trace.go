package gale

import (
	"crypto/tls"
	"net"
	"time"
)

// ClientTrace are functions that a client calls on the way of a request; see
// HostClient.Trace. Those that are nil are left out and cost nothing, nor does
// a nil *ClientTrace.
//
// They are called from the goroutine that sends the request, except that
// Dialed and TLSDone may run in another while that one has given up; they must
// return soon, and be safe for concurrent use. req belongs to the request's
// sender: what they keep of it they must copy.
//
// A request that is repeated passes the phases again; Done comes once.
type ClientTrace struct {
	// GotConn tells that the request has a connection. reused says whether it
	// carried requests before, wait is how long it took to get it, dialing
	// included.
	GotConn func(req *Request, conn net.Conn, reused bool, wait time.Duration)
	// Dialed tells how dialing addr ended, and how long it took; conn is nil
	// if err isn't.
	Dialed func(addr string, conn net.Conn, took time.Duration, err error)
	// TLSDone tells how a TLS handshake ended, and how long it took.
	TLSDone func(addr string, state tls.ConnectionState, took time.Duration, err error)
	// Wrote tells that the request was written, or why not.
	Wrote func(req *Request, err error)
	// FirstByte tells that the first bytes of an answer arrived.
	FirstByte func(req *Request)
	// Done tells that the call ends with err, after how many attempts. The
	// body of a streamed response may still be on its way.
	Done func(req *Request, resp *Response, attempts int, err error)
}

func (t *ClientTrace) gotConn(req *Request, cc *clientConn, wait time.Duration) {
	if t != nil && t.GotConn != nil {
		t.GotConn(req, cc.Conn(), cc.served > 0, wait)
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
