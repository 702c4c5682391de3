package reverse

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
)

// The defaults of a Proxy.
const (
	DefaultMaxConnWait           = 5 * time.Second
	DefaultMaxRequestBodySize    = 1 << 30
	DefaultDialTimeout           = 10 * time.Second
	DefaultResponseHeaderTimeout = time.Minute
	DefaultBodyIdleTimeout       = time.Minute
	DefaultUpgradeIdleTimeout    = 5 * time.Minute
	DefaultMaxFails              = 3
	DefaultFailTime              = 10 * time.Second
)

// Proxy passes requests on to upstream servers. Set its fields before the first
// request. Most programs only need Upstreams; the zero values of the other fields
// are good defaults. Its methods may be called concurrently. A Proxy must not be
// copied.
//
// For durations, 0 means the default and a negative value no limit, unless the field says
// otherwise.
type Proxy struct {
	// Upstreams are the servers: "host:port", or a URL of the scheme http or https.
	// The path of the URL is added in front of the path of each request.
	//
	// A request goes to the upstream with the fewest running requests. If several
	// have the same number, it goes to the one that was chosen the longest time
	// ago. Upstreams that fail are left out for a while, see MaxFails and
	// HealthCheck.
	Upstreams []string

	// DialContext makes connections to upstreams, instead of [gale.TCPDialer] with
	// its defaults. addr has a port. It must return when ctx ends.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)
	// TLSConfig is used for https upstreams. With nil, the certificate must match
	// the host of the upstream.
	TLSConfig *tls.Config

	// RewriteHost sends the upstream's host in the Host header. By default
	// upstreams get the host that the client asked for.
	RewriteHost bool
	// StripPrefix is removed from paths: with "/api", an upstream gets "/users" for
	// "/api/users", and "/" for "/api". Other paths are answered with 404, as are
	// "//api/users" and "/%61pi/users": the path is compared as the client sent it,
	// while [gale.RequestCtx.Path] is normalized.
	StripPrefix string
	// StrictPaths also answers 400 to paths with an encoded slash or backslash (%2F, %5C),
	// and to those with an empty segment ("//", but not "://"). Set it if a guard in front
	// of the proxy allows a prefix and refuses all other paths: [gale.RequestCtx.Path] finds
	// "/public%2Fx" below /public/, and an upstream may not. Or if an upstream reads %5C as
	// a slash, or a path that begins with "//" as a host. Parameters (";") pass: without them
	// a path is below the same allowed prefix.
	//
	// In any case a path is answered with 400 that has a dot segment, percent-encoded or
	// not, also beside an encoded slash, a backslash or a semicolon, and one with a
	// backslash, "#" or %00: an upstream could find it below another prefix than Path. All
	// other paths are passed on byte for byte. But under adaptor.NewHTTPHandler a path
	// with %2F or %5C is answered with 400, because Path keeps them encoded there and the
	// upstream may not; see "Paths" in the comment of package adaptor.
	StrictPaths bool
	// RawTargets passes every path on as it came, and StrictPaths has no effect. No prefix
	// that a handler has checked in ctx.Path is sure then: the upstream must check paths
	// itself. With StripPrefix, or an upstream that has a path, dot segments are still
	// refused. By default false.
	RawTargets bool
	// Via is the name of this proxy in the Via headers of requests and responses
	// (RFC 9110 section 7.6.3). If it is "", no Via is sent.
	Via string

	// Rewrite changes the headers of a request to an upstream. It is called after
	// the headers that must not be passed on were removed, and after those of this
	// proxy were added. Set headers here that an upstream must be able to rely on:
	// a header that a handler sets in ctx.Request before is removed if the client
	// names it in Connection. Rewrite is called once for each upstream that is
	// tried, and must not keep h. It can't change how the body is framed.
	Rewrite func(ctx *gale.RequestCtx, h *gale.RequestHeader)

	// TrustedProxies are the addresses of proxies in front of this one. The headers
	// Forwarded, X-Forwarded-* and X-Real-IP of requests from these addresses are
	// kept and extended. They are removed from all other requests, because any
	// client could write them.
	TrustedProxies []netip.Prefix
	// Forwarded also sends the Forwarded header of RFC 7239. X-Forwarded-For,
	// X-Forwarded-Host and X-Forwarded-Proto are always sent.
	Forwarded bool

	// HTTP2 says whether upstreams are asked over HTTP/2. By default https upstreams
	// that choose it in the TLS handshake are, unless the program imports the compat
	// module. With [gale.HTTP2Only] all upstreams must speak it, also http upstreams
	// (prior knowledge, RFC 9113 section 3.3); requests for an upgrade are then
	// answered with 501. See [gale.HostClient.HTTP2]. Without HTTP2Only, requests for
	// an upgrade, such as those of WebSockets, use connections of HTTP/1.1.
	HTTP2 gale.HTTP2Mode

	// MaxConns is the largest number of connections to an upstream, without those of
	// requests for an upgrade. 0 means [gale.DefaultMaxConnsPerHost]. Requests share a
	// connection of HTTP/2; another one is made when the upstream accepts no more
	// of them.
	MaxConns int
	// MaxUpgrades is the largest number of connections to an upstream for requests for an
	// upgrade, such as those of WebSockets, and for what follows them. 0 means
	// [gale.DefaultMaxConnsPerHost].
	MaxUpgrades int
	// MaxConnsPerClient and MaxUpgradesPerClient are the parts of MaxConns and MaxUpgrades
	// that one client may use. 0 means a quarter, at least 1; a negative value means
	// no limit. Where an upstream may be asked over HTTP/2, 100 requests count as a
	// connection. Further requests of the client wait for MaxConnWait, as many of
	// them as may run; those beyond are answered with 503 at once.
	//
	// A client is an IPv4 address, or a prefix of 56 bits of IPv6. If the peer is one of
	// TrustedProxies, or of Server.TrustedProxies, it is the address that the peer names, as
	// in [gale.RequestCtx.ClientIP]. So an unlisted proxy or load balancer in front of this
	// one counts as a single client. Peers of this machine and those without an IP address
	// are not limited.
	MaxConnsPerClient, MaxUpgradesPerClient int
	// MaxConnWait is how long a request waits for a place in the client's share, and
	// then for a free connection, or for its turn on one of HTTP/2, before it is answered
	// with 503. If it is negative, requests don't wait.
	MaxConnWait time.Duration
	// MaxRequestBodySize is the maximum size in bytes of a request body; longer
	// ones are answered with 413. 0 means DefaultMaxRequestBodySize, a negative
	// value no limit. Without Server.StreamRequestBody, the server's own limit also
	// applies.
	MaxRequestBodySize int64

	// DialTimeout limits the time to make a connection, including the TLS
	// handshake.
	DialTimeout time.Duration
	// ResponseHeaderTimeout limits the time from the end of a request to the head
	// of the response.
	ResponseHeaderTimeout time.Duration
	// BodyIdleTimeout is how long an upstream may send no bytes of a body, or, before
	// it answers, accept none. For clients the limit is Server.ReadStallTimeout.
	BodyIdleTimeout time.Duration
	// UpgradeIdleTimeout is how long an upgraded connection stays open while
	// neither side sends anything.
	UpgradeIdleTimeout time.Duration
	// Timeout limits the time of a whole exchange with its bodies, but not of an
	// upgraded connection. 0 means no limit.
	Timeout time.Duration

	// MaxFails is the number of failures in a row after which an upstream gets no
	// requests for FailTime, as long as there are other upstreams. 0 means
	// DefaultMaxFails. With a negative value, failures have no such effect.
	// Failures are connections that can't be made, responses that don't come or
	// break off, and timeouts, but not status codes.
	MaxFails int
	// FailTime is how long such an upstream gets no requests. 0 and negative values
	// mean DefaultFailTime.
	FailTime time.Duration
	// HealthCheck checks the health of upstreams. The zero value makes no checks.
	HealthCheck HealthCheck

	// ErrorHandler answers requests that got no response. err is an [*Error]. It
	// may also do other things, such as logging, and may call [WriteError]. It is
	// not called after a part of the response was sent: then the connection to the
	// client is closed. If it is nil, WriteError answers, and errors with a status
	// from 500 are logged by [gale.RequestCtx.Logger], unless the client has gone.
	ErrorHandler func(ctx *gale.RequestCtx, err error)

	once      sync.Once
	bad       error // the error in Upstreams
	upstreams []*upstream
	turns     atomic.Uint64
	tunnels   tunnels
	flights   flights
	open      context.Context // ends with Close
	end       context.CancelFunc
}

