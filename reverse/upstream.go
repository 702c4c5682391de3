package reverse

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/shares"
)

// HealthCheck says how the health of upstreams is checked. An upstream that isn't
// healthy gets no requests until a check succeeds. If no upstream is healthy,
// requests are answered with 503.
type HealthCheck struct {
	// Path is the path to GET, for example "/healthz". If it is "", there are no
	// checks. A status code from 200 to 399 is healthy. The path of the upstream is
	// not put in front of it.
	Path string
	// Interval is the time between two checks. 0 and negative values mean 5
	// seconds.
	Interval time.Duration
	// Timeout is how long an answer may take. 0 and negative values mean 2 seconds.
	Timeout time.Duration
}

// maxHead is the maximum size in bytes of a response's head.
const maxHead = 32 << 10

// target is the parsed form of an upstream's name.
type target struct {
	name string // as in Proxy.Upstreams
	addr string // host:port
	host string // for Host and TLS
	path string // in front of others, without a slash at its end
	tls  bool
}

func parseUpstreams(names []string) (all []target, err error) {
	if len(names) == 0 {
		return nil, errors.New("reverse: Proxy.Upstreams is empty")
	}
	for _, name := range names {
		t, err := parseUpstream(name)
		if err != nil {
			return nil, fmt.Errorf("reverse: upstream %q: %w", name, err)
		}
		all = append(all, t)
	}
	return all, nil
}

func parseUpstream(name string) (t target, err error) {
	text := name
	if !strings.Contains(name, "://") {
		text = "http://" + name
	}
	u, err := url.Parse(text)
	if err != nil {
		return t, err
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return t, errors.New("the scheme is neither http nor https")
	case u.Hostname() == "" || strings.ContainsAny(u.Host, ", "):
		return t, errors.New("there is no host")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return t, errors.New("only scheme, host and path count")
	}
	t = target{name: name, host: u.Host, path: strings.TrimRight(u.EscapedPath(), "/"), tls: u.Scheme == "https"}
	t.addr = gale.AddMissingPort(u.Host, t.tls)
	return t, nil
}

// upstream is a server that requests are passed on to.
type upstream struct {
	target
	client   *gale.HostClient
	upgrader *gale.HostClient // for upgrades
	asker    *gale.HostClient // for health checks

	// What clients have of the connections.
	requests, upgrades shares.Shares

	pending   atomic.Int64
	chosen    atomic.Uint64 // the turn in which it was last chosen
	fails     atomic.Int64  // in a row
	downUntil atomic.Int64  // in nanoseconds after epoch
	sick      atomic.Bool   // the last health check failed
}

func (p *Proxy) newUpstream(t target) *upstream {
	u := &upstream{target: t, client: p.newClient(t), upgrader: p.newClient(t), asker: p.newClient(t)}
	u.upgrader.MaxConns = p.MaxUpgrades
	u.asker.MaxConns = 1 // health checks use a connection of their own
	return u
}

func (p *Proxy) newClient(t target) *gale.HostClient {
	c := &gale.HostClient{
		Addr:                     t.addr,
		IsTLS:                    t.tls,
		MaxConns:                 p.MaxConns,
		MaxConnWaitTimeout:       limit(p.MaxConnWait, DefaultMaxConnWait),
		MaxDialDuration:          limit(p.DialTimeout, DefaultDialTimeout),
		ResponseHeaderTimeout:    limit(p.ResponseHeaderTimeout, DefaultResponseHeaderTimeout),
		ReadBufferSize:           maxHead,
		WriteBufferSize:          33 << 10, // so that 32 KiB of a body are one write with the framing of their chunk
		StreamResponseBody:       true,
		DisablePathNormalizing:   true, // paths are passed on unchanged
		NoDefaultUserAgentHeader: true,
		HTTP2:                    p.HTTP2,
		TLSConfig:                p.TLSConfig,
	}
	dial := p.dialer(t)
	c.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		return dial(ctx, network, addr, nil)
	}
	if t.tls {
		door.DialTLS(c, dial)
	}
	return c
}

