// Package gate is what tests know of .ci/run, the gate of the project. It imports the standard
// library only, so the tests of every package may import it.
package gate

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
)

// Full reports whether the long forms of tests are wanted: GALE_FULL is set, as FULL=1 .ci/run
// does. Without it, a test takes at most 2 s of CPU and 5 s of waiting.
func Full() bool { return os.Getenv("GALE_FULL") != "" }

// Form returns long if Full reports so, and short otherwise: how often, how long or how much.
func Form[T any](long, short T) T {
	if Full() {
		return long
	}
	return short
}

// Rand are the random numbers of tests. Without GALE_FULL they are the same in each process, so
// that a change can't fail by what it didn't touch; with GALE_FULL they differ, and standard error
// says what GALE_SEED repeats them. Any goroutine may use it: tests whose goroutines share it get
// the same numbers, but not always in the same places.
var Rand = rand.New(new(source))

// source is a source that goroutines may share. It is seeded at its first use.
type source struct {
	mu  sync.Mutex
	pcg *rand.PCG
}

func (s *source) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pcg == nil {
		s.pcg = rand.NewPCG(seed(), 0)
	}
	return s.pcg.Uint64()
}

func seed() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("GALE_SEED"), 10, 64); err == nil {
		return n
	}
	if !Full() {
		return 1
	}
	n := rand.Uint64()
	fmt.Fprintf(os.Stderr, "GALE_SEED=%d\n", n)
	return n
}

// Mark begins each report of Unforgiven. The gate looks for it in the output of tests, at any
// place of a line.
const Mark = "NOT FORGIVEN: "

// Unforgiven is t.Errorf for what one run of a test proves for good. The gate runs a test that
// failed again, and takes a pass for an answer. But a foreign byte, or a late use that the guard
// found, is a defect whatever the next run shows.
func Unforgiven(t testing.TB, format string, args ...any) {
	t.Helper()
	t.Errorf(Mark+format, args...)
}
