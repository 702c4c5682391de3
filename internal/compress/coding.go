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