// dialer returns the function that makes connections. Its errors are dialErrors. With TLS it
// offers protocols.
func (p *Proxy) dialer(t target) func(ctx context.Context, network, addr string, protocols []string) (net.Conn, error) {
	dial := p.DialContext
	if dial == nil {
		dial = new(gale.TCPDialer).DialContext
	}
	var config *tls.Config
	if t.tls {
		config = &tls.Config{ClientSessionCache: tls.NewLRUClientSessionCache(0)}
		if p.TLSConfig != nil {
			config = p.TLSConfig.Clone()
		}
		if config.ServerName == "" {
			config.ServerName, _, _ = net.SplitHostPort(t.addr)
		}
	}
	return func(ctx context.Context, _, addr string, protocols []string) (net.Conn, error) {
		ctx.Done() // dial may keep ctx; this makes exchange.forget see it
		nc, err := dial(ctx, "tcp", addr)
		if err != nil {
			return nil, dialError{err}
		}
		if config == nil {
			return nc, nil
		}
		config := config.Clone()
		config.NextProtos = protocols
		tc := tls.Client(nc, config)
		if err := tc.HandshakeContext(ctx); err != nil {
			nc.Close()
			return nil, dialError{err}
		}
		return tc, nil
	}
}

// choose returns the upstream for a request, or nil if there is none. tried are the
// upstreams that could not be reached.
func (p *Proxy) choose(tried []*upstream) *upstream {
	if p.open.Err() != nil {
		return nil
	}
	var best *upstream
	var load int64
	for _, u := range p.upstreams {
		if u.sick.Load() || contains(tried, u) {
			continue
		}
		l := u.pending.Load()
		if u.down() {
			l += 1 << 32 // after all upstreams that are up
		}
		if best == nil || l < load || l == load && u.chosen.Load() < best.chosen.Load() {
			best, load = u, l
		}
	}
	if best != nil && len(p.upstreams) > 1 {
		best.chosen.Store(p.turns.Add(1))
	}
	return best
}

func contains(list []*upstream, u *upstream) bool {
	for _, other := range list {
		if other == u {
			return true
		}
	}
	return false
}

// downUntil counts from epoch.
var epoch = time.Now()

func (u *upstream) down() bool {
	until := u.downUntil.Load()
	return until != 0 && int64(time.Since(epoch)) < until
}

// failed counts a failure of u.
func (u *upstream) failed(p *Proxy) {
	most := int64(p.MaxFails)
	if most == 0 {
		most = DefaultMaxFails
	}
	if n := u.fails.Add(1); most > 0 && n >= most {
		d := p.FailTime
		if d <= 0 {
			d = DefaultFailTime
		}
		u.downUntil.Store(int64(time.Since(epoch) + d))
	}
}

// worked resets the count of failures in a row.
func (u *upstream) worked() {
	if u.fails.Load() != 0 {
		u.fails.Store(0)
		u.downUntil.Store(0)
	}
}

// check checks the health of u again and again until the proxy is closed.
func (u *upstream) check(p *Proxy) {
	h := p.HealthCheck
	if h.Interval <= 0 {
		h.Interval = 5 * time.Second
	}
	if h.Timeout <= 0 {
		h.Timeout = 2 * time.Second
	}
	tick := time.NewTicker(h.Interval)
	defer tick.Stop()
	for {
		u.sick.Store(!u.healthy(p.open, h))
		select {
		case <-tick.C:
		case <-p.open.Done():
			return
		}
	}
}

func (u *upstream) healthy(ctx context.Context, h HealthCheck) (well bool) {
	defer func() {
		if recover() != nil { // a connection that DialContext made
			well = false
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	req, resp := gale.AcquireRequest(), gale.AcquireResponse()
	defer gale.ReleaseRequest(req)
	defer gale.ReleaseResponse(resp)
	req.Header.SetRequestURI(h.Path)
	req.Header.SetHost(u.host)
	req.SetConnectionClose() // so that each check makes a new connection
	if u.asker.DoContext(ctx, req, resp) != nil {
		return false
	}
	class := resp.StatusCode() / 100
	return class == 2 || class == 3
}
