package gale

import (
	"bytes"
	"runtime"

	"github.com/galehttp/gale/internal/bytesconv"
)

// backslashIsSlash is true on systems where file paths may have backslashes, so
// that normalisation also removes "..\" there.
const backslashIsSlash = runtime.GOOS == "windows"

// appendNormalPath appends the path src, decoded once and normalised, to dst:
//
//	%XX          one byte; a "%" without two hex digits stays
//	\            "/", if backslash is set
//	//           "/"
//	/./  /.      "/"
//	/x/../ /x/.. "/"; at the root, "/"
//
// The result begins with "/". A trailing slash stays. Decoding comes first, so
// "%2e" and "%2f" count as "." and "/", and the result has no ".." that was not
// removed here. src must not overlap dst's spare capacity. The time is linear in
// len(src).
func appendNormalPath(dst, src []byte, backslash bool) []byte {
	start := len(dst)
	if len(src) == 0 || src[0] != '/' {
		dst = append(dst, '/')
	}
	dst = append(dst, src...)
	b := dst[start:]
	if bytes.IndexByte(b, '%') >= 0 {
		b = b[:bytesconv.Unescape(b)]
	}
	if backslash {
		for i, c := range b {
			if c == '\\' {
				b[i] = '/'
			}
		}
	}
	return dst[:start+removeDots(b)]
}

// removeDots removes "//" and dot segments from the path b, which begins with "/",
// in place. It returns the length of the result.
func removeDots(b []byte) int {
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
