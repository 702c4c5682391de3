//go:build race

// Package race tells whether the race detector is compiled in.
package race

// Enabled reports whether the race detector is compiled in.
const Enabled = true

// Poison overwrites b to its capacity.
func Poison(b []byte) {
	b = b[:cap(b)]
	for i := range b {
		b[i] = 0xdb
	}
}
