package gale

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/pool"
)

// The defaults of clients.
const (
	// DefaultMaxConnsPerHost is how many connections a client has to a host
	// at most, unless MaxConns or MaxConnsPerHost say otherwise.
	DefaultMaxConnsPerHost = 512
	// DefaultMaxIdleConnDuration is how long an idle connection is kept,
	// unless MaxIdleConnDuration says otherwise.
	DefaultMaxIdleConnDuration = 10 * time.Second
	// DefaultMaxIdemponentCallAttempts is how often a request is sent at
	// most, unless MaxIdemponentCallAttempts says otherwise.
	DefaultMaxIdemponentCallAttempts = 5
	// DefaultMaxPendingRequests is how many requests a connection of a
	// PipelineClient holds, unless MaxPendingRequests says otherwise.
	DefaultMaxPendingRequests = 1024
	// DefaultMaxResponseBodySize is the limit in bytes for the body of a
	// response that isn't streamed, unless MaxResponseBodySize says
	// otherwise. Not in fasthttp, which has no limit.
	DefaultMaxResponseBodySize = 256 << 20
	// DefaultExpectContinueTimeout is how long a client waits for a 100
	// before it sends the body, unless ExpectContinueTimeout says otherwise.
	// Not in fasthttp, which doesn't wait.
	DefaultExpectContinueTimeout = time.Second
)

// ConnPoolStrategyType says which of the idle connections is used next.
type ConnPoolStrategyType int

const (
	// FIFO takes the connection that has been idle for longest, which spreads
	// requests over all connections. It is the default.
	FIFO ConnPoolStrategyType = iota
	// LIFO takes the connection that was used last, so that those that aren't
	// needed become old and are closed.
	LIFO
)

// RetryIfFunc says whether a request that failed is sent again.
type RetryIfFunc func(request *Request) bool

// RetryIfErrFunc says whether a request that failed is sent again, and
// whether the time limit of the request starts anew then. attempts counts from
// 1. err is the error of the attempt: io.EOF if the connection ended
// before the first byte of a response.
type RetryIfErrFunc func(request *Request, attempts int, err error) (resetTimeout, retry bool)

// RetryIfErrUpstreamFunc is a [RetryIfErrFunc] that is also told the address,
// host:port, of the server that failed; it is empty if that isn't known.
type RetryIfErrUpstreamFunc func(request *Request, attempts int, err error, upstream string) (resetTimeout, retry bool)

// RoundTripper sends a request once, over a connection of hc, and reads the
// response. retry says whether it makes sense to send the request again after
// err. resp is never nil. Implementations wrap [DefaultTransport].
type RoundTripper interface {
	RoundTrip(hc *HostClient, req *Request, resp *Response) (retry bool, err error)
}

// DefaultTransport is the RoundTripper of clients that have no other. It takes a
// connection of the HostClient's pool, sends the request, reads the response and
// gives the connection back.
var DefaultTransport RoundTripper = transport{}

