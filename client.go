package gale

import (
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"sync"
	"time"
)

// Client sends requests to any number of hosts. Its zero value is ready for
// use.
//
// It creates a [HostClient] for each host at the first request for it. The
// HostClient gets the values of the fields that have the same names. The Client
// forgets it when it has no connections and wasn't used for a while.
//
// Its methods may be called concurrently. Fields must not be changed after the
// first call. A Client must not be copied. It needs no closing and runs no
// goroutine of its own: its connections are closed after they have been idle for
// MaxIdleConnDuration.
type Client struct {
	noCopy noCopy

	// Transport sends the requests; nil means [DefaultTransport].
	Transport RoundTripper

	// DialTimeout makes a new connection to addr within timeout; a timeout of 0
	// means only the dialer's own limit applies. It is used instead of Dial.
	DialTimeout DialFuncWithTimeout

	// Dial makes a new connection to addr. If neither it nor DialTimeout nor
	// DialContext is set, [TCPDialer] with its defaults is used. See
	// HostClient.Dial.
	Dial DialFunc

	// DialContext makes a new connection to addr. It is used instead of Dial
	// and DialTimeout, and must return when ctx ends.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)

	// TLSConfig is used for https. If its ServerName is empty, the server's
	// certificate must match the host of the URI. nil means the defaults of
	// crypto/tls.
	TLSConfig *tls.Config

	// Proxy returns the URL of the proxy for requests to a URI, or nil for no
	// proxy; [ProxyFromEnvironment] is such a function. The URI is valid only
	// during the call. The proxy's scheme is http, https or socks5; its URL may
	// have a user and a password. If Proxy is nil, the default, no proxy is used.
	// Proxy must not block: the context and the time limits of a request count from
	// its end.
	//
	// An http or https proxy gets requests for http as they are. Everything else is
	// tunneled (RFC 9110 section 9.3.6). The connection to the proxy is made with
	// Dial (or DialTimeout or DialContext), like one to a host. The proxy can't read
	// what is sent by https.
	Proxy func(uri *URI) (*url.URL, error)

	// Jar keeps the cookies of responses and adds them to requests, also to those
	// that follow a redirect. If the request itself has a cookie of the same name,
	// that one is sent. nil, the default, keeps no cookies.
	Jar CookieJar

	// Uncompress asks servers for compressed responses and decodes their bodies:
	// gzip, br and zstd. The decoded response has no Content-Encoding. If a decoded
	// body is longer than MaxResponseBodySize, decoding stops there and the error
	// is [ErrBodyTooLarge]. Streamed bodies are decoded while they are read, and
	// their reader sets the limit. HEAD requests, and requests that have an
	// Accept-Encoding or a Range of their own, are not changed.
	Uncompress bool

	// RetryIf decides whether a failed request is sent again. It replaces the rules
	// described at HostClient.Do.
	//
	// Deprecated: use RetryIfErr, which gets the error. If RetryIfErr is set,
	// RetryIf is not called.
	RetryIf RetryIfFunc

	// RetryIfErr decides whether a failed request is sent again. It replaces the
	// rules described at HostClient.Do. It isn't called after
	// MaxIdemponentCallAttempts attempts, nor for a request whose body is a stream.
	RetryIfErr RetryIfErrFunc

	// RetryIfErrUpstream is like RetryIfErr, but also gets the address that failed.
	// If it is set, RetryIfErr is not called.
	RetryIfErrUpstream RetryIfErrUpstreamFunc

	// ConfigureClient changes the settings for a host before the first request to
	// it. hc.Addr is the host's address. If it returns an error, the requests that
	// wait for the host fail with it; the next request calls it again. For one host
	// it is never called twice at the same time. No lock is held during the call,
	// so it may use the Client for other hosts. It must not block: the contexts and
	// time limits of requests count from its end.
	ConfigureClient func(hc *HostClient) error

	// Name is the User-Agent of requests that have none. If it is empty, that is
	// "gale". See NoDefaultUserAgentHeader.
	Name string

	// MaxConnsPerHost is the largest number of connections to a host; 0 means
	// [DefaultMaxConnsPerHost]. When all are in use, a request fails with
	// [ErrNoFreeConns] or waits, see MaxConnWaitTimeout.
	MaxConnsPerHost int

	// MaxIdleConnDuration is how long a connection may be idle before it is closed;
	// 0 means [DefaultMaxIdleConnDuration].
	MaxIdleConnDuration time.Duration

	// MaxConnDuration is how long a connection is used. The first request after
	// that time is the last one on it and says `Connection: close`, unless the
	// request has a Connection header already, which is kept. 0 sets no limit.
	MaxConnDuration time.Duration

	// MaxIdemponentCallAttempts is how many times a request is sent at most. 0 and
	// negative values mean [DefaultMaxIdemponentCallAttempts].
	MaxIdemponentCallAttempts int

	// ReadBufferSize is the maximum size in bytes of a response's head (status line
	// and headers); 0 means 64 KiB. See HostClient.ReadBufferSize.
	ReadBufferSize int

	// WriteBufferSize is the size in bytes of the buffer for sending a streamed
	// request body; 0 means 4096.
	WriteBufferSize int

	// ReadTimeout limits the time to read a response with its body. It starts when
	// the request has been written. It also applies while a streamed body is read.
	// 0 sets no limit.
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

	// MaxConnWaitTimeout is how long a request waits for a connection when
	// MaxConnsPerHost are in use. Waiting requests get connections in the order in
	// which they came. 0 means that requests don't wait.
	MaxConnWaitTimeout time.Duration

	// ConnPoolStrategy says which idle connection is used next.
	ConnPoolStrategy ConnPoolStrategyType

	// HTTP2 says whether HTTP/2 is used. The default, HTTP2Auto, uses it for https if
	// the server chooses it, also through a proxy. HTTP2Only uses it for http, too.
	// Requests for http that a proxy gets as they are always use HTTP/1.1. See
	// HostClient.HTTP2.
	HTTP2 HTTP2Mode

	// NoDefaultUserAgentHeader leaves out User-Agent in requests that have none.
	NoDefaultUserAgentHeader bool

	// DialDualStack makes the default dialer use IPv6 addresses as well as IPv4
	// addresses. It does so anyway, unless the program imports the compat module.
	DialDualStack bool

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

	// StreamResponseBody makes Do return when the response's headers have arrived;
	// see HostClient.StreamResponseBody.
	StreamResponseBody bool

	// Trace holds functions to call at the stages of requests; nil means none.
	Trace *ClientTrace

	mu      sync.RWMutex
	hosts   [2]hostMap  // for http and https
	sweeper *time.Timer // forgets hosts; runs while there are any
}

