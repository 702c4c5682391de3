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

// ChooseCoding returns the coding in offer that the Accept-Encoding fields prefer
// (RFC 9110 section 12.5.3), or Identity; see [compress.Negotiate].
func ChooseCoding(accept [][]byte, offer CodingSet) compress.Coding {
	return choose(accept, offer, preferred)
}

// preferredStreams is the order for what is compressed while it is sent: the fastest one
// comes first.
var preferredStreams = [...]compress.Coding{compress.Zstd, compress.Gzip, compress.Brotli}

// StreamLevels are the levels for what is compressed while it is sent. With them, text of
// Go's API is compressed at 180 (zstd), 175 (gzip) and 53 MB/s (br) to 12, 14 and 10 % of its
// size. br is chosen only by clients that accept or want nothing else.
var StreamLevels = [compress.Codings]int{compress.Gzip: 1, compress.Brotli: 2, compress.Zstd: 1}

// ChooseStreamCoding is ChooseCoding for what is compressed while it is sent.
func ChooseStreamCoding(accept [][]byte, offer CodingSet) compress.Coding {
	return choose(accept, offer, preferredStreams)
}

func choose(accept [][]byte, offer CodingSet, order [len(preferred)]compress.Coding) compress.Coding {
	if len(accept) == 0 || offer == 0 {
		return compress.Identity
	}
	var list [len(preferred)]compress.Coding
	n := 0
	for _, c := range order {
		if offer.Has(c) {
			list[n] = c
			n++
		}
	}
	c, _ := compress.Negotiate(accept, list[:n]...)
	return c
}
