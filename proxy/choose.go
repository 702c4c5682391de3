package proxy

import (
	"errors"
	"net"
	"net/url"

	"golang.org/x/net/http/httpproxy"
)

// errCGI has the text of package httpproxy, which is what users know.
var errCGI = errors.New("refusing to use HTTP_PROXY value in CGI environment; see golang.org/s/cgihttpproxy")

// chooseFunc returns the proxy for what is asked with scheme at addr, nil for
// none.
type chooseFunc func(scheme, addr string) (*server, error)

// chooser returns the choice that cfg describes.
func chooser(cfg *httpproxy.Config) chooseFunc {
	// Package httpproxy says whether a proxy must be used. Those it can't
	// parse it does without: it is shown others.
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

// schemeOf guesses what addr is dialed for.
func schemeOf(addr string) string {
	if _, port, err := net.SplitHostPort(addr); err == nil && port == "443" {
		return "https"
	}
	return "http"
}
