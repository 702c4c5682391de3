package gale

import (
	"bytes"
	"runtime"
	"strings"

	"github.com/galehttp/gale/internal/bytesconv"
)

// backslashIsSlash is true on systems where file paths may have backslashes, so
// that normalisation also removes "..\" there.
const backslashIsSlash = runtime.GOOS == "windows"

// appendNormalPath appends the path src, decoded once and normalised, to dst:
//
//	%XX          one byte, unless keep has it; a "%" without two hex digits stays
//	\            "/", if backslash is set
//	//           "/", but with keep "://" stays
//	/./  /.      "/"
//	/x/../ /x/.. "/"; at the root, "/"
//
// The result begins with "/". A trailing slash stays. Decoding comes first, so
// "%2e" and "%2f" count as "." and "/", and the result has no ".." that was not
// removed here. src must not overlap dst's spare capacity. The time is linear in
// len(src).
func appendNormalPath(dst, src []byte, backslash bool, keep string) []byte {
	start := len(dst)
	if len(src) == 0 || src[0] != '/' {
		dst = append(dst, '/')
	}
	dst = append(dst, src...)
	b := dst[start:]
	if bytes.IndexByte(b, '%') >= 0 {
		if keep == "" {
			b = b[:bytesconv.Unescape(b)]
		} else {
			b = b[:unescapeExcept(b, keep)]
		}
	}
	if backslash {
		for i, c := range b {
			if c == '\\' {
				b[i] = '/'
			}
		}
	}
	return dst[:start+removeDots(b, keep != "")]
}

// keeps returns the bytes that stay encoded in the path.
func (u *URI) keeps() string {
	if u.keepsSlash {
		return `/\`
	}
	return ""
}

// appendEscapedPath appends the path as it is written, normalised.
func (u *URI) appendEscapedPath(dst []byte) []byte {
	if !u.keepsSlash {
		return bytesconv.AppendEscaped(dst, u.Path(), &bytesconv.PathSafe)
	}
	// In Path, an encoded slash can't be told from one that was encoded twice.
	const keep = `/\%`
	var room [128]byte
	b := appendNormalPath(room[:0], u.part(u.original), backslashIsSlash, keep)
	for len(b) > 0 {
		n := bytes.IndexByte(b, '%')
		if n < 0 {
			return bytesconv.AppendEscaped(dst, b, &bytesconv.PathSafe)
		}
		dst = bytesconv.AppendEscaped(dst, b[:n], &bytesconv.PathSafe)
		if b = b[n:]; isEscapeOf(b, keep) {
			dst, b = append(dst, b[:3]...), b[3:]
		} else {
			dst, b = append(dst, "%25"...), b[1:]
		}
	}
	return dst
}

// isEscapeOf reports whether b begins with %XX for one of the bytes of set.
func isEscapeOf(b []byte, set string) bool {
	var c [3]byte
	return len(b) > 2 && copy(c[:], b) == 3 && bytesconv.Unescape(c[:]) == 1 && strings.IndexByte(set, c[0]) >= 0
}

// unescapeExcept is bytesconv.Unescape, but leaves escapes of the bytes of keep.
func unescapeExcept(b []byte, keep string) int {
	w := 0
	for r := 0; r < len(b); {
		n := 1
		if b[r] == '%' && r+2 < len(b) {
			n = 3
		}
		piece := b[r : r+n]
		r += n
		if !isEscapeOf(piece, keep) {
			if len(piece) == 3 && bytesconv.Unescape(piece) != 1 {
				r -= 2 // no escape
			}
			piece = piece[:1]
		}
		w += copy(b[w:], piece)
	}
	return w
}

// removeDots removes "//" and dot segments from the path b, which begins with "/",
// in place. keep says that "://" stays. It returns the length of the result.
func removeDots(b []byte, keep bool) int {
	w := 1 // b[:w] is done and ends with "/" whenever a segment begins
	for r := 1; r < len(b); {
		end := bytes.IndexByte(b[r:], '/')
		last := end < 0
		if last {
			end = len(b)
		} else {
			end += r
		}
		switch segment := b[r:end]; {
		case keep && len(segment) == 0 && w > 2 && b[w-2] == ':':
			b[w] = '/'
			w++
		case len(segment) == 0, len(segment) == 1 && segment[0] == '.':
		case len(segment) == 2 && segment[0] == '.' && segment[1] == '.':
			if w > 1 {
				w = bytes.LastIndexByte(b[:w-1], '/') + 1
			}
		default:
			w += copy(b[w:], segment)
			if !last {
				b[w] = '/'
				w++
			}
		}
		r = end + 1
	}
	return w
}
