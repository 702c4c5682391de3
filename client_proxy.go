package gale

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/net/http/httpproxy"
	"golang.org/x/net/proxy"

	connect "github.com/galehttp/gale/internal/tunnel"

	"github.com/galehttp/gale/internal/clock"
)

// ProxyFromEnvironment returns the proxy that the environment names for a URI, or
// nil if there is none. HTTP_PROXY is for http and HTTPS_PROXY for https; the names
// may be in lower case. NO_PROXY lists hosts that need no proxy. The variables are
// read once. Use it as Client.Proxy.
//
// NO_PROXY is a list of hosts, domains with a leading dot, addresses and networks,
// each with an optional port; "*" means that no host needs a proxy. localhost and
// loopback addresses never do. In a CGI program HTTP_PROXY is an error, because a
// client could set it with a Proxy header.
func ProxyFromEnvironment(uri *URI) (*url.URL, error) {
	return environmentProxy()(asURL(uri))
}

var environmentProxy = sync.OnceValue(func() func(*url.URL) (*url.URL, error) {
	return httpproxy.FromEnvironment().ProxyFunc()
})

// asURL returns the parts of u that the choice of a proxy may depend on.
func asURL(u *URI) *url.URL {
	return &url.URL{Scheme: string(u.Scheme()), Host: string(u.Host()), Path: string(u.Path())}
}

// proxyRoute is the way to a host through a proxy.
type proxyRoute struct {
	proxy *url.URL
	addr  string // of the proxy, with a port
	// forward says that the proxy forwards requests. Otherwise it makes tunnels.
	forward bool
}

// routeOf returns the proxy route to u, or nil if u needs no proxy.
func (c *Client) routeOf(u *URI, isTLS bool) (*proxyRoute, error) {
	if c.Proxy == nil {
		return nil, nil
	}
	p, err := c.Proxy(u)
	if err != nil || p == nil {
		return nil, err
	}
	port := map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[p.Scheme]
	if port == "" {
		return nil, fmt.Errorf("gale: proxy %s: unsupported protocol %q. http, https and socks5 are supported", p.Redacted(), p.Scheme)
	}
	if p.Hostname() == "" {
		return nil, fmt.Errorf("gale: proxy %s has no host", p.Redacted())
	}
	if p.Port() != "" {
		port = p.Port()
	}
	return &proxyRoute{
		proxy:   p,
		addr:    net.JoinHostPort(p.Hostname(), port),
		forward: !isTLS && (p.Scheme == "http" || p.Scheme == "https"),
	}, nil
}

// name returns a key for the route to host, different for each proxy and, with
// tunnels, for each host.
func (r *proxyRoute) name(host []byte) string {
	if r.forward {
		return "forward " + r.proxy.String() // the proxy's connections serve all hosts
	}
	return "tunnel " + r.proxy.String() + " " + string(host)
}

// apply makes hc use the route.
func (r *proxyRoute) apply(hc *HostClient) {
	if r.forward {
		hc.Addr = r.addr
		hc.forward = true
		hc.proxyAuth = r.auth()
		hc.IsTLS = r.proxy.Scheme == "https"
		hc.TLSConfig = forProxy(hc.TLSConfig)
		return
	}
	t := &tunnel{
		proxyRoute: *r,
		dialProxy:  contextDialer(hc.DialContext, hc.DialTimeout, hc.Dial),
		tlsConfig:  forProxy(hc.TLSConfig),
	}
	hc.Dial, hc.DialTimeout, hc.DialContext = nil, nil, t.dial
}

// auth returns the value of Proxy-Authorization, empty for none.
func (r *proxyRoute) auth() string {
	if r.proxy.User == nil {
		return ""
	}
	password, _ := r.proxy.User.Password()
	return basicAuth([]byte(r.proxy.User.Username()), []byte(password))
}

// forProxy returns the TLS configuration for a proxy: cfg without ServerName and
// NextProtos, which are meant for the host. It returns nil if cfg is nil.
func forProxy(cfg *tls.Config) *tls.Config {
	if cfg == nil || cfg.ServerName == "" && len(cfg.NextProtos) == 0 {
		return cfg
	}
	cfg = cfg.Clone()
	cfg.ServerName, cfg.NextProtos = "", nil
	return cfg
}

