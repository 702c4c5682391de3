// Package await waits for states in tests. It imports the standard library only, so the tests
// of every package may import it.
package await

import (
	"runtime"
	"testing"
	"time"
)

const (
	limit     = time.Minute // only ends a hang: a slow machine needs less
	firstStep = time.Millisecond
	lastStep  = 10 * time.Millisecond
)

// Until waits until cond returns true. It calls cond at once, and then again every 1 ms to
// 10 ms. After a minute it ends the test with t.Fatalf: "gave up after 1m0s: what", and the
// stacks of all goroutines. So a deadline looks different from a wrong answer. Call it only
// from the goroutine of the test. In a bubble, its minute is one of the bubble's clock.
func Until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	if !comes(cond) {
		t.Fatalf("gave up after %v: %s\n%s", limit, what, stacks())
	}
}

// Gone is Until for what must not be left when all that used it has ended: goroutines, streams,
// files. After a minute it says "after 1m0s there still is: what", since that is a leak, which no
// slow machine explains.
func Gone(t testing.TB, what string, gone func() bool) {
	t.Helper()
	if !comes(gone) {
		t.Fatalf("after %v there still is: %s\n%s", limit, what, stacks())
	}
}

// comes waits until cond returns true, and reports whether it did in time.
func comes(cond func() bool) bool {
	step := firstStep
	for begin := time.Now(); !cond(); step = min(step*2, lastStep) {
		if time.Since(begin) >= limit {
			return false
		}
		time.Sleep(step) // between two looks
	}
	return true
}

// stacks returns the stacks of all goroutines.
func stacks() []byte {
	buf := make([]byte, 256<<10)
	return buf[:runtime.Stack(buf, true)]
}
