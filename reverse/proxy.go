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

// Proxy passes requests on to upstream servers. Its fields are set before the first
// request; the zero values of all but Upstreams are right for most programs. Its methods
// may be called from any number of goroutines. It must not be copied.
//
// For durations, 0 means the default and a negative value no limit, unless the field says
// otherwise.
type Proxy struct {
	// Upstreams are the servers: "host:port", or a URL of the scheme http or https. The
	// path of a URL is put in front of the path of each request.
	//
	// A request goes to the one with the fewest requests in flight, among equals to the one
	// that was chosen the longest ago. Upstreams that fail are left out, see MaxFails and
	// HealthCheck.
	Upstreams []string

	// DialContext makes connections to upstreams, in place of [gale.TCPDialer] with its
	// defaults. addr has a port. It must return when ctx ends.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)
	// TLSConfig is for upstreams with https; nil verifies the certificate of the host.
	TLSConfig *tls.Config

	// RewriteHost sends the upstream's host in the Host field. By default upstreams get the
	// host that the client asked for.
	RewriteHost bool
	// StripPrefix is removed from the front of paths that begin with it: with "/api", an
	// upstream gets "/users" for "/api/users", and "/" for "/api".
	StripPrefix string
	// Via is the name of this proxy in the Via fields of requests and responses (RFC 9110
	// section 7.6.3). With "" there are none.
	Via string

	// Rewrite changes the head of a request to an upstream, after all that ends here was
	// removed from it and what this proxy says was added. It is the place for fields that
	// an upstream must be able to rely on: one that a handler sets in ctx.Request before is
	// removed for a client that names it in Connection. It is called once for each upstream
	// that is tried, and must not keep h. How the body is framed is not its business.
	Rewrite func(ctx *gale.RequestCtx, h *gale.RequestHeader)

	// TrustedProxies are the addresses of proxies in front of this one. The fields
	// Forwarded, X-Forwarded-* and X-Real-IP of requests that come from there are kept and
	// added to. All others lose them, since clients could write anything.
	TrustedProxies []netip.Prefix
	// Forwarded sends the field of RFC 7239 too. X-Forwarded-For, X-Forwarded-Host and
	// X-Forwarded-Proto are always sent.
	Forwarded bool

	// MaxConns is how many connections there are to an upstream at most, those of upgraded
	// requests included; [gale.DefaultMaxConnsPerHost] if 0.
	MaxConns int
	// MaxConnWait is how long a request waits for one of them before it is answered with
	// 503; not at all if negative.
	MaxConnWait time.Duration
	// MaxRequestBodySize is the longest body of a request in bytes, answered with 413;
	// DefaultMaxRequestBodySize if 0, no limit if negative. Without
	// Server.StreamRequestBody the server's limit counts first.
	MaxRequestBodySize int64

	// DialTimeout bounds the making of a connection, with its TLS handshake.
	DialTimeout time.Duration
	// ResponseHeaderTimeout bounds the time from the end of a request to the head of the
	// response.
	ResponseHeaderTimeout time.Duration
	// BodyIdleTimeout is how long an upstream may send nothing of a body, or take nothing.
	// How long clients may, says the server: see Server.ReadStallTimeout.
	BodyIdleTimeout time.Duration
	// UpgradeIdleTimeout is how long neither side of an upgraded connection may send
	// anything.
	UpgradeIdleTimeout time.Duration
	// Timeout bounds a whole exchange, its bodies included, but not what follows an
	// upgrade. 0 means no limit.
	Timeout time.Duration

	// MaxFails is after how many failures in a row an upstream gets no requests for
	// FailTime, while there are others; DefaultMaxFails if 0, never if negative. Failures
	// are connections that can't be made, responses that don't come or break off, and
	// time-outs, but no status code.
	MaxFails int
	// FailTime is see MaxFails; DefaultFailTime if it isn't positive.
	FailTime time.Duration
	// HealthCheck asks upstreams how they are. The zero value doesn't.
	HealthCheck HealthCheck

	// ErrorHandler answers requests that got no response. err is an [*Error]. It may
	// answer as it likes, or do more, such as logging, and call [WriteError], which is the
	// default. It is not called once a response was begun: then the connection to the
	// client is broken off.
	ErrorHandler func(ctx *gale.RequestCtx, err error)

	once      sync.Once
	bad       error // what is wrong with Upstreams
	upstreams []*upstream
	turns     atomic.Uint64
	tunnels   tunnels
	flights   flights
	open      context.Context // ends with Close
	end       context.CancelFunc
}

// New returns a Proxy for upstreams, or an error if one of them is neither an address nor
// a URL, or there is none.
func New(upstreams ...string) (*Proxy, error) {
	p := &Proxy{Upstreams: upstreams}
	_, err := parseUpstreams(upstreams)
	return p, err
}

// Handler answers a request with what an upstream says. The server's StreamRequestBody
// should be set: without it, a body is passed on once all of it has come.
//
// CONNECT and TRACE are answered with 405, and so is what isn't passed on because of
// Max-Forwards (RFC 9110 section 7.6.2): with 200.
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
	case limit > 0 && int64(max(ctx.Request.Header.ContentLength(), collected(ctx))) > limit:
		p.fail(ctx, &Error{StatusCode: gale.StatusRequestEntityTooLarge, Err: gale.ErrBodyTooLarge})
		return
	case ctx.IsOptions() && lastHop(ctx):
		return
	}
	ctx.LimitRequestBody(limit) // of chunked ones
	x := p.newExchange(ctx)
	if err := x.runSafely(); err != nil {
		p.fail(ctx, err)
		return
	}
	x.forget()
}

// collected returns the length of the body if the server has read all of it.
func collected(ctx *gale.RequestCtx) int {
	if ctx.Request.Header.ContentLength() != -1 || ctx.RequestBodyStream() != nil {
		return 0 // it has a length, or is limited as it is read
	}
	return len(ctx.Request.Body())
}

// lastHop answers an OPTIONS that must not be passed on, or counts down Max-Forwards.
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

// Close ends health checks, connections of upgraded requests and idle connections.
// Requests that come afterwards are answered with 503; those in flight go on.
func (p *Proxy) Close() error {
	p.once.Do(p.begin)
	p.end()
	p.tunnels.close()
	for _, u := range p.upstreams {
		u.client.CloseIdleConnections()
	}
	return nil
}

// Upgraded returns how many upgraded connections there are.
func (p *Proxy) Upgraded() int { return p.tunnels.len() }

// limit returns d or its default; 0 is no limit.
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
