package gale

import (
	"bytes"
	"net"
	"strconv"
	"time"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/clock"
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

// AppendHTTPDate appends date to dst in the form of headers such as Date and
// Last-Modified, "Sun, 06 Nov 1994 08:49:37 GMT", and returns the extended slice
// (IMF-fixdate of RFC 9110 section 5.6.7). date may be in any time zone. Years
// outside of 0 to 9999 are written with as many digits as they have, but recipients
// probably can't read such a date. The result belongs to the caller.
func AppendHTTPDate(dst []byte, date time.Time) []byte {
	date = date.UTC()
	if year := date.Year(); year < 0 || year > 9999 {
		return date.AppendFormat(dst, layoutIMF)
	}
	return clock.AppendDateAt(dst, date)
}

// gmt is the zone of parsed dates, so that printing them with time.RFC1123
// gives a valid date again, which "UTC" would not be.
var gmt = time.FixedZone("GMT", 0)

// Layouts of RFC 9110 section 5.6.7, newest first.
const (
	layoutIMF     = "Mon, 02 Jan 2006 15:04:05 GMT"
	layoutRFC850  = "Monday, 02-Jan-06 15:04:05 GMT"
	layoutANSI    = time.ANSIC
	imfDays       = "SunMonTueWedThuFriSat"
	imfMonths     = "JanFebMarAprMayJunJulAugSepOctNovDec"
	daysPerMonths = "\x1f\x1d\x1f\x1e\x1f\x1e\x1f\x1f\x1e\x1f\x1e\x1f"
)

// ParseHTTPDate returns the time of date, in GMT. It reads the three forms of RFC
// 9110 section 5.6.7: IMF-fixdate, and the obsolete forms of RFC 850 and of
// asctime. It doesn't check whether the day of the week is right. The error is a
// *time.ParseError.
func ParseHTTPDate(date []byte) (time.Time, error) {
	if t, ok := parseIMF(date); ok {
		return t, nil
	}
	s := bytesconv.B2S(date) // errors of time.Parse copy it
	for _, layout := range [...]string{layoutIMF, layoutRFC850} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.In(gmt), nil
		}
	}
	return time.Parse(layoutANSI, s)
}

// parseIMF reads the form that practically every date has, in its exact spelling.
// It refuses some dates that time.Parse accepts.
func parseIMF(b []byte) (t time.Time, ok bool) {
	if len(b) != len(layoutIMF) ||
		b[3] != ',' || b[4] != ' ' || b[7] != ' ' || b[11] != ' ' || b[16] != ' ' ||
		b[19] != ':' || b[22] != ':' || string(b[25:]) != " GMT" {
		return t, false
	}
	month := nameIndex(imfMonths, b[8:11])
	day, hour, minute, second := twoDigits(b[5:]), twoDigits(b[17:]), twoDigits(b[20:]), twoDigits(b[23:])
	century, year := twoDigits(b[12:]), twoDigits(b[14:])
	if month < 0 || nameIndex(imfDays, b[0:3]) < 0 || century < 0 || year < 0 || hour < 0 || minute < 0 || second < 0 ||
		hour > 23 || minute > 59 || second > 59 || day < 1 || day > int(daysPerMonths[month]) {
		return t, false
	}
	t = time.Date(century*100+year, time.Month(month+1), day, hour, minute, second, 0, time.UTC)
	return t.In(gmt), t.Day() == day // the 29th of February may not exist
}

// nameIndex returns which of the three-letter names b is, or -1.
func nameIndex(names string, b []byte) int {
	for i := 0; i < len(names); i += 3 {
		if names[i] == b[0] && names[i+1] == b[1] && names[i+2] == b[2] {
			return i / 3
		}
	}
	return -1
}

// twoDigits returns the value of the two digits that b begins with, or -1.
func twoDigits(b []byte) int {
	hi, lo := b[0]-'0', b[1]-'0'
	if hi > 9 || lo > 9 {
		return -1
	}
	return int(hi)*10 + int(lo)
}
