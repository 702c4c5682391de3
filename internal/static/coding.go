package static

import "github.com/galehttp/gale/internal/compress"

// CodingSet is a set of content codings.
type CodingSet uint8

// Of returns the set with the given codings.
func Of(cs ...compress.Coding) (s CodingSet) {
	for _, c := range cs {
		s |= 1 << c
	}
	return s
}

// Has reports whether c is in s.
func (s CodingSet) Has(c compress.Coding) bool { return s&(1<<c) != 0 }

// preferred is the order in which codings of the same weight are chosen: the one
// that compresses best comes first.
var preferred = [...]compress.Coding{compress.Brotli, compress.Zstd, compress.Gzip}

// ChooseCoding returns the coding in offer that an Accept-Encoding field prefers
// (RFC 9110 section 12.5.3), or Identity; see [compress.Negotiate].
func ChooseCoding(accept []byte, offer CodingSet) compress.Coding {
	if len(accept) == 0 || offer == 0 {
		return compress.Identity
	}
	var list [len(preferred)]compress.Coding
	n := 0
	for _, c := range preferred {
		if offer.Has(c) {
			list[n] = c
			n++
		}
	}
	c, _ := compress.Negotiate([][]byte{accept}, list[:n]...)
	return c
}
