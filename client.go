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
// It makes a [HostClient] for each host when that is first asked for, with the
// settings of the fields of the same names, and forgets it when it has no
// connections and wasn't used for a while.
//
// Its methods may be called concurrently. Fields must not be changed after the
// first call. A Client must not be copied. It has no goroutine of its own, and
// needs no closing: once its connections have been idle for
// MaxIdleConnDuration, nothing is left of it but a map.
type Client struct {
	noCopy noCopy

	// Transport sends the requests; nil means [DefaultTransport].
	Transport RoundTripper

	// DialTimeout makes a new connection to addr within timeout; 0 means
	// that there is no limit but the dialer's own. It is used instead of Dial.
	DialTimeout DialFuncWithTimeout

	// Dial makes a new connection to addr. If neither it nor DialTimeout nor
	// DialContext is set, [TCPDialer] with its defaults is used. See
	// HostClient.Dial.
	Dial DialFunc

	// DialContext makes a new connection to addr. It is used instead of Dial
	// and DialTimeout, and must return when ctx ends. Not in fasthttp.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)

	// TLSConfig is used for https. Without a ServerName the host of the URI is
	// verified. nil means the defaults of crypto/tls.
	TLSConfig *tls.Config

	// Proxy returns the URL of the proxy for requests to a URI, nil for none;
	// [ProxyFromEnvironment] is one. The URI is only good for the call. Schemes
	// of proxies are http, https and socks5; user and password may be given.
	// nil, the default, uses no proxy. Not in fasthttp.
	//
	// Requests for http are sent to a proxy of http as they are, everything
	// else is tunneled (RFC 9110 section 9.3.6). The proxy is dialed as a host
	// would be, and never sees what is sent by https.
	Proxy func(uri *URI) (*url.URL, error)

	// Jar keeps the cookies of responses and adds them to requests, those of
	// redirects too. A cookie that the request has by itself wins over one
	// of the jar. nil, the default, keeps none. Not in fasthttp.
	Jar CookieJar

	// Uncompress asks servers for compressed responses and decodes their
	// bodies: gzip, br and zstd. Content-Encoding is gone from the response
	// then. A body that is longer than MaxResponseBodySize when decoded is
	// [ErrBodyTooLarge]; only as much of it is decoded. Streamed bodies are
	// decoded as they are read; their reader sets the limit. Requests that name
	// an Accept-Encoding or a Range themselves, and HEAD, are left alone. Not
	// in fasthttp.
	Uncompress bool

	// RetryIf says whether a request that failed is sent again, instead of the
	// rules that are given at HostClient.Do.
	//
	// Deprecated: use RetryIfErr, which knows the error, and which is used
	// instead if it is set.
	RetryIf RetryIfFunc

	// RetryIfErr says whether a request that failed is sent again, instead of
	// the rules that are given at HostClient.Do. It isn't asked after
	// MaxIdemponentCallAttempts, nor for a body that is a stream.
	RetryIfErr RetryIfErrFunc

	// RetryIfErrUpstream is RetryIfErr with the address that failed, and is
	// used instead of it.
	RetryIfErrUpstream RetryIfErrUpstreamFunc

	// ConfigureClient changes the settings for a host before it is used. hc
	// has its address in Addr. An error fails the requests that wait for the
	// host; the next one tries again. It runs once at a time for a host,
	// without any lock, and may use the Client for other hosts.
	ConfigureClient func(hc *HostClient) error

	// Name is sent as the User-Agent of requests that have none, "gale" if
	// empty. See NoDefaultUserAgentHeader.
	Name string

	// MaxConnsPerHost is how many connections there may be to a host,
	// [DefaultMaxConnsPerHost] if 0. Requests beyond it fail with
	// [ErrNoFreeConns], or wait, see MaxConnWaitTimeout.
	MaxConnsPerHost int

	// MaxIdleConnDuration is how long a connection may be idle before it is
	// closed, [DefaultMaxIdleConnDuration] if 0.
	MaxIdleConnDuration time.Duration

	// MaxConnDuration is how long a connection may live. The first request after
	// that is its last and says `Connection: close`, unless it has a Connection field
	// of its own, which stays. 0 sets no limit.
	MaxConnDuration time.Duration

	// MaxIdemponentCallAttempts is how often a request is sent at most,
	// [DefaultMaxIdemponentCallAttempts] if it is not positive.
	MaxIdemponentCallAttempts int

	// ReadBufferSize is the longest head of a response in bytes, 64 KiB if 0.
	// See HostClient.ReadBufferSize.
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
	// 0 means no limit.) It doesn't hold for streamed bodies, except with the Get and
	// Post methods, which return the whole body.
	MaxResponseBodySize int

	// MaxConnWaitTimeout is how long a request waits for a connection when
	// there are MaxConnsPerHost; those that wait get one in the order in which they
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

	// DisableHeaderNamesNormalizing leaves the names of fields as they are
	// given or received; see RequestHeader.DisableNormalizing.
	DisableHeaderNamesNormalizing bool

	// DisablePathNormalizing sends paths as they are given; see
	// URI.DisablePathNormalizing.
	DisablePathNormalizing bool

	// StreamResponseBody makes Do return when the head of the response is
	// there; see HostClient.StreamResponseBody.
	StreamResponseBody bool

	// Trace is called at the stages of requests; nil for none. Not in fasthttp.
	Trace *ClientTrace

	mu      sync.RWMutex
	hosts   [2]hostMap  // for http and https
	sweeper *time.Timer // forgets hosts; runs while there are any
}

