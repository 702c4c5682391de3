package gale

import (
	"bytes"
	"net"
	"net/netip"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/msg"
)

// ClientIP returns the IP address of the client. If the request came through proxies of
// Server.TrustedProxies, that is the rightmost address of X-Forwarded-For that is not in
// the list. If the request has no such header, ClientIP reads Forwarded (RFC 7239)
// instead; it never mixes the two. It reads these headers only if the peer (RemoteAddr)
// is in the list itself. Otherwise, and if the list is empty, it returns the address of
// the peer.
//
// If all addresses are in the list, it returns the leftmost one. An element without an
// address, such as "unknown", "_hidden" or a malformed one, ends the search. Then the
// result is the address to its right: that of the proxy that wrote the element.
//
// IPv4-mapped IPv6 addresses become IPv4 addresses, and zones are dropped. The result is
// the zero Addr if the peer has no IP address and isn't trusted, or is trusted but names
// no address.
func (ctx *RequestCtx) ClientIP() netip.Addr {
	used(ctx.loan)
	return ctx.clientIP(addrOf(ctx.RemoteAddr()), nil)
}

func init() {
	door.ClientIP = func(ctx any, peer netip.Addr, trusted []netip.Prefix) netip.Addr {
		return ctx.(*RequestCtx).clientIP(peer, trusted)
	}
}

// clientIP is ClientIP for the address of the peer, invalid if it has none. It trusts proxies of
// trusted, too.
func (ctx *RequestCtx) clientIP(peer netip.Addr, trusted []netip.Prefix) netip.Addr {
	s := ctx.server()
	t := trustedProxies{s.TrustedProxies, trusted}
	isProxy := t.trusts(peer)
	if !peer.IsValid() {
		isProxy = s.TrustUNIXProxies && ctx.RemoteAddr().Network() == "unix"
	}
	if !isProxy {
		return peer
	}
	return t.client(peer, &ctx.Request.Header.s.Fields)
}

// trustedProxies are the addresses of proxies.
type trustedProxies [2][]netip.Prefix

func (t *trustedProxies) trusts(ip netip.Addr) bool {
	for _, list := range t {
		for _, p := range list {
			if p.Contains(ip) {
				return true
			}
		}
	}
	return false
}

// client returns the address that f names, as ClientIP describes. peer is trusted.
func (t *trustedProxies) client(peer netip.Addr, f *msg.Fields) netip.Addr {
	if f.Has(msg.XForwardedFor) {
		return t.clientIn(peer, f, msg.XForwardedFor)
	}
	return t.clientIn(peer, f, msg.Unknown)
}

// clientIn returns the last address that isn't trusted in the X-Forwarded-For fields or,
// if id is msg.Unknown, in the Forwarded fields. peer is the last hop.
func (t *trustedProxies) clientIn(peer netip.Addr, f *msg.Fields, id msg.ID) netip.Addr {
	last, name := peer, bytesconv.S2B(HeaderForwarded)
	for i := f.Before(len(f.Recs), id, name); i >= 0; i = f.Before(i, id, name) {
		for v := f.Value(i); len(v) > 0; {
			var ip netip.Addr
			var says bool
			if id == msg.XForwardedFor {
				v, ip, says = previousAddr(v)
			} else {
				v, ip, says = previousFor(v)
			}
			if !says {
				continue
			}
			if !ip.IsValid() {
				return last
			}
			if !t.trusts(ip) {
				return ip
			}
			last = ip
		}
	}
	return last
}

// previousAddr cuts the last element off v, the value of an X-Forwarded-For field. It
// returns what is before it, and its address, which is invalid if it has none. says is
// false for an empty element.
func previousAddr(v []byte) (before []byte, ip netip.Addr, says bool) {
	element := v
	if n := bytes.LastIndexByte(v, ','); n >= 0 {
		before, element = v[:n], v[n+1:]
	}
	element = bytesconv.TrimOWS(element)
	if len(element) == 0 {
		return before, ip, false
	}
	return before, parseNode(element), true
}