// HostClient sends requests to one host, or to several that serve the same, over
// connections that are used again and again.
//
// Its methods may be called concurrently. Fields must not be changed after the
// first call, except MaxConns, see SetMaxConns. A HostClient must not be copied.
// It has no goroutine of its own: while no request is running there is at
// most one timer, which closes idle connections.
//
// A connection is used again only if the exchange before ended as RFC 9112
// wants it: a response that breaks the rules, that ends early, or that is
// followed by bytes that weren't asked for costs the connection. On Unix, one that the
// server closed while it was idle, or that has sent something, is found before it is
// used.
type HostClient struct {
	noCopy noCopy

	// Transport sends the requests; nil means [DefaultTransport].
	Transport RoundTripper

	// DialTimeout makes a new connection to addr within timeout; 0 means
	// that there is no limit but the dialer's own. It is used instead of Dial.
	DialTimeout DialFuncWithTimeout

	// Dial makes a new connection to addr. If neither it nor DialTimeout nor
	// DialContext is set, [TCPDialer] with its defaults is used. The connection may
	// be a *tls.Conn already if IsTLS is set.
	//
	// A call that has a time limit or a context doesn't wait for Dial longer
	// than that; Dial then goes on in a goroutine, and a connection that comes late
	// serves other requests. (In fasthttp such calls wait for Dial.)
	Dial DialFunc

	// DialContext makes a new connection to addr; network is "tcp" or "tcp4",
	// see DialDualStack. It is used instead of Dial and DialTimeout, and must
	// return when ctx ends. Not in fasthttp.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)

	// TLSConfig is used for connections with TLS; it is copied for each
	// address. Without a ServerName the host of the address is verified.
	TLSConfig *tls.Config

	// RetryIf says whether a request that failed is sent again, instead of the
	// rules that are given at Do.
	//
	// Deprecated: use RetryIfErr, which knows the error, and which is used
	// instead if it is set.
	RetryIf RetryIfFunc

	// RetryIfErr says whether a request that failed is sent again, instead of
	// the rules that are given at Do. It isn't asked after
	// MaxIdemponentCallAttempts, nor for a body that is a stream.
	RetryIfErr RetryIfErrFunc

	// RetryIfErrUpstream is RetryIfErr with the address that failed, and is
	// used instead of it.
	RetryIfErrUpstream RetryIfErrUpstreamFunc

	// Addr is the address to connect to, or several separated by commas, which
	// take turns. The default dialer adds the port 80, or 443 with IsTLS, unless
	// it is given; DialContext, DialTimeout and Dial get addresses as they are here.
	Addr string

	// Name is sent as the User-Agent of requests that have none, "gale" if
	// empty. See NoDefaultUserAgentHeader.
	Name string

	// MaxConns is how many connections there may be, [DefaultMaxConnsPerHost]
	// if 0. Requests beyond it fail with [ErrNoFreeConns], or wait, see
	// MaxConnWaitTimeout. See SetMaxConns for changing it.
	MaxConns int

	// MaxConnDuration is how long a connection may live. The first request after
	// that is its last and says `Connection: close`, unless it has a Connection field
	// of its own, which stays. 0 sets no limit.
	MaxConnDuration time.Duration

	// MaxIdleConnDuration is how long a connection may be idle before it is
	// closed, [DefaultMaxIdleConnDuration] if 0.
	MaxIdleConnDuration time.Duration

	// MaxIdemponentCallAttempts is how often a request is sent at most,
	// [DefaultMaxIdemponentCallAttempts] if it is not positive.
	MaxIdemponentCallAttempts int

	// ReadBufferSize is the longest head of a response in bytes, and the size
	// of the buffers that AcquireReader returns. If 0, they are 64 KiB and 4096.
	ReadBufferSize int

	// WriteBufferSize is the size in bytes of the buffer through which the
	// streamed body of a request goes, 4096 if 0.
	WriteBufferSize int

	// ReadTimeout limits the reading of a response with its body; it begins
	// when the request was written. It also holds while a streamed body is
	// read. 0 sets no limit.
	ReadTimeout time.Duration

	// WriteTimeout limits the writing of a request with its body. 0 sets no limit.
	WriteTimeout time.Duration

	// ResponseHeaderTimeout limits the time from the end of the request to the
	// end of the response's head. 0 sets no limit. Not in fasthttp.
	ResponseHeaderTimeout time.Duration

	// MaxDialDuration limits the time in which a connection is made, the TLS
	// handshake left out. 0 leaves it to the dialer. Not in fasthttp.
	MaxDialDuration time.Duration

	// TLSHandshakeTimeout limits a TLS handshake; [DefaultTLSHandshakeTimeout]
	// if 0, no limit if negative. Not in fasthttp.
	TLSHandshakeTimeout time.Duration

	// ExpectContinueTimeout is how long a request with `Expect: 100-continue` waits
	// for an answer before it sends its body nevertheless (RFC 9110 section
	// 10.1.1); [DefaultExpectContinueTimeout] if 0. If negative it doesn't wait.
	// Not in fasthttp.
	ExpectContinueTimeout time.Duration

	// MaxResponseBodySize is the longest body of a response in bytes; Do
	// returns [ErrBodyTooLarge] for more. 0 means [DefaultMaxResponseBodySize],
	// a negative value no limit; only for servers that are trusted. (In fasthttp
	// 0 means no limit.) It doesn't hold for streamed bodies.
	MaxResponseBodySize int

	// MaxConnWaitTimeout is how long a request waits for a connection when
	// there are MaxConns; those that wait get one in the order in which they
	// came. 0 means not to wait.
	MaxConnWaitTimeout time.Duration

	// ConnPoolStrategy says which idle connection is used next.
	ConnPoolStrategy ConnPoolStrategyType

	// NoDefaultUserAgentHeader leaves out User-Agent in requests that have none.
	NoDefaultUserAgentHeader bool

	// DialDualStack makes the default dialer use addresses of IPv6 as well as
	// those of IPv4, which is what it does anyway unless the program
	// imports the compat module.
	DialDualStack bool

	// IsTLS makes connections use TLS.
	IsTLS bool

	// DisableHeaderNamesNormalizing leaves the names of fields as they are
	// given or received; see RequestHeader.DisableNormalizing.
	DisableHeaderNamesNormalizing bool

	// DisablePathNormalizing sends paths as they are given; see
	// URI.DisablePathNormalizing.
	DisablePathNormalizing bool

	// SecureErrorLogMessage keeps what was received out of error texts.
	SecureErrorLogMessage bool

	// StreamResponseBody makes Do return when the head of the response is
	// there; the body is read from Response.BodyStream, and must be closed, as
	// by Response.CloseBodyStream or Response.Reset. Closing it before its
	// end costs the connection, unless the rest is there already. The time limits of
	// the request and its context hold on for the body.
	//
	// Without a response to put it in, the body is read if it is short, and
	// else dropped with the connection.
	StreamResponseBody bool

	// Trace is called at the stages of requests; nil for none. Not in fasthttp.
	Trace *ClientTrace

	forward   bool   // the addresses are those of a proxy, which wants requests for others
	proxyAuth string // what it knows us by, if not empty

	pool    connPool
	pending atomic.Int64 // calls that go through Transport

	addrs addrList
	tls   tlsConfigs

	readers, writers pool.Pool
}