// Do sends req and reads the response into resp, or drops the response if resp is
// nil. The URI of req must have a scheme (http or https) and a host. A URI without
// them needs a Host header; the request then goes to that host by http. Redirects
// aren't followed; see DoRedirects and Get.
//
// HostClient.Do says when a request is sent again, and lists the errors. After Do
// has returned, the client no longer uses req and resp.
func (c *Client) Do(req *Request, resp *Response) error { return c.do(context.Background(), req, resp) }

// DoContext is Do with a context: when ctx ends, it returns ctx.Err(), whatever it
// is waiting for. See HostClient.DoContext.
func (c *Client) DoContext(ctx context.Context, req *Request, resp *Response) error {
	return c.do(ctx, req, resp)
}

// DoTimeout is Do with a time limit: after timeout it returns [ErrTimeout],
// whatever it is waiting for. If timeout is 0 or negative, it returns that error at
// once. The limit also applies to the body of a streamed response.
func (c *Client) DoTimeout(req *Request, resp *Response, timeout time.Duration) error {
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
func (c *Client) DoDeadline(req *Request, resp *Response, deadline time.Time) error {
	return c.DoTimeout(req, resp, time.Until(deadline))
}

// do sends req to its host.
func (c *Client) do(ctx context.Context, req *Request, resp *Response) error {
	h, err := c.acquireHost(req)
	if err != nil {
		req.dropStream(err)
		return resp.failed(err)
	}
	defer h.uses.Add(-1)
	hc := h.hc.Load()
	if c.Jar != nil || c.Uncompress || hc.proxyAuth != "" {
		return c.doAround(ctx, hc, req, resp)
	}
	return hc.do(ctx, req, resp)
}

// doAround is do with a client's work before and after an exchange: cookies, the
// proxy's credentials, decompression.
func (c *Client) doAround(ctx context.Context, hc *HostClient, req *Request, resp *Response) error {
	if resp == nil {
		resp = acquireResponse()
		defer releaseDropped(resp)
	}
	if c.Jar != nil {
		defer addCookies(c.Jar, req)()
	}
	if hc.proxyAuth != "" && len(req.Header.Peek(HeaderProxyAuthorization)) == 0 {
		req.Header.Set(HeaderProxyAuthorization, hc.proxyAuth)
		defer req.Header.Del(HeaderProxyAuthorization) // it is not for others
	}
	asked := c.Uncompress && askCompressed(&req.Header)
	err := hc.do(ctx, req, resp)
	if asked {
		req.Header.Del(HeaderAcceptEncoding)
	}
	if err != nil {
		return err
	}
	if c.Jar != nil {
		keepCookies(c.Jar, req.URI(), &resp.Header)
	}
	if asked {
		if err := uncompress(resp, hc.maxBody()); err != nil {
			return resp.failed(err)
		}
	}
	return nil
}

// CloseIdleConnections closes the connections that are idle. Connections in use
// stay open.
func (c *Client) CloseIdleConnections() {
	for _, hc := range c.hostClients() {
		hc.CloseIdleConnections()
	}
}

// ConnsCount returns the number of connections to all hosts, whether idle, in use
// or being made.
func (c *Client) ConnsCount() int { return c.PoolStats().Open }

// IdleConnsCount returns the number of idle connections to all hosts.
func (c *Client) IdleConnsCount() int { return c.PoolStats().Idle }

// PoolStats returns the sums of HostClient.PoolStats over the hosts that the client
// knows at the moment.
func (c *Client) PoolStats() PoolStats {
	var sum PoolStats
	for _, hc := range c.hostClients() {
		s := hc.PoolStats()
		sum.Open += s.Open
		sum.Idle += s.Idle
		sum.Waiting += s.Waiting
		sum.Dials += s.Dials
		sum.DialErrors += s.DialErrors
		sum.Reuses += s.Reuses
		sum.Waits += s.Waits
		sum.Dead += s.Dead
		sum.Expired += s.Expired
	}
	return sum
}
