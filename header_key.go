package gale

import "github.com/galehttp/gale/internal/bytesconv"

// AppendNormalizedHeaderKey appends the field name key in its customary spelling to
// dst and returns the extended slice: letters at the beginning and after hyphens in
// upper case, all others in lower case. The result belongs to the caller.
//
//	coNTENT-TYPe -> Content-Type
//	HOST         -> Host
//	www-x        -> Www-X
//
// A key that isn't a token (RFC 9110 section 5.6.2) keeps its spelling, except that
// CR, LF and NUL become spaces.
func AppendNormalizedHeaderKey(dst []byte, key string) []byte {
	return bytesconv.AppendCanonicalName(dst, bytesconv.S2B(key))
}

// AppendNormalizedHeaderKeyBytes is [AppendNormalizedHeaderKey] for bytes. The
// result belongs to the caller.
func AppendNormalizedHeaderKeyBytes(dst, key []byte) []byte {
	return bytesconv.AppendCanonicalName(dst, key)
}
