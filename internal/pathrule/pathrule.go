// Package pathrule judges the paths of request-targets (RFC 9112 section 3.2) that one reader
// has checked and another one will read. Handlers of Gale, net/http and upstream servers
// decode and normalise paths in different ways. So a reader that refuses a prefix such as
// /admin/ may see no such path where the next one does. A path that passes here is below the
// same prefixes for all of them.
//
// It also has what Gale's own reading does: how paths are decoded, normalised and written.
package pathrule

import (
	"errors"

	"github.com/galehttp/gale/internal/bytesconv"
)

// Parts is a set of parts of a path that readers understand in different ways.
type Parts uint8

const (
	// DotSegment is a segment "." or "..". Its dots may be percent-encoded, and so may the
	// slashes, backslashes and semicolons beside it.
	DotSegment Parts = 1 << iota
	// NoPathByte is a byte that no path may have (RFC 3986 section 3.3) and that some
	// readers take for a slash or for the end: a backslash, "#", or an encoded NUL.
	NoPathByte
	// EmptySegment is "//", which some readers take for one slash, except in "://".
	EmptySegment
	// EncodedSlash is %2F or %5C.
	EncodedSlash
)

// Rules: what a path must not have.
const (
	// Default is the rule for a path that RequestCtx.Path has shown, or nothing: Path
	// merges empty segments and decodes slashes. So it is below each prefix under which
	// another reader may find the path.
	Default = DotSegment | NoPathByte
	// Guarded is the rule for a path that a handler of net/http has seen. It may have left
	// empty segments as they are, and RequestCtx.Path merges them. Encoded slashes stay
	// encoded there.
	Guarded = Default | EmptySegment
	// Strict is the rule for guards that allow a prefix.
	Strict = Guarded | EncodedSlash
)

// Choose returns the rule for a program's settings.
func Choose(rule Parts, strict, raw bool) Parts {
	switch {
	case raw:
		return 0
	case strict:
		return Strict
	}
	return rule
}

// HandedOn returns the rule for a request that is handed on. If its RequestCtx.Path keeps
// encoded slashes, as after a handler of net/http, the next reader must not decode them.
func (p Parts) HandedOn(keepsSlashes bool) Parts {
	if keepsSlashes && p != 0 {
		return p | EncodedSlash
	}
	return p
}

// Errors of Check.
var (
	errDots  = errors.New(`the path has a segment "." or ".."`)
	errByte  = errors.New(`the path has a backslash, "#" or %00`)
	errEmpty = errors.New("the path has an empty segment")
	errSlash = errors.New("the path has an encoded slash or backslash")
)

// Check returns an error if the path of target has a part of refused.
func Check[T string | []byte](target T, refused Parts) error {
	if refused == 0 {
		return nil
	}
	switch found := Find(target) & refused; {
	case found == 0:
		return nil
	case found&DotSegment != 0:
		return errDots
	case found&NoPathByte != 0:
		return errByte
	case found&EmptySegment != 0:
		return errEmpty
	default:
		return errSlash
	}
}

// Find returns what the path of the target t has. t may be in any form; a scheme and an
// authority count as segments.
func Find[T string | []byte](t T) Parts {
	// Most paths have nothing that find must look at.
	for i := range len(t) {
		c := class[t[i]]
		if c == isOther {
			continue
		}
		if c == isEnd {
			return 0
		}
		if c == isSpecial || i+1 < len(t) && (t[i+1] == '.' || t[i+1] == '/') {
			return find(t)
		}
	}
	return 0
}

// Classes of bytes, for Find.
const (
	isOther     = iota
	isSeparator // it matters what follows
	isSpecial
	isEnd
)

var class = [256]uint8{0: isSpecial, '/': isSeparator, ';': isSeparator, '%': isSpecial, '\\': isSpecial, '#': isSpecial, '?': isEnd}

// find is Find for any target.
func find[T string | []byte](t T) (found Parts) {
	dots := -1 // the length of the segment so far if it has only dots, else -1
	for i := 0; i < len(t) && t[i] != '?'; i++ {
		c, encoded := t[i], false
		if c == '%' && i+2 < len(t) {
			if hi, lo := bytesconv.HexValue[t[i+1]], bytesconv.HexValue[t[i+2]]; hi|lo < 16 {
				c, encoded = hi<<4|lo, true
				i += 2
			}
		}
		switch c {
		case '.':
			if dots >= 0 {
				dots++
			}
			continue
		case '/':
			if encoded {
				found |= EncodedSlash
			} else if i > 0 && t[i-1] == '/' && (i < 2 || t[i-2] != ':') {
				found |= EmptySegment
			}
		case '\\':
			if encoded {
				found |= EncodedSlash
			} else {
				found |= NoPathByte
			}
		case '#':
			if encoded {
				dots = -1
				continue
			}
			found |= NoPathByte
		case 0:
			found |= NoPathByte
		case ';': // begins the parameters of a segment for some readers
		default:
			dots = -1
			continue
		}
		found |= dotSegment(dots)
		dots = 0
	}
	return found | dotSegment(dots)
}

func dotSegment(dots int) Parts {
	if dots == 1 || dots == 2 {
		return DotSegment
	}
	return 0
}
