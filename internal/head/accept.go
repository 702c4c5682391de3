package head

import (
	"bytes"

	"github.com/galehttp/gale/internal/bytesconv"
)

// fullWeight is q=1, in the unit of parseWeight.
const fullWeight = 1000

// AcceptWeight returns the weight that the client gives to mediaType, from 0 to 1000.
// mediaType is "type/subtype" in lower case. values are the values of the Accept fields
// (RFC 9110 section 12.5.1). Of the ranges that match, the most specific one counts, and
// the first one if there are several. Ranges with parameters don't match. If there are no
// values, the weight is 1000.
//
//	Accept      = #( media-range [ weight ] )
//	media-range = ( "*/*" / ( type "/" "*" ) / ( type "/" subtype ) ) parameters
func AcceptWeight(values [][]byte, mediaType string) int {
	if len(values) == 0 {
		return fullWeight
	}
	weight, best := 0, 0
	for elem := range bytesconv.Elements(values) {
		name, params, _ := bytes.Cut(elem, []byte{';'})
		s := specificity(bytesconv.TrimOWS(name), mediaType)
		if s <= best {
			continue
		}
		if q, ok := weightOf(params); ok {
			weight, best = q, s
		}
	}
	return weight
}

// specificity returns how exactly mediaRange matches mediaType: 3 for the type itself, 2
// for "type/*", 1 for "*/*", 0 if it doesn't match.
func specificity(mediaRange []byte, mediaType string) int {
	kind, wild := bytes.CutSuffix(mediaRange, []byte("/*"))
	switch {
	case !wild && bytesconv.EqualFoldString(mediaRange, mediaType):
		return 3
	case !wild:
		return 0
	case string(kind) == "*":
		return 1
	case len(kind) < len(mediaType) && mediaType[len(kind)] == '/' && bytesconv.EqualFoldString(kind, mediaType[:len(kind)]):
		return 2
	}
	return 0
}

// weightOf returns the weight in the parameters of a media range. ok is false if there
// are other parameters before it, or if it is malformed.
func weightOf(params []byte) (q int, ok bool) {
	first, _, _ := bytes.Cut(params, []byte{';'})
	first = bytesconv.TrimOWS(first)
	if len(first) == 0 {
		return fullWeight, true
	}
	q = parseWeight(first)
	return q, q >= 0
}

// parseWeight returns the weight in b, in thousandths, or -1 if b isn't a weight:
//
//	"q=" ( "0" [ "." 0*3DIGIT ] ) / ( "1" [ "." 0*3("0") ] )
func parseWeight(b []byte) int {
	if len(b) < 3 || len(b) > 7 || b[0]|0x20 != 'q' || b[1] != '=' || b[2] != '0' && b[2] != '1' {
		return -1
	}
	if len(b) > 3 && b[3] != '.' {
		return -1
	}
	q, unit := int(b[2]-'0')*fullWeight, fullWeight/10
	for _, c := range b[min(len(b), 4):] {
		if c < '0' || c > '9' {
			return -1
		}
		q += int(c-'0') * unit
		unit /= 10
	}
	if q > fullWeight {
		return -1
	}
	return q
}
