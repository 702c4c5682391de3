package ws

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"

	"golang.org/x/net/proxy"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/tunnel"
)

// defaultDialer connects if DialOptions.Dial is nil.
var defaultDialer gale.TCPDialer

// dial connects to addr.
func (d *dial) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if d.o.Dial == nil {
		return defaultDialer.DialContext(ctx, network, addr)
	}
	nc, err := d.o.Dial(ctx, network, addr)
	switch {
	case err != nil:
		return nil, err
	case nc == nil:
		return nil, errors.New("ws: DialOptions.Dial returned nothing")
	}
	return calm(nc), nil
}

// connectPlain connects to the server, perhaps through a proxy, without TLS.
func (d *dial) connectPlain(ctx context.Context) (net.Conn, error) {
	var p *url.URL
	if d.o.Proxy != nil {
		uri := gale.AcquireURI()
		defer gale.ReleaseURI(uri)
		err := uri.Parse(nil, []byte(d.to.asHTTP))
		if err == nil {
			p, err = d.o.Proxy(uri)
		}
		if err != nil {
			return nil, err
		}
	}
	if p == nil {
		return d.dial(ctx, "tcp", d.to.addr)
	}
	port := map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[p.Scheme]
	if port == "" {
		return nil, fmt.Errorf("ws: proxy %s: unsupported protocol %q. http, https and socks5 are supported", p.Redacted(), p.Scheme)
	}
	if p.Hostname() == "" {
		return nil, fmt.Errorf("ws: proxy %s has no host", p.Redacted())
	}
	if p.Port() != "" {
		port = p.Port()
	}
	addr := net.JoinHostPort(p.Hostname(), port)
	if p.Scheme == "http" || p.Scheme == "https" {
		return d.throughHTTP(ctx, p, addr)
	}
	var auth *proxy.Auth
	if p.User != nil {
		password, _ := p.User.Password()
		auth = &proxy.Auth{User: p.User.Username(), Password: password}
	}
	s, err := proxy.SOCKS5("tcp", addr, auth, forward{d})
	if err != nil {
		return nil, err
	}
	return s.(proxy.ContextDialer).DialContext(ctx, "tcp", d.to.addr)
}

// forward is the dialer that package proxy uses to dial a proxy.
type forward struct{ d *dial }

func (f forward) Dial(network, addr string) (net.Conn, error) {
	return f.d.dial(context.Background(), network, addr)
}

func (f forward) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return f.d.dial(ctx, network, addr)
}

// throughHTTP asks an HTTP proxy for a tunnel to the server (RFC 9110 section 9.3.6).
func (d *dial) throughHTTP(ctx context.Context, p *url.URL, addr string) (conn net.Conn, err error) {
	raw, err := d.dial(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(clock.LongAgo) })
	defer func() {
		if !stop() {
			err = ctx.Err()
		}
		if err != nil {
			_ = raw.Close()
			conn = nil
		}
	}()
	conn = raw
	if p.Scheme == "https" {
		cfg := d.tlsConfig(p.Hostname())
		cfg.ServerName, cfg.NextProtos = p.Hostname(), nil
		tc := tls.Client(raw, cfg)
		if err := tc.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		conn = tc
	}
	auth := ""
	if p.User != nil {
		auth = basicAuth(p.User)
	}
	if conn, err = tunnel.Connect(conn, d.to.addr, auth); err != nil {
		return nil, fmt.Errorf("ws: proxy %s: %w", addr, err)
	}
	return conn, nil
}

// basicAuth returns the credentials of RFC 7617.
func basicAuth(user *url.Userinfo) string {
	password, _ := user.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password))
}
