package gale

import (
	"bytes"
	"net"
	"strconv"

	"github.com/galehttp/gale/internal/bytesconv"
)

// htmlEscapes holds what stands for the bytes that mean something in HTML text
// and in quoted attribute values. They are the ones of html.EscapeString.
var htmlEscapes = [256]string{'&': "&amp;", '<': "&lt;", '>': "&gt;", '"': "&#34;", '\'': "&#39;"}

// AppendHTMLEscape appends s to dst, with & < > " ' as character references,
// and returns the extended slice.
func AppendHTMLEscape(dst []byte, s string) []byte {
	start := 0
	for i := 0; i < len(s); i++ {
		if esc := htmlEscapes[s[i]]; esc != "" {
			dst = append(append(dst, s[start:i]...), esc...)
			start = i + 1
		}
	}
	return append(dst, s[start:]...)
}

// AppendHTMLEscapeBytes is [AppendHTMLEscape] for bytes.
func AppendHTMLEscapeBytes(dst, s []byte) []byte {
	return AppendHTMLEscape(dst, bytesconv.B2S(s))
}

// AppendUint appends n in decimal to dst and returns the extended slice.
// It panics if n is negative.
func AppendUint(dst []byte, n int) []byte {
	if n < 0 {
		panic("BUG: int must be positive")
	}
	return bytesconv.AppendInt(dst, n)
}

// ParseUint returns the number that the decimal digits of buf stand for.
// Leading zeros are allowed, signs and spaces are not. The result is -1 with an
// error if buf is empty, has other bytes than digits, or means a number that
// doesn't fit in an int.
func ParseUint(buf []byte) (int, error) {
	n, err := bytesconv.ParseUint(buf)
	if err != nil {
		err = intError(err)
	}
	return n, err
}

// The errors of ParseUint.
var (
	errEmptyInt     = newBareError(bytesconv.ErrEmptyInt.Error())
	errFirstChar    = newBareError(bytesconv.ErrFirstChar.Error())
	errTrailingChar = newBareError(bytesconv.ErrTrailingChar.Error())
	errIntTooLarge  = newBareError(bytesconv.ErrIntTooLarge.Error())
)

// intError is the error of the API for one of package bytesconv.
func intError(err error) error {
	switch err {
	case bytesconv.ErrEmptyInt:
		return errEmptyInt
	case bytesconv.ErrFirstChar:
		return errFirstChar
	case bytesconv.ErrTrailingChar:
		return errTrailingChar
	}
	return errIntTooLarge
}

var errNegativeFloat = newBareError("negative input is invalid")

// ParseUfloat returns the number of 0 or more that buf stands for, in decimal
// digits with an optional fraction and exponent, such as "12", "1.5" or "1e-3".
// The result is -1 with an error for anything else; the error is a
// *strconv.NumError unless it is about a minus sign.
//
// Unlike fasthttp, it refuses "NaN", "Inf" and underscores between digits:
// none of them is a number a client should be able to send.
func ParseUfloat(buf []byte) (float64, error) {
	if len(buf) > 0 && buf[0] == '-' {
		return -1, errNegativeFloat
	}
	for _, c := range buf {
		if (c < '0' || c > '9') && c != '.' && c != 'e' && c != 'E' && c != '+' && c != '-' {
			return -1, &strconv.NumError{Func: "ParseFloat", Num: string(buf), Err: strconv.ErrSyntax}
		}
	}
	f, err := strconv.ParseFloat(bytesconv.B2S(buf), 64)
	if err != nil {
		return -1, err // it holds a copy of buf
	}
	return f, nil
}

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

var errEmptyIP = newBareError("empty ip address string")

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
				return dst, errorf("cannot find dot in ip string %q", ipStr)
			}
			part, rest = rest[:n], rest[n+1:]
		}
		v, n, err := bytesconv.ParseUintPrefix(part)
		switch {
		case err != nil:
			return dst, errorf("cannot parse ip string %q: %w", ipStr, err)
		case n < len(part):
			return dst, errorf("cannot parse ip string %q: %w", ipStr, bytesconv.ErrTrailingChar)
		case v > 255:
			return dst, errorf("cannot parse ip string %q: ip part cannot exceed 255: parsed %d", ipStr, v)
		case n > 1 && part[0] == '0':
			return dst, errorf("cannot parse ip string %q: ip part has leading zeros", ipStr)
		}
		dst[i] = byte(v)
	}
	return dst, nil
}
