package proxy

import (
	"crypto/tls"
	"errors"
	"net"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/galehttp/gale"
)

// defaultConnectTimeout limits the time to get a tunnel from a proxy. The proxy
// makes its own connection in that time.
const defaultConnectTimeout = 30 * time.Second

// Dialer dials through the proxies that its Config or the environment names.
// GetDialFunc and GetDialFuncForTLS return the dial functions that use them.
//
// Dial and all methods of the embedded TCPDialer connect directly, without a proxy.
// The settings of the TCPDialer also apply to connections to proxies.
//
// Fields must not be changed after the first use. A Dialer must not be copied.
type Dialer struct {
	gale.TCPDialer

	// Config names the proxies: HTTPProxy for hosts that are reached by http,
	// HTTPSProxy for hosts that are reached by https. If one is empty, no proxy is
	// used. NoProxy is a list, separated by commas, of hosts that need no proxy:
	// addresses, networks (CIDR) and domains. A domain includes its subdomains;
	// with a leading dot it means only them. An entry with a port applies only to
	// that port. "*" means all hosts. If CGI is set, HTTPProxy is an error, because
	// a client could have set it in the environment.
	httpproxy.Config

	// DialDualStack uses IPv6 as well as IPv4 to connect to proxies, and to hosts
	// that need no proxy. That is the default anyway, unless the program imports
	// the compat module.
	DialDualStack bool

	// Timeout limits the time to make a TCP connection. 0 and negative values mean
	// gale.DefaultDialTimeout.
	Timeout time.Duration

	// ConnectTimeout limits the time to get a tunnel after the connection to the
	// proxy was made: TLS handshake, request and answer, SOCKS5 negotiation. 0 and
	// negative values mean 30 seconds; fasthttp waits forever. After that time the
	// error is gale.ErrTimeout.
	ConnectTimeout time.Duration

	// ProxyTLSConfig is the TLS configuration for https proxies. If it has no
	// ServerName, the name of the proxy is used.
	ProxyTLSConfig *tls.Config
}

// DialerFunc is a dial function that implements the Dialer interface of package
// golang.org/x/net/proxy.
type DialerFunc func(network, addr string) (net.Conn, error)

// Dial calls d.
func (d DialerFunc) Dial(network, addr string) (net.Conn, error) { return d(network, addr) }

// Dial connects to addr without a proxy. With this method package
// golang.org/x/net/proxy can use d to dial its proxies. network is "tcp4" for IPv4
// or "tcp" for both IPv4 and IPv6.
func (d *Dialer) Dial(network, addr string) (net.Conn, error) {
	switch network {
	case "tcp4":
		return d.DialTimeout(addr, d.dialTimeout())
	case "tcp":
		return d.DialDualStackTimeout(addr, d.dialTimeout())
	}
	return nil, errors.New("dont support the network: " + network)
}

// GetDialFunc returns a function that dials through the proxies of d.Config. If
// useEnv is true, it uses the proxies that the environment names at the time of the
// call: HTTP_PROXY, HTTPS_PROXY and NO_PROXY, or their names in lower case.
//
// The function doesn't know the scheme of a connection: it assumes https for port
// 443 and http for all other ports. If that is wrong, use GetDialFuncForTLS.
//
// Loopback addresses and localhost need no proxy. There is one exception: if
// d.Config (not the environment) names the same proxy for both schemes and has no
// NoProxy, that proxy is used for all hosts.
//
// The error is about a proxy that is certainly wrong; other mistakes become errors
// of the dial. d must not be changed while the function is used.
func (d *Dialer) GetDialFunc(useEnv bool) (gale.DialFunc, error) {
	cfg := d.config(useEnv)
	if cfg.HTTPProxy == cfg.HTTPSProxy && cfg.NoProxy == "" && !cfg.CGI {
		p, err := parseProxy(cfg.HTTPProxy)
		if err != nil {
			return nil, err
		}
		if !useEnv {
			return d.through(p), nil
		}
	}
	choose := chooser(cfg)
	return func(addr string) (net.Conn, error) {
		return d.dial(choose, schemeOf(addr), addr)
	}, nil
}

// GetDialFuncForTLS returns a function that dials through HTTPSProxy if isTLS is
// true and through HTTPProxy otherwise, whatever the port. isTLS should be the
// IsTLS of the gale.HostClient. Otherwise it is like GetDialFunc. If NoProxy is
// empty and useEnv is false, the proxy is used for all hosts, also for loopback
// addresses.
func (d *Dialer) GetDialFuncForTLS(useEnv, isTLS bool) (gale.DialFunc, error) {
	cfg := d.config(useEnv)
	scheme, text := "http", cfg.HTTPProxy
	if isTLS {
		scheme, text = "https", cfg.HTTPSProxy
	}
	if cfg.NoProxy == "" {
		p, err := parseProxy(text)
		if err != nil {
			return nil, err
		}
		if p != nil && !isTLS && cfg.CGI {
			return nil, errCGI
		}
		if !useEnv {
			return d.through(p), nil
		}
	}
	choose := chooser(cfg)
	return func(addr string) (net.Conn, error) {
		return d.dial(choose, scheme, addr)
	}, nil
}

func (d *Dialer) config(useEnv bool) *httpproxy.Config {
	if useEnv {
		return httpproxy.FromEnvironment()
	}
	cfg := d.Config
	return &cfg
}

// through returns a function that dials all addresses through p, or directly if p
// is nil.
func (d *Dialer) through(p *server) gale.DialFunc {
	if p == nil {
		return d.direct
	}
	return func(addr string) (net.Conn, error) { return p.dial(d, addr) }
}

// dial dials addr through the proxy chosen for it.
func (d *Dialer) dial(choose chooseFunc, scheme, addr string) (net.Conn, error) {
	p, err := choose(scheme, addr)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return d.direct(addr)
	}
	return p.dial(d, addr)
}

// direct connects to addr, which is a host or a proxy, without a proxy.
func (d *Dialer) direct(addr string) (net.Conn, error) {
	if d.DialDualStack {
		return d.DialDualStackTimeout(addr, d.dialTimeout())
	}
	return d.DialTimeout(addr, d.dialTimeout())
}

func (d *Dialer) dialTimeout() time.Duration {
	if d.Timeout <= 0 {
		return gale.DefaultDialTimeout
	}
	return d.Timeout
}

func (d *Dialer) connectTimeout() time.Duration {
	if d.ConnectTimeout <= 0 {
		return defaultConnectTimeout
	}
	return d.ConnectTimeout
}