// Do sends req and reads the response into resp, or drops it if resp is nil.
// req must have a host, in its URI or its header. Redirects aren't followed.
//
// A request is sent again, up to MaxIdemponentCallAttempts times in all, if it
// was sent over a connection that had been used before and was lost before a
// byte of the response came, and if either its method is idempotent (RFC 9110
// section 9.2.2) or not a byte of it had been written. A time-out never makes
// it be sent again, nor is a stream as a body. RetryIf, RetryIfErr and RetryIfErrUpstream
// replace these rules.
//
// Errors are [ErrNoFreeConns], [ErrConnectionClosed], [ErrBodyTooLarge], what
// dialing returns, and errors of the connection and of heads that break the
// rules; [ErrTimeout] after Request.SetTimeout, ReadTimeout, WriteTimeout or
// ResponseHeaderTimeout; an [ErrRequestSent] that wraps one of these for a request that
// is not idempotent and may have reached the server.
//
// After an error resp is empty, wherever the response broke off: as after Reset, with
// StreamBody, SkipBody and KeepBodyBuffer as they were.
//
// When Do has returned nothing touches req and resp any more.
func (c *HostClient) Do(req *Request, resp *Response) error {
	return c.do(context.Background(), req, resp)
}

// DoContext is Do that returns when ctx ends, with ctx.Err(), whatever it waits
// for: a connection, an address, dialing, TLS, the server. Reading a streamed body
// fails from then on. It needs no goroutine while it waits. A context that can't be
// cancelled costs nothing. Not in fasthttp.
func (c *HostClient) DoContext(ctx context.Context, req *Request, resp *Response) error {
	return c.do(ctx, req, resp)
}

// DoTimeout is Do that returns [ErrTimeout] after timeout, whatever it waits
// for; at once if that is not positive. The limit holds for the body of a
// streamed response as well.
func (c *HostClient) DoTimeout(req *Request, resp *Response, timeout time.Duration) error {
	if timeout <= 0 {
		return resp.failed(ErrTimeout)
	}
	before := req.timeout
	req.timeout = timeout
	err := c.do(context.Background(), req, resp)
	req.timeout = before
	return err
}

// DoDeadline is DoTimeout with a point in time.
func (c *HostClient) DoDeadline(req *Request, resp *Response, deadline time.Time) error {
	return c.DoTimeout(req, resp, time.Until(deadline))
}

// PendingRequests returns the number of running requests, those that wait for
// a connection and those whose bodies are being streamed among them.
func (c *HostClient) PendingRequests() int {
	if c.Transport != nil {
		return int(c.pending.Load())
	}
	s := c.PoolStats()
	return s.Open - s.Idle + s.Waiting
}

// LastUseTime returns when a request ended last, the zero time if there was
// none. It may be early by an eighth of MaxIdleConnDuration.
func (c *HostClient) LastUseTime() time.Time {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	return c.pool.lastUse.Time()
}

// SetMaxConns changes MaxConns while the client is in use. Connections in excess
// are closed when they become idle.
func (c *HostClient) SetMaxConns(newMaxConns int) {
	c.pool.mu.Lock()
	c.MaxConns = newMaxConns
	c.pool.grant(c.maxConns())
	c.pool.mu.Unlock()
}

// maxConns is MaxConns or its default; the caller holds the pool's lock.
func (c *HostClient) maxConns() int {
	if c.MaxConns <= 0 {
		return DefaultMaxConnsPerHost
	}
	return c.MaxConns
}

// ConnsCount returns the number of connections, idle, in use or being made.
func (c *HostClient) ConnsCount() int { return c.PoolStats().Open }

// IdleConnsCount returns the number of idle connections.
func (c *HostClient) IdleConnsCount() int { return c.PoolStats().Idle }

// userAgent returns what to send for a request without a User-Agent.
func (c *HostClient) userAgent() string {
	switch {
	case c.NoDefaultUserAgentHeader:
		return ""
	case c.Name != "":
		return c.Name
	}
	return defaultUserAgent
}
