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
	// DefaultMaxConnsPerHost is the largest number of connections of a client to a
	// host, if MaxConns or MaxConnsPerHost isn't set.
	DefaultMaxConnsPerHost = 512
	// DefaultMaxIdleConnDuration is how long an idle connection is kept, if
	// MaxIdleConnDuration isn't set.
	DefaultMaxIdleConnDuration = 10 * time.Second
	// DefaultMaxIdemponentCallAttempts is how many times a request is sent at most,
	// if MaxIdemponentCallAttempts isn't set.
	DefaultMaxIdemponentCallAttempts = 5
	// DefaultMaxPendingRequests is how many requests may be pending on a connection
	// of a PipelineClient, if MaxPendingRequests isn't set.
	DefaultMaxPendingRequests = 1024
	// DefaultMaxResponseBodySize limits the bytes of a response body that isn't
	// streamed, if MaxResponseBodySize isn't set. Not in fasthttp, which has no
	// limit.
	DefaultMaxResponseBodySize = 256 << 20
	// DefaultExpectContinueTimeout is how long a client waits for a 100 response
	// before it sends the body, if ExpectContinueTimeout isn't set. Not in
	// fasthttp, which doesn't wait.
	DefaultExpectContinueTimeout = time.Second
)

// ConnPoolStrategyType says which of the idle connections is used next.
type ConnPoolStrategyType int

const (
	// FIFO takes the connection that has been idle for the longest time. This
	// spreads requests over all connections. It is the default.
	FIFO ConnPoolStrategyType = iota
	// LIFO takes the connection that was used last. Connections that aren't needed
	// then stay idle and are closed.
	LIFO
)

// RetryIfFunc returns whether a failed request is sent again.
type RetryIfFunc func(request *Request) bool

// RetryIfErrFunc returns whether a failed request is sent again (retry), and
// whether the time limit of the request then starts again (resetTimeout). attempts
// counts from 1. err is the error of the attempt: io.EOF if the connection ended
// before the first byte of a response.
type RetryIfErrFunc func(request *Request, attempts int, err error) (resetTimeout, retry bool)

// RetryIfErrUpstreamFunc is a [RetryIfErrFunc] that also gets the address
// (host:port) of the server that failed; it is empty if it isn't known.
type RetryIfErrUpstreamFunc func(request *Request, attempts int, err error, upstream string) (resetTimeout, retry bool)

// RoundTripper sends a request once, over a connection of hc, and reads the
// response. retry says whether it makes sense to send the request again after err.
// resp is never nil. Implementations usually wrap [DefaultTransport].
type RoundTripper interface {
	RoundTrip(hc *HostClient, req *Request, resp *Response) (retry bool, err error)
}

// DefaultTransport is the RoundTripper of clients that set no Transport. It takes a
// connection of the HostClient's pool, sends the request, reads the response and
// gives the connection back.
var DefaultTransport RoundTripper = transport{}