// New returns a Proxy for upstreams. The error says that there is no upstream, or
// that one is neither an address nor a URL.
func New(upstreams ...string) (*Proxy, error) {
	p := &Proxy{Upstreams: upstreams}
	_, err := parseUpstreams(upstreams)
	return p, err
}

// Handler passes a request on and answers with the upstream's response. Set
// Server.StreamRequestBody: without it, a body is passed on only after all of it
// has come.
//
// CONNECT and TRACE are answered with 405. An OPTIONS request that Max-Forwards
// keeps from being passed on (RFC 9110 section 7.6.2) is answered with 200.
func (p *Proxy) Handler(ctx *gale.RequestCtx) {
	p.once.Do(p.begin)
	limit := p.maxBody()
	switch {
	case p.bad != nil:
		p.fail(ctx, &Error{StatusCode: gale.StatusServiceUnavailable, Err: p.bad})
		return
	case ctx.IsConnect() || ctx.IsTrace():
		p.fail(ctx, &Error{StatusCode: gale.StatusMethodNotAllowed, Err: errMethod})
		return
	case limit > 0 && bodySize(ctx) > limit:
		p.fail(ctx, &Error{StatusCode: gale.StatusRequestEntityTooLarge, Err: gale.ErrBodyTooLarge})
		return
	case ctx.IsOptions() && lastHop(ctx):
		return
	}
	ctx.LimitRequestBody(limit) // of chunked bodies
	x := p.newExchange(ctx)
	if err := x.runSafely(); err != nil {
		p.fail(ctx, err)
		return
	}
	x.forget()
}

