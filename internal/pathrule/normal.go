package pathrule

import (
	"bytes"
	"runtime"
	"strings"

	"github.com/galehttp/gale/internal/bytesconv"
)

// How paths are decoded, normalised and written.

// BackslashIsSlash is true on systems where file paths may have backslashes, so
// that normalisation also removes "..\" there.
const BackslashIsSlash = runtime.GOOS == "windows"

// AppendNormal appends the path src, decoded once and normalised, to dst:
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
func AppendNormal(dst, src []byte, backslash bool, keep string) []byte {
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

// AppendRouted is AppendNormal for a path that a router has matched: %2F and %5C stay encoded,
// and so does the "%" of a %25 before 2F and 5C, or before 252F, 25252F and so on. So no two paths that a router can
// tell from each other become the same. A backslash is written as %5C. empty says that "://" stays.
func AppendRouted(dst, src []byte, empty bool) []byte {
	start := len(dst)
	if len(src) == 0 || src[0] != '/' {
		dst = append(dst, '/')
	}
	for len(src) > 0 {
		c, n := DecodeByte(src)
		dst = append(dst, c)
		switch {
		case c == '\\':
			dst = append(dst[:len(dst)-1], "%5C"...)
		case n == 3 && c == '/':
			dst = append(dst[:len(dst)-1], "%2F"...)
		case c == '%' && encodedSlashFollows(src[n:]):
			dst = append(dst, "25"...)
		}
		src = src[n:]
	}
	return dst[:start+removeDots(dst[start:], empty)]
}

// DecodeByte returns the byte that b begins with, decoded, and how long it is in b.
func DecodeByte(b []byte) (c byte, n int) {
	if b[0] != '%' || len(b) < 3 {
		return b[0], 1
	}
	hi, lo := bytesconv.HexValue[b[1]], bytesconv.HexValue[b[2]]
	if hi|lo > 15 {
		return '%', 1
	}
	return hi<<4 | lo, 3
}

// encodedSlashFollows reports whether b, decoded, begins with 2F or 5C, or with 252F, 25252F and so on.
func encodedSlashFollows(b []byte) bool {
	for len(b) > 1 {
		hi, n := DecodeByte(b)
		if len(b) == n {
			return false
		}
		lo, more := DecodeByte(b[n:])
		if hi != '2' || lo != '5' {
			return hi == '2' && lo|0x20 == 'f' || hi == '5' && lo|0x20 == 'c'
		}
		b = b[n+more:]
	}
	return false
}

// DecodeRoutedByte returns the byte that path, which AppendRouted made, begins with, decoded, and how long it is in path.
func DecodeRoutedByte(path []byte) (c byte, n int) {
	if path[0] != '%' || len(path) < 3 {
		return path[0], 1
	}
	switch string(path[1:3]) {
	case "2F":
		return '/', 3
	case "5C":
		return '\\', 3
	case "25":
		if encodedSlashFollows(path[3:]) {
			return '%', 3
		}
	}
	return '%', 1
}

// AppendEscapedRouted appends path, which AppendRouted made, as it is written.
func AppendEscapedRouted(dst, path []byte) []byte {
	for len(path) > 0 {
		n := bytes.IndexByte(path, '%')
		if n < 0 {
			n = len(path)
		}
		dst = bytesconv.AppendEscaped(dst, path[:n], &bytesconv.PathSafe)
		if path = path[n:]; len(path) == 0 {
			break
		}
		if _, n = DecodeRoutedByte(path); n == 3 {
			dst = append(dst, path[:n]...)
		} else {
			dst = append(dst, "%25"...)
		}
		path = path[n:]
	}
	return dst
}

// AppendReference appends a path, which may have escapes, with all encoded that RFC 3986 allows in no path,
// such as control bytes and backslashes. One that is clean is a reference to the same host then.
func AppendReference(dst, path []byte) []byte {
	for _, c := range path {
		if c == '%' {
			dst = append(dst, c)
		} else {
			dst = bytesconv.AppendEscaped(dst, []byte{c}, &bytesconv.PathSafe)
		}
	}
	return dst
}

// Slashes are the bytes of which AppendNormal keeps the escapes for a path whose encoded slashes stay.
const Slashes = `/\`

// AppendEscapedKept appends the path src, normalised, as it is written, if the escapes of Slashes stay in it. In
// the result of AppendNormal, an encoded slash can't be told from one that was encoded twice.
func AppendEscapedKept(dst, src []byte) []byte {
	const keep = Slashes + "%"
	var room [128]byte
	b := AppendNormal(room[:0], src, BackslashIsSlash, keep)
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
