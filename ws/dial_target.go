package ws

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// target is where a WebSocket is opened (RFC 6455 section 3).
type target struct {
	tls    bool
	host   string // without brackets
	addr   string // host and port
	field  string // the value of Host
	path   string // with the query
	user   *url.Userinfo
	asHTTP string // the same with the scheme http or https
}

// parseTarget parses a URL with the scheme ws or wss.
func parseTarget(text string) (t target, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return t, fmt.Errorf("ws: %w", withoutURL(err))
	}
	port := "80"
	switch u.Scheme { // in lower case
	case "ws":
	case "wss":
		t.tls, port = true, "443"
	default:
		return t, fmt.Errorf("ws: the URL's scheme must be ws or wss, not %q", u.Scheme)
	}
	switch {
	case u.Opaque != "" || u.Hostname() == "":
		return t, errors.New("ws: the URL has no host")
	case u.Fragment != "" || strings.Contains(text, "#"):
		return t, errors.New("ws: the URL must not have a fragment")
	}
	t.host, t.user = u.Hostname(), u.User
	t.field = t.host
	if strings.Contains(t.host, ":") {
		t.field = "[" + t.host + "]"
		if name, _, zone := strings.Cut(t.host, "%"); zone { // RFC 6874: it has no meaning elsewhere
			t.field = "[" + name + "]"
		}
	}
	if p := u.Port(); p != "" && p != port {
		port = p
		t.field += ":" + p
	}
	t.addr = net.JoinHostPort(t.host, port)
	t.path = u.RequestURI()
	scheme := "http://"
	if t.tls {
		scheme = "https://"
	}
	t.asHTTP = scheme + t.field + t.path
	return t, nil
}

// withoutURL removes the URL, which may have a password, from an error of url.Parse.
func withoutURL(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}