// previousFor is previousAddr for a Forwarded field:
//
//	Forwarded         = 1#forwarded-element
//	forwarded-element = [ forwarded-pair ] *( ";" [ forwarded-pair ] )
//	forwarded-pair    = token "=" ( token / quoted-string )     RFC 7239 section 4
//
// It reads from right to left. So what a client wrote, such as a quote that it doesn't
// close, can't change how the elements of proxies to the right of it are read. A
// quoted-string with a backslash makes an element malformed, because no address needs a
// backslash.
func previousFor(v []byte) (before []byte, ip netip.Addr, says bool) {
	end, fors := len(v), 0
	malformed := false
	pairEnd := end
	pair := func(from int) {
		name, value, _ := bytes.Cut(bytesconv.TrimOWS(v[from:pairEnd]), equalsSign)
		if bytesconv.EqualFoldString(name, "for") {
			fors++
			ip = parseNode(unquoted(value))
		}
	}
	i := end - 1
	for ; i >= 0 && v[i] != ','; i-- {
		switch v[i] {
		case ';':
			pair(i + 1)
			pairEnd = i
		case '"':
			open := bytes.LastIndexByte(v[:i], '"')
			if open < 0 {
				return nil, netip.Addr{}, true
			}
			malformed = malformed || open > 0 && v[open-1] == '\\' || bytes.IndexByte(v[open:i], '\\') >= 0
			i = open
		}
	}
	pair(i + 1)
	if i > 0 {
		before = v[:i]
	}
	if malformed || fors > 1 {
		return before, netip.Addr{}, true
	}
	return before, ip, fors == 1 || len(bytesconv.TrimOWS(v[i+1:])) > 0
}

var equalsSign = []byte("=")

// unquoted returns the text between the quotes of a quoted-string. It returns anything
// else unchanged.
func unquoted(v []byte) []byte {
	if n := len(v); n >= 2 && v[0] == '"' && v[n-1] == '"' {
		return v[1 : n-1]
	}
	return v
}

// parseNode reads
//
//	node = ( IPv4address / IPv6address / "[" IPv6address "]" ) [ ":" port ]
//
// which is RFC 7239 section 6 and what proxies write besides. A zone is dropped. It returns
// the zero Addr for anything else, such as "unknown" and obfuscated identifiers.
func parseNode(b []byte) netip.Addr {
	const longest = len("[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255%]:65535") + 32 // of a zone
	if len(b) == 0 || len(b) > longest {
		return netip.Addr{}
	}
	bracketed := b[0] == '['
	if bracketed {
		n := bytes.IndexByte(b, ']')
		if n < 0 || !isPort(b[n+1:]) {
			return netip.Addr{}
		}
		b = b[1:n]
	} else if n := bytes.IndexByte(b, ':'); n >= 0 && bytes.IndexByte(b[n+1:], ':') < 0 {
		if !isPort(b[n:]) {
			return netip.Addr{}
		}
		b = b[:n]
	}
	zoned := false
	if n := bytes.IndexByte(b, '%'); n >= 0 {
		if n == len(b)-1 {
			return netip.Addr{}
		}
		b, zoned = b[:n], true
	}
	if !mayBeAddr(b) {
		return netip.Addr{}
	}
	ip, err := netip.ParseAddr(bytesconv.B2S(b))
	if err != nil || (bracketed || zoned) && !ip.Is6() {
		return netip.Addr{}
	}
	return ip.Unmap()
}

// mayBeAddr reports whether b has only characters of an address. It returns false for
// names and identifiers, so that netip.ParseAddr doesn't allocate an error for them.
func mayBeAddr(b []byte) bool {
	for _, c := range b {
		if bytesconv.HexValue[c] > 15 && c != '.' && c != ':' {
			return false
		}
	}
	return len(b) > 0
}

// isPort reports whether b is empty or a colon with a port. A port is digits or, in
// Forwarded, an obfuscated port: "_" and other characters.
func isPort(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	if b[0] != ':' || len(b) == 1 {
		return false
	}
	obfuscated := b[1] == '_'
	for _, c := range b[1:] {
		digit := c >= '0' && c <= '9'
		if !digit && !(obfuscated && (bytesconv.Token[c])) {
			return false
		}
	}
	return obfuscated || len(b) <= len(":65535")
}

// addrOf returns the IP address in a, without a zone; the zero Addr if there is none.
func addrOf(a net.Addr) netip.Addr {
	var ip netip.Addr
	switch a := a.(type) {
	case *net.TCPAddr:
		ip, _ = netip.AddrFromSlice(a.IP)
	case *net.UDPAddr:
		ip, _ = netip.AddrFromSlice(a.IP)
	case *net.IPAddr:
		ip, _ = netip.AddrFromSlice(a.IP)
	case *net.UnixAddr:
	default:
		p, _ := netip.ParseAddrPort(a.String())
		ip = p.Addr()
	}
	return ip.Unmap().WithZone("")
}