// HostClient sends requests to one host, or to several hosts that serve the same
// content, and reuses its connections.
//
// Its methods may be called concurrently. Fields must not be changed after the
// first call, except MaxConns, see SetMaxConns. A HostClient must not be copied. It
// has no goroutine of its own: while no request is running, it has at most one
// timer, which closes idle connections. Each connection of HTTP/2 has a goroutine, which
// reads, and a timer.
//
// A connection is reused only if the last exchange on it followed RFC 9112. It is
// closed after a response that breaks the rules, that ends early, or that is
// followed by unexpected bytes. On Unix, a connection that the server closed while
// it was idle, or on which the server sent something unexpected, is detected before
// it is used.
type HostClient struct {
	noCopy noCopy

	// Transport sends the requests; nil means [DefaultTransport].
	Transport RoundTripper

	// DialTimeout makes a new connection to addr within timeout; a timeout of 0
	// means only the dialer's own limit applies. It is used instead of Dial.
	DialTimeout DialFuncWithTimeout

	// Dial makes a new connection to addr. If neither it nor DialTimeout nor
	// DialContext is set, [TCPDialer] with its defaults is used. If IsTLS is set,
	// Dial may return a *tls.Conn; otherwise the client starts TLS.
	//
	// If a call has a time limit or a context, it doesn't wait longer for Dial than
	// they allow. Dial then continues in a goroutine, and other requests use its
	// connection. (In fasthttp such calls wait for Dial.)
	Dial DialFunc

	// DialContext makes a new connection to addr; network is "tcp" or "tcp4",
	// see DialDualStack. It is used instead of Dial and DialTimeout, and must
	// return when ctx ends.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)

	// TLSConfig is used for connections with TLS. The client uses a copy for each
	// address. If ServerName is empty, the server's certificate must match the host
	// of the address.
	TLSConfig *tls.Config

	// RetryIf decides whether a failed request is sent again. It replaces the rules
	// described at Do.
	//
	// Deprecated: use RetryIfErr, which gets the error. If RetryIfErr is set,
	// RetryIf is not called.
	RetryIf RetryIfFunc

	// RetryIfErr decides whether a failed request is sent again. It replaces the
	// rules described at Do. It isn't called after MaxIdemponentCallAttempts
	// attempts, nor for a request whose body is a stream.
	RetryIfErr RetryIfErrFunc

	// RetryIfErrUpstream is like RetryIfErr, but also gets the address that failed.
	// If it is set, RetryIfErr is not called.
	RetryIfErrUpstream RetryIfErrUpstreamFunc

	// Addr is the address to connect to, or several addresses separated by commas,
	// which are used in turns. If an address has no port, the default dialer adds
	// 80, or 443 if IsTLS is set. DialContext, DialTimeout and Dial get the
	// addresses as they are here.
	Addr string

	// Name is the User-Agent of requests that have none. If it is empty, that is
	// "gale". See NoDefaultUserAgentHeader.
	Name string

	// MaxConns is the largest number of connections; 0 means
	// [DefaultMaxConnsPerHost]. When all are in use, a request fails with
	// [ErrNoFreeConns] or waits, see MaxConnWaitTimeout. Use SetMaxConns to change
	// it after the first call.
	MaxConns int

	// MaxConnDuration is how long a connection is used. The first request after
	// that time is the last one on it and says `Connection: close`, unless the
	// request has a Connection header already, which is kept. 0 sets no limit. A
	// connection of HTTP/2 gets no request after that time.
	MaxConnDuration time.Duration

	// MaxIdleConnDuration is how long a connection may be idle before it is closed;
	// 0 means [DefaultMaxIdleConnDuration]. A connection of HTTP/2 is idle if it has no
	// requests.
	MaxIdleConnDuration time.Duration

	// MaxIdemponentCallAttempts is how many times a request is sent at most. 0 and
	// negative values mean [DefaultMaxIdemponentCallAttempts].
	MaxIdemponentCallAttempts int

	// ReadBufferSize is the maximum size in bytes of a response's head (status line
	// and headers), and the size of the buffers that AcquireReader returns. If it
	// is 0, these are 64 KiB and 4096 bytes.
	ReadBufferSize int

	// WriteBufferSize is the size in bytes of the buffer for sending a streamed
	// request body; 0 means 4096.
	WriteBufferSize int

	// ReadTimeout limits the time to read a response with its body. It starts when
	// the request has been written. It also applies while a streamed body is read.
	// 0 sets no limit. Over HTTP/2, a request that takes too long ends alone, and the
	// connection stays.
	ReadTimeout time.Duration

	// WriteTimeout limits the time to write a request with its body. 0 sets no
	// limit.
	WriteTimeout time.Duration

	// ResponseHeaderTimeout limits the time from the end of the request to the
	// end of the response's head. 0 sets no limit.
	ResponseHeaderTimeout time.Duration

	// MaxDialDuration limits the time to make a connection, without the TLS
	// handshake. 0 leaves the limit to the dialer.
	MaxDialDuration time.Duration

	// TLSHandshakeTimeout limits the time of a TLS handshake. 0 means
	// [DefaultTLSHandshakeTimeout], a negative value no limit.
	TLSHandshakeTimeout time.Duration

	// ExpectContinueTimeout is how long a request with `Expect: 100-continue` waits
	// for an answer before it sends its body anyway (RFC 9110 section 10.1.1). 0
	// means [DefaultExpectContinueTimeout]; if it is negative, the request doesn't
	// wait. If a final response comes instead, the body isn't sent, unless the status is
	// 2xx and the response is a stream whose end hasn't come: then the server may still
	// read the body.
	ExpectContinueTimeout time.Duration

	// MaxResponseBodySize is the maximum size in bytes of a response body; for a
	// longer body Do returns [ErrBodyTooLarge]. 0 means
	// [DefaultMaxResponseBodySize]. (In fasthttp 0 means no limit.) A negative
	// value means no limit; use it only with servers that you trust. The limit
	// doesn't apply to streamed bodies, except in the Get and Post methods, which
	// return the whole body.
	MaxResponseBodySize int

	// MaxConnWaitTimeout is how long a request waits for a connection when MaxConns
	// are in use. Waiting requests get connections in the order in which they came.
	// 0 means that requests don't wait.
	MaxConnWaitTimeout time.Duration

	// ConnPoolStrategy says which idle connection is used next. It doesn't apply to
	// connections of HTTP/2, which many requests share.
	ConnPoolStrategy ConnPoolStrategyType

	// HTTP2 says whether HTTP/2 (RFC 9113) is used. The default, HTTP2Auto, uses it if
	// IsTLS is set and the server chooses it (ALPN). If a dial function returns a
	// connection with TLS that has chosen HTTP/2, that is used too, unless HTTP2Off is
	// set.
	//
	// All requests share one connection of HTTP/2, or one for each address in Addr. When
	// the server accepts no more streams on it, another one is made. MaxConns counts
	// connections, of both protocols; when the streams of MaxConns connections are in use,
	// requests wait for a stream as MaxConnWaitTimeout says. While the first connection is
	// made, other requests wait for it, because they may share it. If it fails, they fail
	// too. A connection never serves other hosts (RFC 9113 section 9.1.1).
	//
	// CONNECT requests, and requests with Upgrade, use HTTP/1.1. With HTTP2Only they fail.
	HTTP2 HTTP2Mode

	// NoDefaultUserAgentHeader leaves out User-Agent in requests that have none.
	NoDefaultUserAgentHeader bool

	// DialDualStack makes the default dialer use IPv6 addresses as well as IPv4
	// addresses. It does so anyway, unless the program imports the compat module.
	DialDualStack bool

	// IsTLS makes connections use TLS.
	IsTLS bool

	// DisableHeaderNamesNormalizing keeps the spelling of header names as they are
	// set or received; see RequestHeader.DisableNormalizing.
	DisableHeaderNamesNormalizing bool

	// RefuseFoldedFields makes a response with a folded field line an error. Otherwise each
	// fold is replaced by a space (RFC 9112 section 5.2).
	RefuseFoldedFields bool

	// DisablePathNormalizing sends paths as they are given, also those of redirects: `%2F`
	// stays `%2F`, `//` stays `//`. By default `%2F` is sent as a slash, because that is what
	// RequestCtx.Path and URI.Path have normalised and a program has checked; see
	// [URI.DisablePathNormalizing].
	DisablePathNormalizing bool

	// SecureErrorLogMessage keeps received data out of the texts of errors.
	SecureErrorLogMessage bool

	// StreamResponseBody makes Do return when the response's headers have arrived.
	// The body is read from Response.BodyStream and must be closed, for example by
	// Response.CloseBodyStream or Response.Reset. If it is closed before its end,
	// the connection is closed too, unless the rest of the body has already
	// arrived; over HTTP/2 only its stream is reset. The time limits of the request and
	// its context still apply while the body is read. Do doesn't wait until a long body of the
	// request, or a stream, was sent.
	//
	// If resp is nil, a short body is read to its end, and the connection of a
	// longer one is closed.
	StreamResponseBody bool

	// Trace holds functions to call at the stages of requests; nil means none.
	Trace *ClientTrace

	forward   bool   // the addresses are those of a proxy, which wants requests for others
	proxyAuth string // the Proxy-Authorization to send to it, or empty

	dialALPN dialALPN // makes connections with TLS instead of DialContext, see door.DialTLS

	pool    connPool
	pending atomic.Int64 // calls that go through Transport

	addrs addrList
	tls   tlsConfigs
	h2    h2Host

	readers, writers pool.Pool
}

