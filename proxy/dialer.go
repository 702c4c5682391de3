package proxy

import (
	"crypto/tls"
	"errors"
	"net"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/galehttp/gale"
)

// defaultConnectTimeout is how long the talk with a proxy may take. The proxy
// makes a connection of its own in that time.
const defaultConnectTimeout = 30 * time.Second

// Dialer dials through the proxies that its Config or the environment names.
// GetDialFunc and GetDialFuncForTLS make the functions that do.
//
// Dial and all methods of the embedded TCPDialer connect directly, without a
// proxy. The settings of the TCPDialer hold for connections to proxies as well.
//
// Fields must not change once it is used. It must not be copied.
type Dialer struct {
	gale.TCPDialer

	// Config names the proxies: HTTPProxy for hosts that are asked over http,
	// HTTPSProxy for those over https, none if empty. NoProxy is a list of
	// hosts that need none, separated by commas: addresses, networks (CIDR),
	// domains (with their subdomains; with a leading dot only those), each
	// with a port if it is meant for that only; "*" is all hosts. With CGI,
	// HTTPProxy is an error, since the environment may be a client's work.
	httpproxy.Config

	// DialDualStack uses IPv6 as well as IPv4 to connect to proxies, and to
	// hosts without one. A TCPDialer does so anyway, but in programs that get
	// Gale under fasthttp's name.
	DialDualStack bool

	// Timeout bounds the time for a TCP connection; gale.DefaultDialTimeout if
	// 0 or less.
	Timeout time.Duration

	// ConnectTimeout bounds the talk with a proxy, once connected to it: TLS
	// handshake, request and answer, SOCKS5 negotiation. It is 30 seconds if 0
	// or less, where fasthttp waits forever. Over it the error is
	// gale.ErrTimeout.
	ConnectTimeout time.Duration

	// ProxyTLSConfig is the TLS configuration for proxies of scheme https. The
	// name of the server is the proxy's where it has none. Not in fasthttp.
	ProxyTLSConfig *tls.Config
}

// DialerFunc is a function that is a Dialer of package golang.org/x/net/proxy.
type DialerFunc func(network, addr string) (net.Conn, error)

// Dial calls d.
func (d DialerFunc) Dial(network, addr string) (net.Conn, error) { return d(network, addr) }

// Dial connects to addr without a proxy, so that d can be what package
// golang.org/x/net/proxy dials its proxies with. network is "tcp4" for IPv4 or
// "tcp" for both IPv4 and IPv6.
func (d *Dialer) Dial(network, addr string) (net.Conn, error) {
	switch network {
	case "tcp4":
		return d.DialTimeout(addr, d.dialTimeout())
	case "tcp":
		return d.DialDualStackTimeout(addr, d.dialTimeout())
	}
	return nil, errors.New("dont support the network: " + network)
}

// GetDialFunc returns a function that dials through the proxies of d.Config, or
// of the environment (HTTP_PROXY, HTTPS_PROXY, NO_PROXY or their names in lower
// case, as they are now) if useEnv is true.
//
// The function doesn't learn which scheme an address is dialed for: it takes
// port 443 for https and all others for http. Use GetDialFuncForTLS where that
// is not so.
//
// Loopback addresses and localhost need no proxy, unless d.Config (not the
// environment) has one proxy for both schemes and no NoProxy: that one is for
// all hosts.
//
// The error is about a proxy that can be seen to be wrong already; others show
// when dialing. d must not change while the function is used.
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
// true and through HTTPProxy otherwise, whatever the port. isTLS is that of the
// gale.HostClient. It is else as GetDialFunc; the one proxy is for all hosts,
// loopback included, if NoProxy is empty and useEnv is false.
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

// through returns a function that dials all addresses through p, directly if p
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

// direct connects to addr, a host or a proxy.
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
