package proxy

import (
	"net"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/galehttp/gale"
)

// FasthttpHTTPDialer returns a function that dials all hosts through proxy, such
// as "user:password@localhost:3128"; see the package for what it may be. An
// empty one is none. If proxy is wrong, the function returns an error whenever
// it is called.
//
// Connections take as long as Dialer says by default.
func FasthttpHTTPDialer(proxy string) gale.DialFunc {
	return FasthttpHTTPDialerTimeout(proxy, 0)
}

// FasthttpHTTPDialerTimeout is like FasthttpHTTPDialer. timeout bounds the time
// for the connection to the proxy and again that for the talk with it, see
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
// the environment names now: HTTP_PROXY for all ports but 443, HTTPS_PROXY for
// that, unless NO_PROXY excepts the host. See Dialer.GetDialFunc.
func FasthttpProxyHTTPDialer() gale.DialFunc { return FasthttpProxyHTTPDialerTimeout(0) }

// FasthttpProxyHTTPDialerTimeout is like FasthttpProxyHTTPDialer, with timeout as
// in FasthttpHTTPDialerTimeout.
func FasthttpProxyHTTPDialerTimeout(timeout time.Duration) gale.DialFunc {
	return dialFunc((&Dialer{Timeout: timeout, ConnectTimeout: timeout}).GetDialFunc(true))
}

// FasthttpSocksDialer returns a function that dials all hosts through proxyAddr,
// such as "socks5://user:password@localhost:1080". It is a SOCKS5 proxy also if
// it has no scheme, where fasthttp takes it for an HTTP one. If proxyAddr is
// wrong, the function returns an error whenever it is called.
func FasthttpSocksDialer(proxyAddr string) gale.DialFunc {
	return dialFunc((&Dialer{Config: both(socks(proxyAddr))}).GetDialFunc(false))
}

// FasthttpSocksDialerDualStack is like FasthttpSocksDialer and uses IPv6 as well
// as IPv4 to connect to the proxy.
func FasthttpSocksDialerDualStack(proxyAddr string) gale.DialFunc {
	return dialFunc((&Dialer{Config: both(socks(proxyAddr)), DialDualStack: true}).GetDialFunc(false))
}

// both is the configuration that has proxy for all hosts.
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
