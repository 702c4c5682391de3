package gale

import (
	"bytes"
	"errors"
	"fmt"
	"net"

	"github.com/galehttp/gale/internal/bytesconv"
)

// AppendIPv4 appends ip in dotted decimal to dst and returns the extended
// slice. If ip is no IPv4 address, in 4 or 16 bytes, it appends
// "non-v4 ip passed to AppendIPv4".
func AppendIPv4(dst []byte, ip net.IP) []byte {
	ip = ip.To4()
	if ip == nil {
		return append(dst, "non-v4 ip passed to AppendIPv4"...)
	}
	for i, part := range ip {
		if i > 0 {
			dst = append(dst, '.')
		}
		dst = bytesconv.AppendInt(dst, int(part))
	}
	return dst
}

var errEmptyIP = errors.New("empty ip address string")

// ParseIPv4 reads an address in dotted decimal. The result has 4 bytes; they
// are those of dst if dst has exactly as many, and new ones otherwise. After an
// error the result holds what was read before it.
//
// Unlike fasthttp, it refuses parts with leading zeros, which some programs
// take for octal (RFC 6943 section 3.1.1).
func ParseIPv4(dst net.IP, ipStr []byte) (net.IP, error) {
	if len(ipStr) == 0 {
		return dst, errEmptyIP
	}
	if len(dst) != net.IPv4len {
		dst = make(net.IP, net.IPv4len)
	}
	clear(dst)
	rest := ipStr
	for i := range dst {
		part := rest
		if i < len(dst)-1 {
			n := bytes.IndexByte(rest, '.')
			if n < 0 {
				return dst, fmt.Errorf("cannot find dot in ip string %q", ipStr)
			}
			part, rest = rest[:n], rest[n+1:]
		}
		v, n, err := bytesconv.ParseUintPrefix(part)
		switch {
		case err != nil:
			return dst, fmt.Errorf("cannot parse ip string %q: %w", ipStr, err)
		case n < len(part):
			return dst, fmt.Errorf("cannot parse ip string %q: %w", ipStr, bytesconv.ErrTrailingChar)
		case v > 255:
			return dst, fmt.Errorf("cannot parse ip string %q: ip part cannot exceed 255: parsed %d", ipStr, v)
		case n > 1 && part[0] == '0':
			return dst, fmt.Errorf("cannot parse ip string %q: ip part has leading zeros", ipStr)
		}
		dst[i] = byte(v)
	}
	return dst, nil
}
