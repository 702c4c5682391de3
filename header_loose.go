package gale

import (
	"bytes"

	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/pool"
)

// looseHead brings the head at the front of b into the form that the parser
// accepts: lines that end in a bare LF get a CR (RFC 9112 section 2.2), folded
// lines become one (section 5.2). It appends the head to dst and returns how many
// bytes of b it was, 0 if b has no such head, or not yet.
//
// There must be an empty line that ends in CRLF behind the first line or, with a
// CRLF before it, anywhere: else those who look for CRLF CRLF would see the end of
// the head at another place.
func looseHead(dst, b []byte) (head []byte, n int) {
	for n < len(b) && (b[n] == '\r' || b[n] == '\n') {
		n++ // empty lines before the first
	}
	first := n + bytes.IndexByte(b[n:], '\n') + 1
	if first == n {
		return dst, 0
	}
	if !bytes.HasPrefix(b[first:], crlf) && !bytes.Contains(b[max(first-2, 0):], crlfcrlf) {
		return dst, 0
	}
	for n < len(b) {
		end := bytes.IndexByte(b[n:], '\n')
		if end < 0 {
			return dst, 0
		}
		line := bytes.TrimSuffix(b[n:n+end], crlf[:1])
		folded := n > first && len(line) > 0 && (line[0] == ' ' || line[0] == '\t')
		n += end + 1
		switch {
		case folded:
			dst = append(dst[:len(dst)-len(crlf)], ' ')
			line = bytes.Trim(line, " \t")
		case len(line) == 0 && n > first:
			return append(dst, crlf...), n
		}
		dst = append(append(dst, line...), crlf...)
	}
	return dst, 0
}

var (
	crlf     = []byte("\r\n")
	crlfcrlf = []byte("\r\n\r\n")
)

// parseLoose parses the head at the front of b once more, if why is that it has
// bare LFs or folded lines. It returns h1.ErrPartial if more of b may help, and why
// if it doesn't.
func parseLoose(b []byte, why error, parse func([]byte, bool) (int, error)) (n int, err error) {
	switch why {
	case h1.ErrLineEnd, h1.ErrFieldFold:
	case h1.ErrVersionSyntax, h1.ErrStatusLine: // of a first line that ends in LF
		if i := bytes.IndexByte(b, '\n'); i < 1 || b[i-1] == '\r' {
			return 0, why
		}
	default:
		return 0, why
	}
	buf := pool.Get(len(b) + len(b)/8)
	defer pool.Put(buf)
	buf.B, n = looseHead(buf.B[:0], b)
	if n == 0 {
		return 0, h1.ErrPartial
	}
	if _, err = parse(buf.B, true); err != nil {
		return 0, why
	}
	return n, nil
}
