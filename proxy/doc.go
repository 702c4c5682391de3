// Package proxy makes connections through proxies: HTTP and HTTPS proxies with CONNECT
// (RFC 9110 section 9.3.6), and SOCKS5 proxies (RFC 1928, RFC 1929). Its functions return
// dial functions for the Dial field of a client:
//
//	client := &gale.Client{Dial: proxy.FasthttpHTTPDialer("user:secret@proxy.example:3128")}
//
// The connection is a tunnel: the proxy passes the bytes on and sees no requests.
//
// [Dialer] has all settings. The functions whose names begin with Fasthttp are short forms
// of it; they are those of fasthttp's package fasthttpproxy. If the choice of the proxy
// depends on the URI of a request, use gale.Client.Proxy instead of this package.
//
// # Proxies
//
// A proxy is written as a URL: scheme://user:password@host:port. The scheme is http (the
// default), https, socks5 or socks5h, or one that is registered with
// golang.org/x/net/proxy. The default ports are 80 for http, 443 for https and 1080 for
// socks5 and socks5h. User and password are optional and percent-encoded where necessary.
// If a proxy is invalid, the dial fails: it never connects without the proxy instead.
//
// The proxy resolves the names of hosts. Errors don't contain passwords.
package proxy