// Do sends req and reads the response into resp, or drops the response if resp is
// nil. req must have a host, in its URI or its header. Redirects aren't followed.
//
// Do sends a request again if it was sent over a connection that had been used
// before and that was lost before the first byte of the response. In addition, the
// method must be idempotent (RFC 9110 section 9.2.2), or no byte of the request may
// have been written. A request is sent at most MaxIdemponentCallAttempts times. It
// is not sent again after a timeout, or if its body is a stream. RetryIf,
// RetryIfErr and RetryIfErrUpstream replace these rules.
//
// Over HTTP/2, a request with any method is also sent again, without asking these
// functions, if the server says that it has not processed it (GOAWAY or REFUSED_STREAM,
// RFC 9113 section 8.7), or if no byte of it was written before the connection ended. That
// is also limited by MaxIdemponentCallAttempts. After REFUSED_STREAM the client waits before it
// tries again, from 1 ms up to 256 ms. A request whose body is a stream is sent
// again only if nothing was read from the stream.
//
// Errors are:
//
//   - [ErrNoFreeConns], [ErrConnectionClosed], [ErrBodyTooLarge] and the errors of
//     dialing,
//   - errors of the connection, and of response heads that break the rules,
//   - [ErrTimeout] after the limit of Request.SetTimeout, ReadTimeout, WriteTimeout
//     or ResponseHeaderTimeout,
//   - a [*StreamResetError] or a [*HTTP2ConnError] if HTTP/2 reports an error; errors.As
//     tells them apart and gives the code,
//   - an [ErrRequestSent] that wraps one of these, if the request isn't idempotent
//     and may have reached the server.
//
// After an error resp is empty, wherever the response broke off. It is as after
// Reset, but StreamBody, SkipBody and KeepBodyBuffer keep their values.
//
// A response may come before all of the request was sent (RFC 9112 section 9.5). Do then
// returns it and doesn't send the rest; a connection of HTTP/1.1 isn't used again.
//
// After Do has returned, the client no longer uses req and resp, and req has no body stream. The
// stream was closed, with one exception: a call of its Read, or of a StreamWriter, may still run in
// a goroutine of the client, because a response, an error or the end of a time limit doesn't wait
// for it. That goroutine closes the stream when the call returns. The streams of this package, of
// io.Pipe, files and connections are closed during their Read instead, which ends it. If the
// response is streamed, the body may still be sent until the response ends or is closed.
func (c *HostClient) Do(req *Request, resp *Response) error {
	return c.do(context.Background(), req, resp)
}

