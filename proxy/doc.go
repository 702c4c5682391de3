// Package proxy dials through proxies: HTTP and HTTPS ones with CONNECT (RFC 9110
// section 9.3.6), and SOCKS5 ones (RFC 1928, RFC 1929).
//
// It dials a tunnel: the proxy passes bytes on and sees no request. Give
// the result to the Dial field of a client:
//
//	client := &gale.Client{Dial: proxy.FasthttpHTTPDialer("user:secret@proxy.example:3128")}
//
// Dialer has all settings; the functions whose names begin with Fasthttp, which
// are those of fasthttp's package fasthttpproxy, are short forms of it. A proxy
// that depends on the URI of each request is what gale.Client.Proxy is for.
//
// # Proxies
//
// A proxy is written as a URL: scheme://user:password@host:port. The schemes are
// http (which is meant if there is none), https, socks5 and socks5h, and those
// registered with golang.org/x/net/proxy. The ports are 80, 443 and 1080 if not
// given. User and password are percent-encoded where they have to be, and may be
// left out. A proxy that can't be understood is an error when dialing, never a
// reason to do without it.
//
// Names of hosts are resolved by the proxy. Errors don't tell passwords.
package proxy
