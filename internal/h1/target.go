package h1

import (
	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/msg"
)

// setTarget finds the form of the target (RFC 9112 section 3.2) and its authority, which
// is the host of the request, whatever Host says. CONNECT may also have a target in
// origin-form: that doesn't open a tunnel, but protocols such as that of net/rpc begin in
// this way.
//
//	request-target = origin-form / absolute-form / authority-form / asterisk-form
func setTarget(t []byte, h *msg.RequestHead) error {
	connect := h.MethodID == msg.MethodConnect
	switch {
	case connect && t[0] != '/':
		if !validAuthority(t, true) {
			return ErrTarget
		}
		h.Form = msg.FormAuthority
		h.Parts[msg.Authority] = h.Parts[msg.Target]
		return nil
	case t[0] == '/':
		h.Form = msg.FormOrigin
		return nil
	case len(t) == 1 && t[0] == '*' && h.MethodID == msg.MethodOptions:
		h.Form = msg.FormAsterisk
		return nil
	}
	from, to := SplitAbsolute(t)
	if from == 0 || !validAuthority(t[from:to], false) {
		return ErrTarget
	}
	h.Form = msg.FormAbsolute
	h.Parts[msg.Authority] = msg.Span{Off: h.Parts[msg.Target].Off + uint32(from), Len: uint32(to - from)}
	return nil
}

// ValidTarget reports whether a request with this method may have the target t.
func ValidTarget(method, t string) bool {
	if t == "" {
		return false
	}
	for i := range len(t) {
		if !isTargetByte(t[i]) {
			return false
		}
	}
	var h msg.RequestHead
	h.MethodID = msg.LookupMethod(bytesconv.S2B(method))
	return setTarget(bytesconv.S2B(t), &h) == nil
}

// SplitAbsolute returns where the authority of an absolute-form target with
// the scheme http or https begins and ends in t; the path and query follow it.
// For other targets it returns 0, 0.
func SplitAbsolute(t []byte) (from, to int) {
	switch {
	case len(t) > 7 && bytesconv.EqualFoldString(t[:7], "http://"):
		from = 7
	case len(t) > 8 && bytesconv.EqualFoldString(t[:8], "https://"):
		from = 8
	default:
		return 0, 0
	}
	to = from
	for to < len(t) && t[to] != '/' && t[to] != '?' && t[to] != '#' {
		to++
	}
	return from, to
}

// ValidHost reports whether b may be the value of a Host field (RFC 9110 section 7.2): a
// uri-host with an optional port, or nothing.
func ValidHost(b []byte) bool {
	return len(b) == 0 || isPlainHost(b) || validAuthority(b, false)
}

// isPlainHost reports whether b is a common host: at least eight bytes, all of them
// letters, digits, hyphens and dots.
func isPlainHost(b []byte) bool {
	last := len(b) - 8
	if last < 0 {
		return false
	}
	for i := 0; i < last; i += 8 {
		if !plainHost(word(b[i : i+8 : i+8])) {
			return false
		}
	}
	return plainHost(word(b[last:])) // may overlap the word before
}

// validAuthority checks host [ ":" port ] (RFC 3986 section 3.2). The
// host is not empty and there is no userinfo: the schemes of HTTP allow neither
// (RFC 9110 section 4.2).
func validAuthority(b []byte, needPort bool) bool {
	end := hostEnd(b)
	if end <= 0 {
		return false
	}
	if end == len(b) {
		return !needPort
	}
	if b[end] != ':' || needPort && end+1 == len(b) {
		return false
	}
	for _, c := range b[end+1:] {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// hostEnd returns the length of the host that b begins with, or -1:
//
//	host       = IP-literal / IPv4address / reg-name
//	IP-literal = "[" ( IPv6address / IPvFuture ) "]"
//	reg-name   = *( unreserved / pct-encoded / sub-delims )
//
// As in the URIs of this module, a reg-name has no comma, because commas separate
// addresses in lists. It percent-encodes no ASCII characters, because they don't need it,
// except "%", which URIs refuse; no server has such a host.
func hostEnd(b []byte) int {
	if len(b) > 0 && b[0] == '[' {
		for i, c := range b {
			if c == ']' {
				if validIPv6(b[1:i]) || validIPvFuture(b[1:i]) {
					return i + 1
				}
				return -1
			}
		}
		return -1
	}
	i := 0
	for i+8 <= len(b) && plainHost(word(b[i:])) {
		i += 8
	}
	for ; i < len(b); i++ {
		c := b[i]
		if bytesconv.HostSafe[c] && c != ',' {
			continue
		}
		if c != '%' {
			return i
		}
		if i+2 < len(b) && b[i+1] == '2' && b[i+2] == '5' {
			i += 2
			continue
		}
		if i+2 >= len(b) || bytesconv.HexValue[b[i+1]] < 8 || bytesconv.HexValue[b[i+1]]|bytesconv.HexValue[b[i+2]] > 15 {
			return -1
		}
		i += 2
	}
	return len(b)
}

// validIPv6 checks an IPv6address: eight groups of one to four hex digits. One run of
// groups may be shortened to "::", and the last two may be an IPv4address. A zone is not
// allowed.
func validIPv6(b []byte) bool {
	groups, short := 0, false
	if len(b) >= 2 && b[0] == ':' && b[1] == ':' {
		b, short = b[2:], true
	}
	for len(b) > 0 {
		n := 0
		for n < len(b) && bytesconv.HexValue[b[n]] < 16 {
			n++
		}
		if n < len(b) && b[n] == '.' {
			if !validIPv4(b) {
				return false
			}
			groups += 2
			break
		}
		if n == 0 || n > 4 {
			return false
		}
		groups++
		if b = b[n:]; len(b) == 0 {
			break
		}
		if b[0] != ':' || len(b) == 1 {
			return false
		}
		if b = b[1:]; b[0] == ':' {
			if short {
				return false
			}
			b, short = b[1:], true
		}
	}
	if short {
		return groups < 8
	}
	return groups == 8
}

// validIPv4 checks four numbers from 0 to 255 without leading zeros.
func validIPv4(b []byte) bool {
	for part := 0; ; part++ {
		v, n, err := bytesconv.ParseUintPrefix(b)
		if err != nil || v > 255 || n > 1 && b[0] == '0' {
			return false
		}
		b = b[n:]
		if part == 3 {
			return len(b) == 0
		}
		if len(b) == 0 || b[0] != '.' {
			return false
		}
		b = b[1:]
	}
}

// validIPvFuture checks "v" 1*HEXDIG "." 1*( unreserved / sub-delims / ":" ).
func validIPvFuture(b []byte) bool {
	if len(b) < 4 || b[0]|0x20 != 'v' {
		return false
	}
	n := 1
	for n < len(b) && bytesconv.HexValue[b[n]] < 16 {
		n++
	}
	if n == 1 || n+1 >= len(b) || b[n] != '.' {
		return false
	}
	for _, c := range b[n+1:] {
		if !bytesconv.HostSafe[c] && c != ':' {
			return false
		}
	}
	return true
}
