package compress

import "github.com/galehttp/gale/internal/bytesconv"

// Coding is a content coding. The zero value is [Identity].
type Coding uint8

// The content codings. Deflate is the zlib format (RFC 9110 section 8.4.1.2),
// not bare deflate data.
const (
	Identity Coding = iota
	Gzip
	Deflate
	Brotli
	Zstd

	// Codings is the number of codings.
	Codings = iota
)

var names = [Codings]string{"identity", "gzip", "deflate", "br", "zstd"}

// String returns the name that goes into Content-Encoding.
func (c Coding) String() string { return names[c] }

// ParseList returns the coding that the lines of Content-Encoding name (RFC 9110 section
// 8.4): they are one list. identity and empty elements don't count. ok is false if there are
// several codings, or if one isn't known.
func ParseList(lines [][]byte) (c Coding, ok bool) {
	for elem := range bytesconv.Elements(lines) {
		next, known := Parse(elem)
		switch {
		case !known, next != Identity && c != Identity:
			return Identity, false
		case next != Identity:
			c = next
		}
	}
	return c, true
}

// Parse returns the coding with the given name, ignoring case. x-gzip means gzip
// (RFC 9110 section 8.4.1.3), an empty name means Identity. A list of codings is
// not a name.
func Parse(name []byte) (Coding, bool) {
	if len(name) == 0 {
		return Identity, true
	}
	for c, s := range names {
		if bytesconv.EqualFoldString(name, s) {
			return Coding(c), true
		}
	}
	return Gzip, bytesconv.EqualFoldString(name, "x-gzip")
}
