package gale

import (
	"bytes"
	"time"

	"github.com/galehttp/gale/internal/bytesconv"
)

// Parse sets c to the cookie in src, the value of a Set-Cookie header. See
// [Cookie.ParseBytes].
func (c *Cookie) Parse(src string) error { return c.ParseBytes(bytesconv.S2B(src)) }

// ParseBytes sets c to the cookie in src, the value of a Set-Cookie header:
//
//	set-cookie = [ name "=" ] value *( ";" attribute [ "=" value ] )
//
// Spaces and tabs around the parts are dropped, and so is one pair of double quotes
// around a value. The case of attribute names doesn't matter. If an attribute is
// repeated, the last valid one counts. Unknown attributes and invalid values are ignored
// (RFC 6265 section 5.2), and so are Path and Domain without "=". A Domain is invalid if it
// has a double quote or a backslash, and a Path if it has bytes other than visible ASCII,
// spaces and line ends. A Max-Age of 0 or less gives a negative MaxAge.
//
// Control characters become spaces, as in the setters. The error is [ErrNoCookies]
// if src is empty. It is [ErrInvalidCookieValue] if the value has a double quote or a
// backslash, as an unclosed quoted value does. After an error c is empty.
func (c *Cookie) ParseBytes(src []byte) error {
	if err := c.parse(src, false); err != nil {
		return err
	}
	value := unquoteCookie(c.value)
	if hasQuoting(value) {
		c.Reset()
		return ErrInvalidCookieValue
	}
	c.value = c.value[:copy(c.value, value)]
	return nil
}

// parseKept is ParseBytes as a client reads a cookie that it keeps (RFC 6265 section 5.2): the
// value and the path keep the bytes that they came with. Quotes and backslashes have no
// meaning in the value.
func (c *Cookie) parseKept(src []byte) error {
	return c.parse(src, true)
}

// parse parses the cookie in src. Its value isn't changed. If kept is set, its path may have
// bytes beyond ASCII.
func (c *Cookie) parse(src []byte, kept bool) error {
	c.Reset()
	if len(src) == 0 {
		return ErrNoCookies
	}
	part, rest, more := cutCookiePart(src)
	key, value := part[:0], part
	if n := bytes.IndexByte(part, '='); n >= 0 {
		key, value = bytesconv.TrimOWS(part[:n]), bytesconv.TrimOWS(part[n+1:])
	}
	c.key = setCookiePart(c.loan, c.key, key)
	c.value = setCookiePart(c.loan, c.value, value)
	for more {
		part, rest, more = cutCookiePart(rest)
		if len(part) > 0 {
			c.setAttribute(part, kept)
		}
	}
	return nil
}

// cutCookiePart cuts src at its first ";".
func cutCookiePart(src []byte) (part, rest []byte, more bool) {
	if n := bytes.IndexByte(src, ';'); n >= 0 {
		return bytesconv.TrimOWS(src[:n]), src[n+1:], true
	}
	return bytesconv.TrimOWS(src), nil, false
}

// unquoteCookie returns b without one pair of double quotes around it.
func unquoteCookie(b []byte) []byte {
	if len(b) >= 2 && b[0] == '"' && b[len(b)-1] == '"' {
		return b[1 : len(b)-1]
	}
	return b
}

// hasQuoting reports whether b has a double quote or a backslash: programs disagree
// about their meaning, and so about where a value ends.
func hasQuoting(b []byte) bool {
	for _, c := range b {
		if c == '"' || c == '\\' {
			return true
		}
	}
	return false
}

// setAttribute applies one attribute, which has at least a name (RFC 6265 section
// 5.2). kept is as in parse.
func (c *Cookie) setAttribute(part []byte, kept bool) {
	switch part[0] | 0x20 {
	case 'p':
		if value, ok := attributeValue(part, "path"); ok {
			c.setParsedPath(value, kept)
		} else if _, ok := attributeValue(part, "partitioned"); ok {
			c.partitioned = true
		}
	case 'd':
		if value, ok := attributeValue(part, "domain"); ok && value != nil && !hasQuoting(value) {
			c.domain = setCookiePart(c.loan, c.domain, value)
		}
	case 'm':
		if value, ok := attributeValue(part, "max-age"); ok {
			c.setMaxAge(value)
		}
	case 'e':
		if value, ok := attributeValue(part, "expires"); ok {
			if t, ok := parseCookieDate(value); ok {
				c.expire = t
			}
		}
	case 'h':
		if _, ok := attributeValue(part, "httponly"); ok {
			c.httpOnly = true
		}
	case 's':
		if _, ok := attributeValue(part, "secure"); ok {
			c.secure = true
		} else if value, ok := attributeValue(part, "samesite"); ok {
			c.setSameSite(value)
		}
	}
}

