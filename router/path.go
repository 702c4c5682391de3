package router

import (
	"bytes"

	"github.com/galehttp/gale/internal/bytesconv"
)

// A canonical path is a path whose segments are decoded once, except for "/", "\", "%", "#", "?" and NUL,
// which are written as %2F, %5C, %25, %23, %3F and %00. Two paths have the same segments if and only if their
// canonical forms are the same.

// appendPath appends the canonical form of a path that a client has sent.
func appendPath(dst, path []byte) []byte {
	for i := 0; i < len(path); i++ {
		c := path[i]
		switch {
		case c == '/':
			dst = append(dst, '/')
			continue
		case c == '%' && i+2 < len(path) && bytesconv.HexValue[path[i+1]]|bytesconv.HexValue[path[i+2]] < 16:
			c = bytesconv.HexValue[path[i+1]]<<4 | bytesconv.HexValue[path[i+2]]
			i += 2
		}
		dst = appendByte(dst, c)
	}
	return dst
}

// decode appends the text of a canonical path.
func decode(dst, path []byte) []byte {
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '%' && i+2 < len(path) {
			c = bytesconv.HexValue[path[i+1]]<<4 | bytesconv.HexValue[path[i+2]]
			i += 2
		}
		dst = append(dst, c)
	}
	return dst
}

// hasDotSegment reports whether a canonical path has a segment, or a part of one between slashes or
// backslashes that were encoded, that is "." or "..".
func hasDotSegment(path []byte) bool {
	dots := -1 // the length of the part so far, if it has only dots
	for i := 0; i <= len(path); i++ {
		switch {
		case i == len(path) || path[i] == '/' || path[i] == '%' && (string(path[i+1:i+3]) == "2F" || string(path[i+1:i+3]) == "5C"):
			if dots == 1 || dots == 2 {
				return true
			}
			dots = 0
			if i < len(path) && path[i] == '%' {
				i += 2
			}
		case path[i] == '.' && dots >= 0:
			dots++
		default:
			dots = -1
		}
	}
	return false
}

// isClean reports whether path, as it was sent, has no empty segment but the last, and none that is "."
// or "..", not decoded.
func isClean(path []byte) bool {
	for i := range path {
		if path[i] != '/' || i+1 == len(path) {
			continue
		}
		next := path[i+1:]
		if next[0] == '/' {
			return false
		}
		n := 0
		for n < len(next) && next[n] == '.' {
			n++
		}
		if (n == 1 || n == 2) && (n == len(next) || next[n] == '/') {
			return false
		}
	}
	return true
}

// clean returns path without empty segments but the last and without "." and "..", as
// http.ServeMux does.
func clean(path []byte) []byte {
	out := make([]byte, 0, len(path)+1)
	for s := range bytes.SplitSeq(path, []byte{'/'}) {
		switch string(s) {
		case "", ".":
		case "..":
			out = out[:max(bytes.LastIndexByte(out, '/'), 0)]
		default:
			out = append(append(out, '/'), s...)
		}
	}
	if len(out) == 0 || path[len(path)-1] == '/' {
		out = append(out, '/')
	}
	return out
}

// pathOf returns target without its query. A fragment stays: a "#" is in no path that a router finds.
func pathOf(target []byte) []byte {
	if n := bytes.IndexByte(target, '?'); n >= 0 {
		return target[:n]
	}
	return target
}

func withoutFragment(path []byte) []byte {
	if n := bytes.IndexByte(path, '#'); n >= 0 {
		return path[:n]
	}
	return path
}
