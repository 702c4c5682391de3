// Package modeltest runs model tests: random operations, with an invariant that is checked
// whenever nothing moves. No shipped package imports it.
package modeltest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/galehttp/gale/tests/harness/gate"
)

// Each calls run with seeds of its own, until t has failed. GALE_MODEL=n makes n runs.
// GALE_MODEL_SEED=n repeats the run with that seed, as far as the order of goroutines
// allows.
func Each(t *testing.T, runs int, run func(seed uint64)) {
	first := gate.Rand.Uint64N(1e9)
	if n, err := strconv.Atoi(os.Getenv("GALE_MODEL")); err == nil {
		runs = n
	}
	if n, err := strconv.ParseUint(os.Getenv("GALE_MODEL_SEED"), 10, 64); err == nil {
		runs, first = 1, n
	}
	for seed := first; seed < first+uint64(runs) && !t.Failed(); seed++ {
		run(seed)
	}
}

// Run is one run. One goroutine makes all decisions, except what functions of the program
// do, which other goroutines call.
type Run struct {
	T    *testing.T
	Rand *rand.Rand // of the goroutine that decides

	seed    uint64
	mu      sync.Mutex
	log     []string
	fates   *rand.Rand // for functions of the program
	calm    bool       // these do nothing strange
	calls   int
	running map[int]string
}

// New returns a run.
func New(t *testing.T, seed uint64) *Run {
	return &Run{T: t, Rand: rand.New(rand.NewPCG(seed, 1)), seed: seed, fates: rand.New(rand.NewPCG(seed, 2)), running: map[int]string{}}
}

// Note adds a line to the log, which Fail prints.
func (r *Run) Note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, fmt.Sprintf(format, args...))
}

// Fail fails the test.
func (r *Run) Fail(format string, args ...any) {
	r.T.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.T.Errorf("GALE_MODEL_SEED=%d: %s\ncalls %v\n%s", r.seed, fmt.Sprintf(format, args...), r.running, strings.Join(r.log[max(0, len(r.log)-40):], "\n"))
}

// Chance returns true in n of 100 cases, and never after Calm.
func (r *Run) Chance(n int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.calm && r.fates.IntN(100) < n
}

// Calm ends all that is strange.
func (r *Run) Calm() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calm = true
}

// Mischief is what a function of the program may do: it panics, or ends its goroutine.
func (r *Run) Mischief() {
	switch {
	case r.Chance(3):
		panic("mischief")
	case r.Chance(2):
		runtime.Goexit()
	}
}

// Call starts a call. Until f returns, panics or ends its goroutine, the call runs.
func (r *Run) Call(kind string, f func(id int)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	id := r.calls
	r.running[id] = kind
	r.log = append(r.log, fmt.Sprintf("call %d: %s", id, kind))
	go func() {
		defer func() {
			_ = recover()
			r.mu.Lock()
			delete(r.running, id)
			r.mu.Unlock()
		}()
		f(id)
	}()
}

// Running returns how many calls run: all, or those of some kinds.
func (r *Run) Running(kinds ...string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, kind := range r.running {
		if len(kinds) == 0 || slices.Contains(kinds, kind) {
			n++
		}
	}
	return n
}

// Pick removes an element of list at random and returns it. It reports false if there is none.
func Pick[T any](r *Run, list *[]T) (x T, ok bool) {
	n := len(*list)
	if n == 0 {
		return x, false
	}
	i := r.Rand.IntN(n)
	x = (*list)[i]
	*list = slices.Delete(*list, i, i+1)
	return x, true
}
