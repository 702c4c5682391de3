//go:build race

// Package race tells whether the race detector is compiled in.
package race

// Enabled reports whether the race detector is compiled in.
const Enabled = true

// Poison overwrites b to its capacity.
func Poison(b []byte) {
	b = b[:cap(b)]
	if len(b) == 0 {
		return
	}
	b[0] = 0xdb
	for n := 1; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}

// Fewer returns a tenth of n, for tests that compute much: they take that much
// longer.
func Fewer(n int) int { return (n + 9) / 10 }
