// Package alloctest counts allocations in tests. No shipped package imports it.
package alloctest

import "testing"

// PerRun is testing.AllocsPerRun, but the least of three counts: goroutines of tests that
// have ended, and collections that empty pools, may allocate beside one of them. What f
// itself allocates is in all of them.
func PerRun(runs int, f func()) (least float64) {
	least = testing.AllocsPerRun(runs, f)
	for range 2 {
		if least > 0 {
			least = min(least, testing.AllocsPerRun(runs, f))
		}
	}
	return least
}
