//go:build !race

// Package race tells whether the race detector is compiled in.
package race

// Enabled reports whether the race detector is compiled in.
const Enabled = false

// Poison does nothing.
func Poison([]byte) {}

// Fewer returns n.
func Fewer(n int) int { return n }
