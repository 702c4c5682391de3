package static

import "github.com/galehttp/gale/internal/bytesconv"

// Coding is a content coding, by which the variants of a file are told apart.
type Coding uint8

const (
	Identity Coding = iota
	Gzip
	Brotli
	Zstd
	// Codings is how many there are.
	Codings = iota
)

var codingNames = [Codings]string{"", "gzip", "br", "zstd"}

// String returns the name of c in a Content-Encoding field; it is empty for
// Identity.
func (c Coding) String() string { return codingNames[c] }

// CodingSet is a set of codings on offer.
type CodingSet uint8

// Of returns the set of the codings given.
func Of(cs ...Coding) (s CodingSet) {
	for _, c := range cs {
		s |= 1 << c
	}
	return s
}

// Has tells if c is in s.
func (s CodingSet) Has(c Coding) bool { return s&(1<<c) != 0 }

// preferred is the order in which codings of the same weight are taken.
var preferred = [...]Coding{Brotli, Zstd, Gzip}

// ChooseCoding returns the coding on offer that an Accept-Encoding field
// prefers (RFC 9110 section 12.5.3), or Identity. Weights count in steps of a
// thousandth; among equals the one that packs best wins. identity wins only
// where its weight is named and higher.
//
// An element that breaks the grammar is passed over.
func ChooseCoding(accept []byte, offer CodingSet) Coding {
	if len(accept) == 0 || offer == 0 {
		return Identity
	}
	const unset = -1
	weights := [Codings]int{unset, unset, unset, unset}
	wildcard := unset
	for rest, more := accept, true; more; {
		var element []byte
		element, rest, more = cutElement(rest)
		name, weight, ok := cutWeight(element)
		if !ok {
			continue
		}
		if string(name) == "*" {
			wildcard = weight
			continue
		}
		if bytesconv.EqualFoldString(name, "identity") {
			weights[Identity] = weight
			continue
		}
		if bytesconv.EqualFoldString(name, "x-gzip") {
			name = name[2:]
		}
		for c := Gzip; c < Codings; c++ {
			if bytesconv.EqualFoldString(name, codingNames[c]) {
				weights[c] = weight
			}
		}
	}
	best, bestWeight := Identity, weights[Identity]
	if bestWeight == unset {
		bestWeight = 0
	}
	for _, c := range preferred {
		w := weights[c]
		if w == unset {
			w = wildcard
		}
		// A coding is worth more than no coding of the same weight.
		if offer.Has(c) && w > 0 && (w > bestWeight || w == bestWeight && best == Identity) {
			best, bestWeight = c, w
		}
	}
	return best
}

// cutWeight splits "name;q=0.5" into name and thousandths; without a weight it
// is 1000.
func cutWeight(element []byte) (name []byte, weight int, ok bool) {
	name, weight = element, 1000
	for i, c := range element {
		if c != ';' {
			continue
		}
		name = trimOWS(element[:i])
		weight, ok = parseWeight(trimOWS(element[i+1:]))
		return name, weight, ok && len(name) > 0
	}
	return name, weight, len(name) > 0
}

// parseWeight reads "q=" qvalue, where qvalue is 0 to 1 with at most three
// decimals (RFC 9110 section 12.4.2).
func parseWeight(b []byte) (thousandths int, ok bool) {
	if len(b) < 3 || b[0]|0x20 != 'q' || b[1] != '=' {
		return 0, false
	}
	b = b[2:]
	if b[0] != '0' && b[0] != '1' || len(b) > 5 || len(b) > 1 && b[1] != '.' {
		return 0, false
	}
	v, scale := int(b[0]-'0')*1000, 100
	for i := 2; i < len(b); i++ {
		if b[i]-'0' > 9 {
			return 0, false
		}
		v += int(b[i]-'0') * scale
		scale /= 10
	}
	return v, v <= 1000
}