// attributeValue returns the attribute's value without quotes; ok says whether the
// attribute has the given name. The value is nil if there is no "=".
func attributeValue(part []byte, name string) (value []byte, ok bool) {
	if len(part) < len(name) || !bytesconv.EqualFoldString(part[:len(name)], name) {
		return nil, false
	}
	value = bytesconv.TrimOWS(part[len(name):])
	if len(value) == 0 {
		return nil, true
	}
	if value[0] != '=' {
		return nil, false
	}
	return unquoteCookie(bytesconv.TrimOWS(value[1:])), true
}

// setParsedPath sets the path without decoding, unless value is nil or invalid: only
// av-octets of RFC 6265 section 4.1.1, and line ends, which become spaces. If kept is set,
// bytes beyond ASCII are valid, too.
func (c *Cookie) setParsedPath(value []byte, kept bool) {
	if value == nil {
		return
	}
	for _, b := range value {
		if b != '\r' && b != '\n' && (b < ' ' || b == 0x7f || b > 0x7f && !kept) {
			return
		}
	}
	c.path = setCookiePart(c.loan, c.path, value)
}

func (c *Cookie) setMaxAge(value []byte) {
	negative := len(value) > 0 && value[0] == '-'
	if negative {
		value = value[1:]
	}
	n, err := ParseUint(value)
	switch {
	case err != nil:
	case negative, n == 0:
		c.maxAge = -1
	default:
		c.maxAge = n
	}
}

func (c *Cookie) setSameSite(value []byte) {
	switch {
	case value == nil: // without "="
		c.sameSite = CookieSameSiteDefaultMode
	case bytesconv.EqualFoldString(value, "lax"):
		c.sameSite = CookieSameSiteLaxMode
	case bytesconv.EqualFoldString(value, "strict"):
		c.sameSite = CookieSameSiteStrictMode
	case bytesconv.EqualFoldString(value, "none"):
		c.sameSite = CookieSameSiteNoneMode
	}
}

// parseCookieDate reads the date of an Expires attribute. Servers write it in
// many ways; RFC 6265 section 5.1.1 says how browsers find time, day, month and
// year among the words of b, in any order.
func parseCookieDate(b []byte) (t time.Time, ok bool) {
	if t, ok := parseIMF(b); ok {
		return t, true
	}
	var hour, minute, second int
	day, month, year := -1, -1, -1
	var hasTime bool
	for len(b) > 0 {
		n := 0
		for n < len(b) && !isDateDelimiter(b[n]) {
			n++
		}
		word := b[:n]
		b = b[min(n+1, len(b)):]
		if len(word) == 0 {
			continue
		}
		v, digits, err := bytesconv.ParseUintPrefix(word)
		if err != nil {
			digits = 0
		}
		switch {
		case !hasTime && parseClock(word, &hour, &minute, &second):
			hasTime = true
		case day < 0 && (digits == 1 || digits == 2):
			day = v
		case month < 0 && digits == 0 && len(word) >= 3:
			month = foldedMonth(word[:3])
		case year < 0 && (digits == 2 || digits == 4):
			year = v
			if digits == 2 {
				year += 1900
				if v < 70 {
					year += 100
				}
			}
		}
	}
	if !hasTime || day < 1 || day > 31 || month < 0 || year < 1601 || hour > 23 || minute > 59 || second > 59 {
		return t, false
	}
	t = time.Date(year, time.Month(month+1), day, hour, minute, second, 0, gmt)
	return t, t.Day() == day
}

// isDateDelimiter reports whether c separates the words of a cookie's date.
func isDateDelimiter(c byte) bool {
	return c < 0x30 && c >= 0x20 || c == '\t' || 0x3b <= c && c <= 0x40 || 0x5b <= c && c <= 0x60 || 0x7b <= c && c <= 0x7e
}

// parseClock reads h:m:s of one or two digits each, with anything but a digit
// after it.
func parseClock(b []byte, hour, minute, second *int) bool {
	for i, part := range [...]*int{hour, minute, second} {
		v, n, err := bytesconv.ParseUintPrefix(b)
		if err != nil || n > 2 {
			return false
		}
		*part = v
		b = b[n:]
		if i < 2 {
			if len(b) == 0 || b[0] != ':' {
				return false
			}
			b = b[1:]
		}
	}
	return true
}

// foldedMonth returns the number of the month, from 0, whose name begins with
// the three letters of b in any case, or -1.
func foldedMonth(b []byte) int {
	for i := 0; i < len(imfMonths); i += 3 {
		if bytesconv.EqualFoldString(b, imfMonths[i:i+3]) {
			return i / 3
		}
	}
	return -1
}
