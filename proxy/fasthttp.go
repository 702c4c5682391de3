package proxy

import (
	"net"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/galehttp/gale"
)

// FasthttpHTTPDialer returns a function that dials all hosts through proxy, such as
// "user:password@localhost:3128"; the package comment describes the form. If proxy
// is empty, no proxy is used. If proxy is invalid, each call of the function
// returns an error.
//
// The time limits are the defaults of Dialer.
func FasthttpHTTPDialer(proxy string) gale.DialFunc {
	return FasthttpHTTPDialerTimeout(proxy, 0)
}

// FasthttpHTTPDialerTimeout is like FasthttpHTTPDialer. timeout limits the time to
// connect to the proxy, and then again the time to get the tunnel; see
// Dialer.Timeout and Dialer.ConnectTimeout.
func FasthttpHTTPDialerTimeout(proxy string, timeout time.Duration) gale.DialFunc {
	return dialFunc((&Dialer{Config: both(proxy), Timeout: timeout, ConnectTimeout: timeout}).GetDialFunc(false))
}

// FasthttpHTTPDialerDualStack is like FasthttpHTTPDialer and uses IPv6 as well as
// IPv4 to connect to the proxy.
func FasthttpHTTPDialerDualStack(proxy string) gale.DialFunc {
	return FasthttpHTTPDialerDualStackTimeout(proxy, 0)
}

// FasthttpHTTPDialerDualStackTimeout is like FasthttpHTTPDialerTimeout and uses
// IPv6 as well as IPv4 to connect to the proxy.
func FasthttpHTTPDialerDualStackTimeout(proxy string, timeout time.Duration) gale.DialFunc {
	d := &Dialer{Config: both(proxy), Timeout: timeout, ConnectTimeout: timeout, DialDualStack: true}
	return dialFunc(d.GetDialFunc(false))
}

// FasthttpProxyHTTPDialer returns a function that dials through the proxies that
// the environment names at the time of the call: HTTPS_PROXY for port 443 and
// HTTP_PROXY for all other ports. Hosts in NO_PROXY are dialed directly. See
// Dialer.GetDialFunc.
func FasthttpProxyHTTPDialer() gale.DialFunc { return FasthttpProxyHTTPDialerTimeout(0) }

// FasthttpProxyHTTPDialerTimeout is like FasthttpProxyHTTPDialer, with timeout as
// in FasthttpHTTPDialerTimeout.
func FasthttpProxyHTTPDialerTimeout(timeout time.Duration) gale.DialFunc {
	return dialFunc((&Dialer{Timeout: timeout, ConnectTimeout: timeout}).GetDialFunc(true))
}

// FasthttpSocksDialer returns a function that dials all hosts through proxyAddr,
// such as "socks5://user:password@localhost:1080". It is a SOCKS5 proxy even if it
// has no scheme; fasthttp uses an HTTP proxy then. If proxyAddr is invalid, each
// call of the function returns an error.
func FasthttpSocksDialer(proxyAddr string) gale.DialFunc {
	return dialFunc((&Dialer{Config: both(socks(proxyAddr))}).GetDialFunc(false))
}

// FasthttpSocksDialerDualStack is like FasthttpSocksDialer and uses IPv6 as well
// as IPv4 to connect to the proxy.
func FasthttpSocksDialerDualStack(proxyAddr string) gale.DialFunc {
	return dialFunc((&Dialer{Config: both(socks(proxyAddr)), DialDualStack: true}).GetDialFunc(false))
}

// both returns the configuration that uses proxy for all hosts.
func both(proxy string) httpproxy.Config {
	return httpproxy.Config{HTTPProxy: proxy, HTTPSProxy: proxy}
}

func socks(proxy string) string {
	if proxy == "" || strings.Contains(proxy, "://") {
		return proxy
	}
	return "socks5://" + proxy
}

// dialFunc returns dial, or a function that returns err.
func dialFunc(dial gale.DialFunc, err error) gale.DialFunc {
	if err != nil {
		return func(string) (net.Conn, error) { return nil, err }
	}
	return dial
}
