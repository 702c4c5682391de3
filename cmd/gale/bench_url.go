package main

import (
	"encoding/base64"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/galehttp/gale/internal/bytesconv"
)

// maxWeight is the largest weight of a URL.
const maxWeight = 1_000_000

// benchURL is a URL of "gale bench", taken apart.
type benchURL struct {
	text   string // for results: without a password
	https  bool   // or wss
	ws     bool   // or wss
	host   string // a name or an address, without brackets
	port   string
	target string // path and query, perhaps with {{name}}
	auth   string // the value of Authorization, if the URL has a user
	weight int
}

// parseBenchURL reads "URL" or "URL weight=3". Without a scheme it is http, without a host
// localhost.
func parseBenchURL(s string) (*benchURL, error) {
	u := &benchURL{weight: 1}
	text, options := cutOptions(strings.TrimSpace(s))
	for option := range strings.FieldsSeq(options) {
		value, ok := strings.CutPrefix(option, "weight=")
		if !ok {
			return nil, usagef("the URL %q has a space: write it as %%20, or 'URL weight=3' for a weight", hideBefore(s))
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > maxWeight {
			return nil, usagef("%q: a weight is a whole number from 1 to %d", hideBefore(s), maxWeight)
		}
		u.weight = n
	}
	scheme, rest := cutScheme(text)
	if err := u.setScheme(strings.TrimSuffix(scheme, "://")); err != nil {
		return nil, err
	}
	authority := rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, u.target = rest[:i], rest[i:]
	}
	// What follows the host may also begin with a value, as in http://host{{path|raw}}.
	if i := strings.Index(authority, "{{"); i >= 0 {
		authority, u.target = rest[:i], rest[i:]
	}
	return u, u.setAuthority(authority, s)
}

// cutScheme cuts the scheme of a URL off, with "://". It is "" if there is none (RFC 3986 section 3.1).
func cutScheme(s string) (scheme, rest string) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || strings.ContainsFunc(scheme, isNotOfScheme) {
		return "", s
	}
	return scheme + "://", rest
}

func isNotOfScheme(r rune) bool {
	letter := r|0x20 >= 'a' && r|0x20 <= 'z'
	return !letter && (r < '0' || r > '9') && r != '+' && r != '-' && r != '.'
}

// cutOptions cuts s at the first space. The name of a column, as in {{a b}}, may have some.
func cutOptions(s string) (text, options string) {
	for from := 0; ; {
		space := strings.IndexByte(s[from:], ' ')
		if space < 0 {
			return s, ""
		}
		open := strings.Index(s[from:], "{{")
		if open < 0 || open > space {
			return s[:from+space], s[from+space+1:]
		}
		end := strings.Index(s[from+open:], "}}")
		if end < 0 {
			return s[:from+space], s[from+space+1:]
		}
		from += open + end
	}
}

// hideBefore replaces all before the last @ of what should be a URL: where its user ends isn't known.
func hideBefore(s string) string {
	if at := strings.LastIndexByte(s, '@'); at >= 0 {
		return "***" + s[at:]
	}
	return s
}

func (u *benchURL) setScheme(scheme string) error {
	switch scheme := strings.ToLower(scheme); scheme {
	case "", "http":
	case "https":
		u.https = true
	case "ws":
		u.ws = true
	case "wss":
		u.https, u.ws = true, true
	default:
		return usagef("the scheme %q can't be measured: use an http, https, ws or wss URL", scheme)
	}
	return nil
}

// setAuthority reads user:password@host:port. whole is what the user wrote.
func (u *benchURL) setAuthority(authority, whole string) error {
	if strings.HasPrefix(authority, ":") {
		authority = "localhost" + authority
	}
	parsed, err := url.Parse("http://" + authority)
	if err != nil || parsed.Hostname() == "" {
		return usagef("%q isn't a URL: write it as in http://127.0.0.1:8080/path", hideBefore(whole))
	}
	u.host, u.port = parsed.Hostname(), parsed.Port()
	if !bytesconv.IsASCII([]byte(u.host)) || !bytesconv.IsTarget([]byte(u.host)) {
		return usagef("the host %q has characters that aren't ASCII: write it as xn--...", u.host)
	}
	if u.port != "" {
		if n, err := strconv.ParseUint(u.port, 10, 16); err != nil || n == 0 {
			return usagef("the port %q can't be: use one from 1 to 65535", u.port)
		}
	}
	if parsed.User != nil {
		password, _ := parsed.User.Password()
		u.auth = "Basic " + base64.StdEncoding.EncodeToString([]byte(parsed.User.Username()+":"+password))
	}
	u.text = u.scheme() + "://" + u.hostField() + hidePassword(u.target, false)
	return nil
}

func (u *benchURL) scheme() string {
	switch {
	case u.ws && u.https:
		return "wss"
	case u.ws:
		return "ws"
	case u.https:
		return "https"
	}
	return "http"
}

// hostField returns the value of Host: the host, with the port if the URL has one.
func (u *benchURL) hostField() string {
	host := u.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if u.port != "" {
		host += ":" + u.port
	}
	return host
}

// address returns what to connect to.
func (u *benchURL) address() string {
	port := u.port
	switch {
	case port != "":
	case u.https:
		port = "443"
	default:
		port = "80"
	}
	return net.JoinHostPort(u.host, port)
}
