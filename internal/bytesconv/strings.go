package bytesconv

import "unsafe"

// S2B returns the bytes of s without copying them.
// The result must not be written to and must not outlive s.
func S2B(s string) []byte {
	return unsafe.Slice(unsafe.StringData(s), len(s))
}

// B2S returns b as a string without copying it. The result is valid only as long as
// b isn't written to; it must never be passed to users of the library.
func B2S(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// Overlaps reports whether b shares bytes with a, including the capacity of a
// beyond its length.
func Overlaps(a, b []byte) bool {
	if cap(a) == 0 || len(b) == 0 {
		return false
	}
	from, at := uintptr(unsafe.Pointer(unsafe.SliceData(a))), uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return at < from+uintptr(cap(a)) && from < at+uintptr(len(b))
}

// Address returns the address of the first element of s, which must not be empty,
// for a system call that is made at once. s must be on the heap, because stacks
// move, and must be kept alive until the call has returned.
func Address[E any](s []E) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(s))) }
