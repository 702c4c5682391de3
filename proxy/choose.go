package proxy

import (
	"errors"
	"net"
	"net/url"

	"golang.org/x/net/http/httpproxy"
)

// errCGI has the same text as the error of package httpproxy, which users know.
var errCGI = errors.New("refusing to use HTTP_PROXY value in CGI environment; see golang.org/s/cgihttpproxy")

// chooseFunc returns the proxy for connections to addr with scheme, or nil if none
// is needed.
type chooseFunc func(scheme, addr string) (*server, error)

// chooser returns the chooseFunc for cfg.
func chooser(cfg *httpproxy.Config) chooseFunc {
	// Package httpproxy decides whether a proxy is needed. It ignores proxies that
	// it can't parse, so it gets a valid placeholder instead of the real ones.
	type parsed struct {
		p   *server
		err error
	}
	proxies := make(map[string]parsed)
	rules := *cfg
	for scheme, text := range map[string]*string{"http": &rules.HTTPProxy, "https": &rules.HTTPSProxy} {
		if *text == "" {
			continue
		}
		p, err := parseProxy(*text)
		proxies[scheme] = parsed{p, err}
		*text = "http://proxy.invalid"
	}
	needed := rules.ProxyFunc()
	return func(scheme, addr string) (*server, error) {
		p, err := needed(&url.URL{Scheme: scheme, Host: addr})
		if err != nil || p == nil {
			return nil, err
		}
		return proxies[scheme].p, proxies[scheme].err
	}
}

// schemeOf guesses the scheme that addr is dialed for.
func schemeOf(addr string) string {
	if _, port, err := net.SplitHostPort(addr); err == nil && port == "443" {
		return "https"
	}
	return "http"
}
