package static

import "bytes"

// Rules say which request paths may name a file. The zero Rules are for systems
// where paths consist of bytes and slashes.
type Rules struct {
	// Windows adds the rules of a system with backslashes, drive letters, alternate
	// data streams, device names and trailing dots that are ignored.
	Windows bool
	// Volume allows a drive letter at the start, as in "C:/x", for a handler
	// whose root is empty. It matters on Windows only.
	Volume bool
	// HideDot refuses paths with a segment that begins with a dot, except "/.well-known/"
	// at the start (RFC 8615).
	HideDot bool
}

// PathVerdict says why a path may not be opened.
type PathVerdict uint8

const (
	// PathOK is a path that may be opened.
	PathOK PathVerdict = iota
	// PathNUL holds a zero byte, which ends a name for the system but not for the code
	// that checked it.
	PathNUL
	// PathDotDot holds a ".." segment. In request paths they are already resolved
	// (RFC 3986 section 5.2.4), so the function that rewrote the path added it.
	PathDotDot
	// PathHidden holds a segment that Rules.HideDot refuses.
	PathHidden
	// PathForeign names something that isn't a plain file below the root on
	// Windows: a backslash, a colon, a device, a segment ending in a dot or space,
	// or a byte that no file name can have.
	PathForeign
	// PathShort holds a segment that may be a short name of Windows, under which any file
	// may have another name: ".git" is also "GIT~1". It may be opened only if all such
	// segments are the real names of files; see Rules.MayOpen.
	PathShort
)

// Check checks a decoded path whose segments are separated by slashes.
func (r Rules) Check(path []byte) PathVerdict {
	if bytes.IndexByte(path, 0) >= 0 {
		return PathNUL
	}
	// PathDotDot goes before the other verdicts, so the whole path is searched for
	// ".." first.
	for rest := path; len(rest) > 0; {
		var seg []byte
		if seg, rest = cutSegment(rest); string(seg) == ".." {
			return PathDotDot
		}
	}
	if r.Windows {
		if bytes.IndexByte(path, '\\') >= 0 {
			return PathForeign
		}
		if r.Volume {
			path = trimVolume(path)
		}
	}
	first, short := true, false
	for rest := path; len(rest) > 0; {
		var seg []byte
		seg, rest = cutSegment(rest)
		if len(seg) == 0 || string(seg) == "." {
			continue
		}
		if r.HideDot && IsDotFile(seg) && !(first && bytes.EqualFold(seg, wellKnown)) {
			return PathHidden
		}
		if r.Windows && foreignSegment(seg) {
			return PathForeign
		}
		first, short = false, short || r.Windows && isShort(seg)
	}
	if short {
		return PathShort
	}
	return PathOK
}

var wellKnown = []byte(".well-known")

// cutSegment returns the parts of path before and after the first slash.
func cutSegment(path []byte) (seg, rest []byte) {
	if i := bytes.IndexByte(path, '/'); i >= 0 {
		return path[:i], path[i+1:]
	}
	return path, nil
}

// trimVolume removes a leading "C:" or "/C:".
func trimVolume(path []byte) []byte {
	p := bytes.TrimLeft(path, "/")
	if len(p) >= 2 && p[1] == ':' && 'a' <= p[0]|0x20 && p[0]|0x20 <= 'z' && (len(p) == 2 || p[2] == '/') {
		return p[2:]
	}
	return path
}

// foreignSegment reports whether Windows would read seg as anything other than a
// plain file of that name.
func foreignSegment(seg []byte) bool {
	if c := seg[len(seg)-1]; c == '.' || c == ' ' {
		return true
	}
	for _, c := range seg {
		if c < 0x20 || bytes.IndexByte(foreignBytes, c) >= 0 {
			return true
		}
	}
	return isDevice(seg)
}

// A colon begins a data stream or follows a drive letter. "?" and "*" are
// wildcards. The others can't be in a name.
var foreignBytes = []byte(`:*?"<>|`)

// isDevice reports whether seg is a reserved device name, with or without something
// after a dot: "NUL", "con.txt", "COM1 .log", "LPT²".
func isDevice(seg []byte) bool {
	if i := bytes.IndexByte(seg, '.'); i >= 0 {
		seg = seg[:i]
	}
	seg = bytes.TrimRight(seg, " ")
	if n := len(seg); n < 3 || n > 7 {
		return false
	}
	var buf [8]byte
	up := buf[:copy(buf[:], seg)]
	for i, c := range up {
		if 'a' <= c && c <= 'z' {
			up[i] = c - 0x20
		}
	}
	switch string(up) {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$":
		return true
	}
	if p := string(up[:3]); p != "COM" && p != "LPT" {
		return false
	}
	switch string(up[3:]) {
	case "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³", "\xb9", "\xb2", "\xb3":
		return true
	}
	return false
}

// AppendName appends the name under which path is opened below a root: its
// segments, without empty ones and ".", joined by slashes, or "." for the root
// itself. The path must have passed Check.
func AppendName(dst, path []byte) []byte {
	base := len(dst)
	for rest := path; len(rest) > 0; {
		var seg []byte
		seg, rest = cutSegment(rest)
		if len(seg) == 0 || string(seg) == "." {
			continue
		}
		if len(dst) > base {
			dst = append(dst, '/')
		}
		dst = append(dst, seg...)
	}
	if len(dst) == base {
		dst = append(dst, '.')
	}
	return dst
}

// EndsInSlash reports whether path ends in a slash, and so means a directory.
func EndsInSlash(path []byte) bool { return len(path) > 0 && path[len(path)-1] == '/' }
