package load

import (
	"crypto/tls"
	"net/netip"
	"time"

	"github.com/galehttp/gale/internal/head"
	"github.com/galehttp/gale/internal/measure/figures"
)

// Plan says what to send, how often, and over which connections. Check reports what
// contradicts itself.
type Plan struct {
	Targets []Target // at least one

	Connections int           // open at a time
	Threads     int           // loops, each with its share of the connections
	Count       int64         // exactly so many counted requests; 0: until Duration has passed
	Duration    time.Duration // of the counted time; 0: until Count is reached
	WarmUp      time.Duration // before the counted time
	Schedule    []Ramp        // an open loop; empty: a closed loop

	WebSocket       bool          // requests are messages that the server sends back
	Pipeline        int           // HTTP/1.1 and WebSocket: requests in flight on a connection, 0 is 1
	HTTP2           bool          // by ALPN over TLS, with prior knowledge in the clear
	Streams         int           // HTTP/2: requests in flight on a connection, 0 is 1
	NoKeepAlive     bool          // "Connection: close" in each request
	RequestsPerConn int           // then the connection is closed and another is opened; 0: no limit
	Think           time.Duration // closed loop: pause between a response and the next request of its connection

	Timeout        time.Duration // of a request, from the start of its latency; 0: none
	ConnectTimeout time.Duration // of a connection with its handshake; 0: none
	Sources        []netip.Addr  // local addresses, in turns; empty: the system's choice

	// Interval is how often Tick is called, and the length of a figures.Interval in runs of
	// less than 500 of them. 0 is a second, or 100 ms in runs of less than 5 s.
	Interval time.Duration
	// Opening, if it isn't nil, is called each second while connections are opened before
	// the run, with how many are open. Tick isn't called yet.
	Opening func(open int)
	// Tick, if it isn't nil, is called at the end of each interval, on one goroutine. It
	// may add to the interval before it is stored. While an open loop waits for the last
	// responses, it is called too.
	Tick func(*figures.Interval)
	// Begin and End, if they aren't nil, are called when the counted time begins and ends.
	Begin, End func()

	// Delay is for tests: the generator sleeps so long before each write of requests.
	Delay time.Duration

	// maskKey masks all frames of the run. RFC 6455 section 10.3 wants a new one for each
	// frame against attackers who choose what is sent; here the user does.
	maskKey [4]byte
}

// Target is a server and requests for it.
type Target struct {
	URL     string      // for the report
	Network string      // "tcp" or "unix"
	Address string      // an IP address with a port, or a path: names aren't looked up
	TLS     *tls.Config // nil: in the clear. The run adds ALPN
	Weight  int         // share of the requests, at least 1
	Source  Source
	// Expect, if it isn't nil, looks at each complete response. It returns "" if the
	// response is as expected, and otherwise the kind of error, with a text for the first
	// error of that kind. It is called by several goroutines. h and body are valid during the
	// call. body is complete if CollectBody is positive and the body has at most so many
	// bytes; otherwise it is a prefix, and length is the true length.
	Expect      func(h *head.Response, body []byte, length int64) (kind, text string)
	CollectBody int
}

// Source makes the requests of a target. Its methods are called by several goroutines.
type Source interface {
	// Fixed returns the request if all are the same, else nil. It must not be changed.
	Fixed() *Request
	// Fill sets r, which the caller reuses, to the request with number n, which counts
	// from 0 over all connections. What r refers to must stay unchanged until the caller
	// calls Fill with r again.
	Fill(r *Request, n int64)
}

// Request is one request. The body's length decides on Content-Length.
type Request struct {
	Head head.Request
	Body []byte
	// Buffer is memory that the request owns. Only Fill uses it: Body may be memory of the
	// source.
	Buffer []byte
}

// Ramp is a part of a schedule, in which the rate goes evenly from one value to another.
type Ramp struct {
	From, To float64 // requests per second
	Time     time.Duration
}