// bodySize returns the length of the body, or -1 or less for a stream that says none: it is limited
// as it is read.
func bodySize(ctx *gale.RequestCtx) int64 {
	if ctx.RequestBodyStream() != nil {
		return door.ContentLength(&ctx.Request.Header)
	}
	return int64(len(ctx.Request.Body()))
}

// lastHop answers a request that Max-Forwards keeps from being passed on, or
// decrements Max-Forwards.
func lastHop(ctx *gale.RequestCtx) bool {
	value := ctx.Request.Header.Peek("Max-Forwards")
	if len(value) == 0 {
		return false
	}
	n, err := strconv.ParseUint(string(value), 10, 31)
	if err != nil {
		return false
	}
	if n == 0 {
		ctx.SetStatusCode(gale.StatusOK)
		return true
	}
	ctx.Request.Header.Set("Max-Forwards", strconv.FormatUint(n-1, 10))
	return false
}

func (p *Proxy) begin() {
	p.open, p.end = context.WithCancel(context.Background())
	targets, err := parseUpstreams(p.Upstreams)
	if err != nil {
		p.bad = err
		return
	}
	for _, t := range targets {
		p.upstreams = append(p.upstreams, p.newUpstream(t))
	}
	if p.HealthCheck.Path != "" {
		for _, u := range p.upstreams {
			go u.check(p)
		}
	}
}

// Close ends the health checks and closes idle connections and those of upgraded
// requests. Later requests are answered with 503; running ones continue.
func (p *Proxy) Close() error {
	p.once.Do(p.begin)
	p.end()
	p.tunnels.close()
	for _, u := range p.upstreams {
		u.client.CloseIdleConnections()
		u.upgrader.CloseIdleConnections()
	}
	return nil
}

// Upgraded returns the number of open upgraded connections.
func (p *Proxy) Upgraded() int { return p.tunnels.len() }

// limit returns d, its default def if d is 0, or 0 for no limit.
func limit(d, def time.Duration) time.Duration {
	switch {
	case d == 0:
		return def
	case d < 0:
		return 0
	}
	return d
}

func (p *Proxy) maxBody() int64 {
	if p.MaxRequestBodySize == 0 {
		return DefaultMaxRequestBodySize
	}
	return p.MaxRequestBodySize
}

var errMethod = errors.New("reverse: CONNECT and TRACE aren't passed on")
