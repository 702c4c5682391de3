package gale

import (
	"bytes"
	"net/netip"
	"unicode/utf8"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/pathrule"
)

var (
	errIPv6Open    = newBareError("missing ']' in host")
	errIPv6Empty   = newBareError("invalid ipv6 host")
	errIPv6Address = newBareError("invalid ipv6 address")
)

// hostSafe says which bytes may be in a registered name: those that RFC 3986
// section 3.2.2 allows, without the comma, which separates addresses in lists, and
// with the bytes of UTF-8, which internationalised names use.
var hostSafe = func() [256]bool {
	t := bytesconv.HostSafe
	t[','] = false
	for i := 0x80; i < 0x100; i++ {
		t[i] = true
	}
	return t
}()

// lowerHost checks host [ ":" port ], which is in the arena, and makes it the host,
// in lower case. Percent-encoded UTF-8 is decoded. An encoded ASCII character is an
// error, because no name needs one.
func (u *URI) lowerHost(from, end int) error {
	host := u.buf[from:end]
	if len(host) > 0 && host[0] == '[' {
		return u.lowerIPv6(from, end)
	}
	plain := bytesconv.PlainHost(host)
	i, high, escaped := plain, byte(0), false
	for i < len(host) {
		c := host[i]
		if !hostSafe[c] {
			if c != '%' || i+2 >= len(host) || bytesconv.HexValue[host[i+1]] < 8 ||
				bytesconv.HexValue[host[i+1]]|bytesconv.HexValue[host[i+2]] > 15 {
				break
			}
			escaped = true
		}
		high |= c
		i++
	}
	if i < len(host) {
		if host[i] != ':' {
			return hostError(host[i:])
		}
		if err := checkPort(host, i); err != nil {
			return err
		}
	}
	if escaped {
		n := bytesconv.Unescape(host[:i])
		host, i = append(host[:n], host[i:]...), n
	}
	if (escaped || high >= 0x80) && !utf8.Valid(host[:i]) {
		return InvalidHostError(host[:i])
	}
	if i > plain {
		bytesconv.LowerInPlace(host[plain:i])
	}
	u.host = uriPart{uint32(from), uint32(from + len(host))}
	return nil
}

// hostError is the error for a host that is invalid from the start of b.
func hostError(b []byte) error {
	if b[0] == '%' {
		return EscapeError(b[:min(3, len(b))])
	}
	return InvalidHostError(b[:1])
}

// checkPort checks that host[i:] is ":" *DIGIT.
func checkPort(host []byte, i int) error {
	for j, c := range host[i+1:] {
		if c < '0' || c > '9' {
			if bytes.IndexByte(host[i+1+j:], ':') >= 0 {
				return errorf("invalid host %q with multiple port delimiters", host)
			}
			return errorf("invalid port %q after host", host[i:])
		}
	}
	return nil
}

// lowerIPv6 is lowerHost for an IPv6 address in brackets. A zone may follow it as
// "%25zone" or, as people write it, "%zone" (RFC 6874 sections 2 and 3); the host
// is stored in the second form.
func (u *URI) lowerIPv6(from, to int) error {
	host := u.buf[from:to]
	end := bytes.IndexByte(host, ']')
	if end < 0 {
		return errIPv6Open
	}
	if end+1 < len(host) {
		if host[end+1] != ':' {
			return errorf("invalid port %q after host", host[end+1:])
		}
		if err := checkPort(host, end+1); err != nil {
			return err
		}
	}
	if end == 1 {
		return errIPv6Empty
	}
	addr := host[1:end]
	zone := bytes.IndexByte(addr, '%')
	if zone >= 0 {
		name := addr[zone+1:]
		if bytes.HasPrefix(addr[zone:], zoneSign) {
			name = addr[zone+len(zoneSign):]
			n := copy(addr[zone+1:], name)
			host = append(host[:1+zone+1+n], host[end:]...)
			name = host[1+zone+1 : 1+zone+1+n]
		}
		if len(name) == 0 {
			return errIPv6Address
		}
		for i, c := range name {
			if !bytesconv.ArgSafe[c] {
				return hostError(name[i:])
			}
		}
		addr = addr[:zone]
	}
	if ip, err := netip.ParseAddr(bytesconv.B2S(addr)); err != nil || !ip.Is6() {
		return errIPv6Address
	}
	bytesconv.LowerInPlace(host)
	u.host = uriPart{uint32(from), uint32(from + len(host))}
	return nil
}

var zoneSign = []byte("%25")

// appendHost appends the host as it is written in a URI. The "%" before an IPv6
// zone is encoded if the zone would be misread without that.
func appendHost(dst, host []byte) []byte {
	if len(host) > 0 && host[0] == '[' {
		if n := bytes.Index(host, zoneSign); n >= 0 {
			dst = append(append(dst, host[:n]...), zoneSign...)
			return append(dst, host[n+1:]...)
		}
	}
	return append(dst, host...)
}

// validUserinfo checks *( unreserved / "%" / sub-delims / ":" / "@" ). RFC 3986 section
// 3.2.1 has no "@" here, and "%" only in escapes; both are common in passwords, and
// programs agree that the last "@" ends the userinfo.
func validUserinfo(b []byte) bool {
	for _, c := range b {
		if !bytesconv.HostSafe[c] && c != ':' && c != '@' && c != '%' {
			return false
		}
	}
	return true
}

// appendPath appends the path as Path returns it.
func (u *URI) appendPath(dst []byte) []byte {
	if u.routed {
		return pathrule.AppendRouted(dst, u.part(u.original), u.keepsSlash)
	}
	return pathrule.AppendNormal(dst, u.part(u.original), pathrule.BackslashIsSlash, u.keeps())
}

// route makes Path keep what it keeps after a router has matched it.
func (u *URI) route() {
	if !u.routed {
		u.routed, u.pathDone = true, u.pathDone && u.pathPlain
	}
}

// keeps returns the bytes that stay encoded in the path.
func (u *URI) keeps() string {
	if u.keepsSlash {
		return pathrule.Slashes
	}
	return ""
}

// appendEscapedPath appends the path as it is written, normalised.
func (u *URI) appendEscapedPath(dst []byte) []byte {
	switch {
	case u.routed:
		return pathrule.AppendEscapedRouted(dst, u.Path())
	case u.keepsSlash:
		return pathrule.AppendEscapedKept(dst, u.part(u.original))
	}
	return bytesconv.AppendEscaped(dst, u.Path(), &bytesconv.PathSafe)
}
