package bytesconv

import "unsafe"

// S2B returns the bytes of s without copying them.
// The result must not be written to and must not outlive s.
func S2B(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

// B2S returns b as a string without copying it.
// The result is valid only as long as nobody writes to b; it must never be
// handed to the users of the library.
func B2S(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b))
}
