package main

import (
	"net"
	"net/url"
	"strings"

	"github.com/galehttp/gale"
)

// checkOrigin refuses a request that a page of another origin has caused. Browsers say so
// with Sec-Fetch-Site and Origin; other clients send neither. A form can be sent to any
// site, with the password that the browser knows for it, so this doesn't depend on CORS.
//
// It can't recognize a page whose host name was made to lead to this server (DNS
// rebinding): for the browser, that page has the same origin. hostsConfig refuses the name,
// and such a page has no password of this server.
func checkOrigin(ctx *gale.RequestCtx) error {
	h := &ctx.Request.Header
	cross := refuse(gale.StatusForbidden, "the request comes from a page of another site: open this server's own page and upload there")
	for _, v := range h.PeekAll("Sec-Fetch-Site") {
		if s := string(v); s != "same-origin" && s != "none" {
			return cross
		}
	}
	for _, v := range h.PeekAll(gale.HeaderOrigin) {
		if !ownOrigin(string(v), string(h.Host()), ctx.IsTLS()) {
			return cross
		}
	}
	return nil
}

// ownOrigin reports whether origin (RFC 6454 section 7) is the one of this server, which
// the client calls host. Behind a proxy that adds TLS, the server sees none, so an https
// origin may belong to a server without TLS, but not an http origin to one with TLS.
func ownOrigin(origin, host string, secure bool) bool {
	scheme, authority, ok := strings.Cut(origin, "://")
	if !ok || scheme != "https" && (scheme != "http" || secure) || strings.ContainsAny(authority, "/?#@\\ ") {
		return false
	}
	name, port, ok := hostPort(scheme, authority)
	if !ok {
		return false
	}
	ownName, ownPort, ok := hostPort(scheme, host)
	return ok && strings.EqualFold(name, ownName) && port == ownPort
}

// hostPort splits an authority. A missing port is the usual one of the scheme.
func hostPort(scheme, authority string) (host, port string, ok bool) {
	u, err := url.Parse(scheme + "://" + authority)
	if err != nil || u.User != nil || u.Hostname() == "" || u.Host != authority {
		return "", "", false
	}
	host, port = u.Hostname(), u.Port()
	if ip := net.ParseIP(host); ip != nil {
		host = ip.String()
	}
	if port == "" {
		port = "80"
		if scheme == "https" {
			port = "443"
		}
	}
	return host, port, true
}