// dialContextFunc is the type of Client.DialContext.
type dialContextFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// contextDialer turns the dial functions of a client into one that takes a context.
func contextDialer(withContext dialContextFunc, withTimeout DialFuncWithTimeout, plain DialFunc) dialContextFunc {
	switch {
	case withContext != nil:
		return withContext
	case withTimeout != nil:
		return func(ctx context.Context, _, addr string) (net.Conn, error) {
			var timeout time.Duration
			if end, ok := ctx.Deadline(); ok {
				timeout = max(time.Until(end), 1)
			}
			return dialUntil(ctx, func() (net.Conn, error) { return withTimeout(addr, timeout) })
		}
	case plain != nil:
		return func(ctx context.Context, _, addr string) (net.Conn, error) {
			return dialUntil(ctx, func() (net.Conn, error) { return plain(addr) })
		}
	}
	return defaultDialer.DialContext
}

// dialUntil calls dial. It returns when ctx ends; if dial returns a connection
// after that, the connection is closed.
func dialUntil(ctx context.Context, dial func() (net.Conn, error)) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if p := recover(); p != nil {
				r.err = fmt.Errorf("gale: dialing panicked: %v\n%s", p, debug.Stack())
			} else if r.conn == nil && r.err == nil { // dial may have ended the goroutine
				r.err = errNoConn
			}
			done <- r
		}()
		r.conn, r.err = dial()
	}()
	select {
	case r := <-done:
		return r.conn, r.err
	case <-ctx.Done():
		go func() {
			if r := <-done; r.conn != nil {
				_ = closeCalmly(r.conn)
			}
		}()
		return nil, ctx.Err()
	}
}

// tunnel makes connections through a proxy.
type tunnel struct {
	proxyRoute
	dialProxy dialContextFunc
	tlsConfig *tls.Config // for the proxy
}

// dial connects to addr through the proxy.
func (t *tunnel) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, DefaultTLSHandshakeTimeout)
	defer cancel()
	if t.proxy.Scheme == "http" || t.proxy.Scheme == "https" {
		return t.connect(ctx, network, addr)
	}
	var auth *proxy.Auth
	if user := t.proxy.User; user != nil {
		password, _ := user.Password()
		auth = &proxy.Auth{User: user.Username(), Password: password}
	}
	d, err := proxy.SOCKS5("tcp", t.addr, auth, forwardDialer(t.dialProxy))
	if err != nil {
		return nil, err
	}
	return d.(proxy.ContextDialer).DialContext(ctx, "tcp", addr)
}

// forwardDialer is the dialer that package proxy uses to dial a proxy.
type forwardDialer dialContextFunc

func (d forwardDialer) Dial(network, addr string) (net.Conn, error) {
	return d(context.Background(), network, addr)
}

func (d forwardDialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return d(ctx, network, addr)
}

// proxyTLS is a connection to a proxy with TLS. It hides its type: code that starts
// TLS with the host would otherwise see a TLS connection and not start it.
type proxyTLS struct{ net.Conn }

// connect asks the proxy for a tunnel to addr (RFC 9110 section 9.3.6).
func (t *tunnel) connect(ctx context.Context, network, addr string) (conn net.Conn, err error) {
	if conn, err = t.dialProxy(ctx, network, t.addr); err != nil {
		return nil, err
	}
	raw := conn
	stop := context.AfterFunc(ctx, func() {
		defer recovered("ending the deadline of a connection to a proxy")
		_ = raw.SetDeadline(clock.LongAgo)
	})
	fine := false
	defer func() {
		if !stop() {
			err = ctx.Err()
		}
		if err != nil || !fine {
			_ = closeCalmly(raw)
			conn = nil
		}
	}()
	if t.proxy.Scheme == "https" {
		cfg := &tls.Config{}
		if t.tlsConfig != nil {
			cfg = t.tlsConfig.Clone()
		}
		cfg.ServerName = t.proxy.Hostname()
		tc := tls.Client(conn, cfg)
		if err := tc.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		conn = proxyTLS{tc}
	}
	if conn, err = connect.Connect(conn, addr, t.auth()); err != nil {
		var refused *connect.Refused
		if errors.As(err, &refused) {
			return nil, fmt.Errorf("gale: proxy %s refuses a connection to %s: %d %s",
				t.addr, addr, refused.Status, StatusMessage(refused.Status))
		}
		return nil, fmt.Errorf("gale: proxy %s: %w", t.addr, err)
	}
	fine = true
	return conn, nil
}
