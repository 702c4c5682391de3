package proxy

import (
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/net/proxy"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/tunnel"
)

// server is a proxy.
type server struct {
	url  *url.URL
	addr string // with a port
}

// errUnreadable is the error for proxies that can't be parsed. It doesn't show
// their text, which may contain a password.
var errUnreadable = errors.New("proxy: the URL of the proxy can't be read: write scheme://user:password@host:port with user and password percent-encoded")

// parseProxy returns the proxy that text names, or nil if text is empty.
func parseProxy(text string) (*server, error) {
	if text == "" {
		return nil, nil
	}
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return nil, errUnreadable
	}
	port := u.Port()
	switch u.Scheme {
	case "http":
		port = or(port, "80")
	case "https":
		port = or(port, "443")
	case "socks5", "socks5h":
		port = or(port, "1080")
	default: // the scheme may have been registered
		if _, err := proxy.FromURL(u, proxy.Direct); err != nil {
			return nil, err
		}
	}
	return &server{url: u, addr: net.JoinHostPort(u.Hostname(), port)}, nil
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// dial connects to addr through the proxy.
func (p *server) dial(d *Dialer, addr string) (net.Conn, error) {
	if err := tunnel.Check(addr); err != nil {
		return nil, err
	}
	if p.url.Scheme == "http" || p.url.Scheme == "https" {
		return p.connect(d, addr)
	}
	// The SOCKS5 dialer has no timeout of its own, so the connection that it gets
	// has a deadline.
	var below net.Conn
	forward := DialerFunc(func(_, proxyAddr string) (net.Conn, error) {
		c, err := d.direct(proxyAddr)
		if err != nil {
			return nil, err
		}
		below = c
		return c, c.SetDeadline(time.Now().Add(d.connectTimeout()))
	})
	through, err := proxy.FromURL(p.url, forward)
	if err != nil {
		return nil, err
	}
	network := "tcp4"
	if d.DialDualStack {
		network = "tcp"
	}
	c, err := through.Dial(network, addr)
	if err == nil && below != nil {
		err = below.SetDeadline(time.Time{})
	}
	return ready(c, below, err)
}

// connect asks an HTTP proxy for a tunnel to addr.
func (p *server) connect(d *Dialer, addr string) (net.Conn, error) {
	below, err := d.direct(p.addr)
	if err != nil {
		return nil, err
	}
	if err := below.SetDeadline(time.Now().Add(d.connectTimeout())); err != nil {
		return ready(nil, below, err)
	}
	c := below
	if p.url.Scheme == "https" {
		tc := tls.Client(below, p.tlsConfig(d.ProxyTLSConfig))
		if err := tc.Handshake(); err != nil {
			return ready(nil, below, fmt.Errorf("TLS handshake with proxy %s: %w", p.addr, err))
		}
		c = tc
	}
	c, err = tunnel.Connect(c, addr, p.authorization())
	if err == nil {
		if tc, ok := c.(*tls.Conn); ok {
			c = tunneled{tc, tc}
		}
		return ready(c, below, below.SetDeadline(time.Time{}))
	}
	var refused *tunnel.Refused
	if errors.As(err, &refused) {
		err = fmt.Errorf("could not connect to proxy addr: %s status code: %d", p.addr, refused.Status)
	} else {
		err = fmt.Errorf("proxy %s: %w", p.addr, err)
	}
	return ready(nil, below, err)
}

// tunneled is a connection through an https proxy. It isn't a *tls.Conn, because clients would
// take that for TLS with the host.
type tunneled struct {
	net.Conn
	closer interface{ CloseWrite() error }
}

// CloseWrite ends what the client sends.
func (c tunneled) CloseWrite() error { return c.closer.CloseWrite() }

// ready finishes dialing: it returns c, or closes below and returns the error.
func ready(c, below net.Conn, err error) (net.Conn, error) {
	if err == nil {
		return c, nil
	}
	if below != nil {
		below.Close()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = gale.ErrTimeout
	}
	return nil, err
}

func (p *server) tlsConfig(cfg *tls.Config) *tls.Config {
	if cfg == nil {
		return &tls.Config{ServerName: p.url.Hostname(), MinVersion: tls.VersionTLS12}
	}
	if cfg.ServerName == "" {
		cfg = cfg.Clone()
		cfg.ServerName = p.url.Hostname()
	}
	return cfg
}

// authorization returns the value of Proxy-Authorization (RFC 7617), empty without
// a user. A user without a password is sent without a colon, as in fasthttp.
func (p *server) authorization() string {
	if p.url.User == nil {
		return ""
	}
	credentials := p.url.User.Username()
	if password, ok := p.url.User.Password(); ok {
		credentials += ":" + password
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(credentials))
}
