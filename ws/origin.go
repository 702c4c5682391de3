package ws

import (
	"strings"

	"github.com/galehttp/gale"
)

// origin is a parsed origin (RFC 6454 section 6.2), or one of Options.Origins.
type origin struct {
	scheme, host, port string // in lower case; port is never empty
	wildcard           bool   // one more label precedes host, which begins with a dot
}

// parseOrigin parses "scheme://host" or "scheme://host:port". ok is false for other texts,
// such as "null".
func parseOrigin(s string) (o origin, ok bool) {
	scheme, rest, ok := strings.Cut(strings.ToLower(s), "://")
	if !ok || scheme == "" {
		return origin{}, false
	}
	o.scheme = scheme
	if o.host, o.port, ok = splitHost(rest); !ok {
		return origin{}, false
	}
	if o.port == "" {
		o.port = defaultPort(scheme)
	}
	if label, ok := strings.CutPrefix(o.host, "*."); ok {
		o.wildcard, o.host = true, "."+label
	}
	return o, true
}

// splitHost splits "host:port" or "[address]:port". port is empty if there is none.
func splitHost(s string) (host, port string, ok bool) {
	end := 0
	if strings.HasPrefix(s, "[") {
		end = strings.IndexByte(s, ']') + 1
		if end == 0 {
			return "", "", false
		}
	} else if end = strings.IndexByte(s, ':'); end < 0 {
		end = len(s)
	}
	host, port = s[:end], s[end:]
	if host == "" || strings.ContainsAny(host, "/?#@ ") {
		return "", "", false
	}
	if port == "" || port == ":" {
		return host, "", true
	}
	if port[0] != ':' {
		return "", "", false
	}
	for _, c := range []byte(port[1:]) {
		if c < '0' || c > '9' {
			return "", "", false
		}
	}
	return host, port[1:], true
}

// defaultPort returns the port that URLs of this scheme without a port mean.
func defaultPort(scheme string) string {
	switch scheme {
	case "http", "ws":
		return "80"
	case "https", "wss":
		return "443"
	}
	return "0"
}

// matches reports whether p, one of Options.Origins, allows o.
func (p *origin) matches(o *origin) bool {
	if p.scheme != o.scheme || p.port != o.port {
		return false
	}
	if !p.wildcard {
		return p.host == o.host
	}
	label, ok := strings.CutSuffix(o.host, p.host)
	return ok && label != "" && !strings.Contains(label, ".")
}

// sameHost reports whether host, the value of a Host field, is the host and port of o. If
// host has no port, it is the default port of o's scheme. Which of http and https it is
// doesn't matter: a proxy in front of the server may have ended TLS.
func (o *origin) sameHost(host string) bool {
	if o.scheme != "http" && o.scheme != "https" {
		return false // its host may be a name that isn't of the DNS
	}
	h, port, ok := splitHost(strings.ToLower(host))
	if !ok || h != o.host {
		return false
	}
	if port == "" {
		port = defaultPort(o.scheme)
	}
	return port == o.port
}

// allowsOrigin reports whether the page that made the request may open a WebSocket.
func (o *Options) allowsOrigin(ctx *gale.RequestCtx) bool {
	if o.CheckOrigin != nil {
		return o.CheckOrigin(ctx)
	}
	values := ctx.Request.Header.PeekAll("Origin")
	if len(values) == 0 || o.shared.anyOrigin {
		return true
	}
	if len(values) != 1 {
		return false
	}
	from, ok := parseOrigin(string(values[0]))
	if !ok || from.wildcard {
		return false
	}
	if from.sameHost(string(ctx.Request.Header.Host())) {
		return true
	}
	for i := range o.shared.origins {
		if o.shared.origins[i].matches(&from) {
			return true
		}
	}
	return false
}
