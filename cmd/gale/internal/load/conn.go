package load

import (
	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/head"
)

// state is what a connection is doing.
type state uint8

const (
	stateClosed      state = iota // until conn.since, then it may be opened again
	stateConnecting               // TCP
	stateHandshaking              // TLS, on a goroutine of its own
	stateUpgrading                // waits for the answer to the handshake of WebSocket
	stateOpen                     // takes requests
	stateEnding                   // had its last response; waits for the server to close
)

// conn is a connection, or the place of one: it is opened again and again. Its loop owns it.
type conn struct {
	slot     int32
	gen      uint32 // changes with each socket
	state    state
	fails    uint8 // attempts to connect that failed in a row
	tried    bool  // the first attempt to connect has ended
	free     bool  // is in server.free
	closing  bool  // takes no more requests, since one or a response said close
	opened   bool  // was open before
	pausing  bool  // is in loop.thinks: has had a response, and its next request waits
	unread   bool  // is in loop.unread
	server   *server
	since    int64 // when state began; for stateClosed, when it ends
	sent     int   // requests since it was opened
	served   int   // complete responses since it was opened
	answered int64 // when the last one was complete

	saidClose bool       // a response said close
	again     []exchange // to be sent again over the next connection

	flight  flight
	out     [2][]byte // what wasn't written yet
	kept    []byte    // the memory of out, if it isn't shared
	request *Request  // whose body is in out

	rest []byte         // bytes of an unfinished head or trailer section
	own  *head.Response // a head that isn't complete, or whose body isn't
	in   inBody
	tls  *tlsConn

	http2     *http2     // nil for other protocols
	websocket *websocket // likewise
}

// inBody is the body of a response of which a part has arrived.
type inBody struct {
	active   bool
	untilEnd bool // the end of the connection ends it
	status   int
	length   int64 // that has arrived
	decoder  h1.Body
	collect  []byte
}

// writing reports whether bytes wait for room in the socket.
func (c *conn) writing() bool {
	return len(c.out[0])+len(c.out[1]) > 0 || c.tls != nil && c.tls.pipe.wrote()
}

// inFlight returns how many requests have no complete response yet.
func (c *conn) inFlight() int {
	if c.http2 != nil {
		return len(c.http2.live)
	}
	return c.flight.n
}

// exchange is a request that was sent and has no complete response yet.
type exchange struct {
	start  int64 // of its latency
	target int32
	step   int32 // of the schedule; uncounted for a request of the warm-up
	number int64 // for Source.Fill
	isHead bool  // the method is HEAD
	sent   uint8 // how often it was sent before
}

// uncounted is the step of a request that isn't counted.
const uncounted = -1

// flight is the exchanges of a connection, in order.
type flight struct {
	ring  []exchange
	first int
	n     int
}

func (f *flight) push(e exchange) {
	i := f.first + f.n
	if i >= len(f.ring) {
		i -= len(f.ring)
	}
	f.ring[i] = e
	f.n++
}

func (f *flight) oldest() *exchange { return &f.ring[f.first] }

func (f *flight) pop() exchange {
	e := f.ring[f.first]
	if f.first++; f.first == len(f.ring) {
		f.first = 0
	}
	f.n--
	return e
}