// DoContext is Do with a context: when ctx ends, it returns ctx.Err(), whether it
// is waiting for a connection, an address, dialing, TLS or the server. Reads of a
// streamed body fail after that. It needs no goroutine while it waits. A context
// that can't be cancelled costs nothing.
func (c *HostClient) DoContext(ctx context.Context, req *Request, resp *Response) error {
	return c.do(ctx, req, resp)
}

// DoTimeout is Do with a time limit: after timeout it returns [ErrTimeout],
// whatever it is waiting for. If timeout is 0 or negative, it returns that error at
// once. The limit also applies to the body of a streamed response.
func (c *HostClient) DoTimeout(req *Request, resp *Response, timeout time.Duration) error {
	if timeout <= 0 {
		req.dropStream(ErrTimeout)
		return resp.failed(ErrTimeout)
	}
	before := req.timeout
	req.timeout = timeout
	err := c.do(context.Background(), req, resp)
	req.timeout = before
	return err
}

// DoDeadline is DoTimeout with a deadline instead of a timeout.
func (c *HostClient) DoDeadline(req *Request, resp *Response, deadline time.Time) error {
	return c.DoTimeout(req, resp, time.Until(deadline))
}

// PendingRequests returns the number of running requests. It includes those that
// wait for a connection and those whose response body is being streamed.
func (c *HostClient) PendingRequests() int {
	if c.Transport != nil {
		return int(c.pending.Load())
	}
	p := &c.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	var s PoolStats
	running := c.pool.shared.count(&s)
	return p.open - len(c.pool.shared.all) - p.idle.n + running + p.line.n + s.Waiting
}

// LastUseTime returns when the last request ended, or the zero time if there was
// none. It may be too early by up to an eighth of MaxIdleConnDuration.
func (c *HostClient) LastUseTime() time.Time {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	last := c.pool.lastUse
	for _, w := range c.pool.shared.all {
		last = max(last, w.idleSince())
	}
	return last.Time()
}

// SetMaxConns changes MaxConns while the client is in use. Connections above the
// new limit are closed when they become idle.
func (c *HostClient) SetMaxConns(newMaxConns int) {
	c.pool.mu.Lock()
	c.MaxConns = newMaxConns
	c.serveLines()
	c.pool.mu.Unlock()
}

// maxConns is MaxConns or its default; the caller holds the pool's lock.
func (c *HostClient) maxConns() int {
	if c.MaxConns <= 0 {
		return DefaultMaxConnsPerHost
	}
	return c.MaxConns
}

// ConnsCount returns the number of connections, whether idle, in use or being made.
func (c *HostClient) ConnsCount() int { return c.PoolStats().Open }

// IdleConnsCount returns the number of idle connections.
func (c *HostClient) IdleConnsCount() int { return c.PoolStats().Idle }
