package lifetime

import "slices"

// Functions for arenas and buffers whose owner may be lent: l is nil if it isn't. All
// memory of a lent owner comes from the loan, so that none of it is forgotten when the
// owner grows.

// Grow returns b with room for at least n more bytes. If b must move and l isn't nil, it
// moves to memory of l, and Grow counts as a use. An owner that has lapsed is empty, so it
// must grow before it can store anything.
func Grow(l *Loan, b []byte, n int) []byte {
	if l == nil {
		return slices.Grow(b, n)
	}
	if cap(b)-len(b) >= n {
		return b
	}
	l.Use()
	if l.Over() { // with no spare room, so that the next change is reported too
		return append(make([]byte, 0, len(b)+n), b...)
	}
	return append(l.Alloc(max(2*cap(b), len(b)+n)), b...)
}

// Make returns an empty slice with room for at least n bytes.
func Make(l *Loan, n int) []byte {
	if l == nil || l.Over() {
		return make([]byte, 0, n)
	}
	return l.Alloc(n)
}

// Kept returns b, which is what appending to old made. If that was new memory and l isn't
// nil, the result is a copy in memory of l.
func Kept(l *Loan, old, b []byte) []byte {
	if l == nil || cap(b) == cap(old) {
		return b
	}
	return Move(l, b)
}

// Move returns a copy of b in memory of l, with its spare room. l may be nil: then the
// result is b.
func Move(l *Loan, b []byte) []byte {
	if l == nil || l.Over() || cap(b) == 0 {
		return b
	}
	return append(l.Alloc(cap(b)), b...)
}
