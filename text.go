package gale

import (
	"bytes"
	"net"
	"strconv"

	"github.com/galehttp/gale/internal/bytesconv"
)

// htmlEscapes holds the replacements of the bytes that have a meaning in HTML text
// and in quoted attribute values. They are those of html.EscapeString.
var htmlEscapes = [256]string{'&': "&amp;", '<': "&lt;", '>': "&gt;", '"': "&#34;", '\'': "&#39;"}

// AppendHTMLEscape appends s to dst, with & < > " ' written as character
// references, and returns the extended slice. The result belongs to the caller.
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

// AppendHTMLEscapeBytes is [AppendHTMLEscape] for bytes. The result belongs to the
// caller.
func AppendHTMLEscapeBytes(dst, s []byte) []byte {
	return AppendHTMLEscape(dst, bytesconv.B2S(s))
}

// AppendUint appends n in decimal to dst and returns the extended slice. It panics
// if n is negative. The result belongs to the caller.
func AppendUint(dst []byte, n int) []byte {
	if n < 0 {
		panic("BUG: int must be positive")
	}
	return bytesconv.AppendInt(dst, n)
}

// ParseUint returns the number that buf holds in decimal digits. Leading zeros are
// allowed, signs and spaces are not. If buf is empty, has bytes that aren't digits,
// or holds a number that doesn't fit in an int, the result is -1 with an error.
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

// ParseUfloat returns the number of 0 or more that buf holds in decimal digits,
// with an optional fraction and exponent, such as "12", "1.5" or "1e-3". For
// anything else the result is -1 with an error. It is a *strconv.NumError, except
// for a number with a minus sign.
//
// Unlike fasthttp, it refuses "NaN", "Inf" and underscores between digits: a client
// should not be able to send them as numbers.
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

// AppendIPv4 appends ip in dotted decimal to dst and returns the extended slice. If
// ip isn't an IPv4 address of 4 or 16 bytes, it appends "non-v4 ip passed to
// AppendIPv4". The result belongs to the caller.
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

// ParseIPv4 reads an address in dotted decimal. The result has 4 bytes. It is dst
// if dst has a length of 4, and a new slice otherwise. After an error the result
// holds the parts that were read before it.
//
// Unlike fasthttp, it refuses parts with leading zeros, which some programs read as
// octal (RFC 6943 section 3.1.1).
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