// Do sends req and reads the response into resp, or drops it if resp is nil. The
// URI of req must have a scheme, http or https, and a host, or the header a
// Host, to which req then goes by http. Redirects aren't followed; see
// DoRedirects and Get.
//
// See HostClient.Do for when a request is sent again, and for errors. When Do has
// returned nothing touches req and resp any more.
func (c *Client) Do(req *Request, resp *Response) error { return c.do(context.Background(), req, resp) }

// DoContext is Do that returns when ctx ends, with ctx.Err(), whatever it waits
// for; see HostClient.DoContext. Not in fasthttp.
func (c *Client) DoContext(ctx context.Context, req *Request, resp *Response) error {
	return c.do(ctx, req, resp)
}

// DoTimeout is Do that returns [ErrTimeout] after timeout, whatever it waits
// for; at once if that is not positive. The limit holds for the body of a
// streamed response as well.
func (c *Client) DoTimeout(req *Request, resp *Response, timeout time.Duration) error {
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
func (c *Client) DoDeadline(req *Request, resp *Response, deadline time.Time) error {
	return c.DoTimeout(req, resp, time.Until(deadline))
}

// do sends req to its host.
func (c *Client) do(ctx context.Context, req *Request, resp *Response) error {
	h, err := c.acquireHost(req)
	if err != nil {
		if req.hasStream() {
			_ = req.closeStream(err)
		}
		return resp.failed(err)
	}
	defer h.uses.Add(-1)
	hc := h.hc.Load()
	if c.Jar != nil || c.Uncompress || hc.proxyAuth != "" {
		return c.doAround(ctx, hc, req, resp)
	}
	return hc.do(ctx, req, resp)
}

// doAround is do with what a client may do before and after an exchange.
func (c *Client) doAround(ctx context.Context, hc *HostClient, req *Request, resp *Response) error {
	if resp == nil {
		resp = AcquireResponse()
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

// CloseIdleConnections closes the connections that are idle. Those in use stay.
func (c *Client) CloseIdleConnections() {
	for _, hc := range c.hostClients() {
		hc.CloseIdleConnections()
	}
}

// ConnsCount returns the number of connections to all hosts, idle, in use or
// being made.
func (c *Client) ConnsCount() int { return c.PoolStats().Open }

// IdleConnsCount returns the number of idle connections to all hosts.
func (c *Client) IdleConnsCount() int { return c.PoolStats().Idle }

// PoolStats returns the sums over the hosts that the client knows at the moment.
// Not in fasthttp.
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
