// Package delay delays goroutines at random. Only copies of sources that scripts/schedfuzz has
// written call it. The environment says what it does:
//
//	GALE_DELAY_SEED=N      chooses the operations at which delays are frequent; without it, or
//	                       with 0, there are no random ones
//	GALE_DELAY_ROUGH=1     longer and more delays
//	GALE_DELAY_AT=A=N,...  each call of operation A sleeps N microseconds
//
// The chance of a single call comes from math/rand/v2, and nothing here is shared and changes: a
// counter or a lock would order goroutines, and hide from the race detector what it looks for.
package delay

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// The names of the environment's variables.
const (
	SeedVar  = "GALE_DELAY_SEED"
	RoughVar = "GALE_DELAY_ROUGH"
	AtVar    = "GALE_DELAY_AT"
)

// Reached begins the line that a process prints to standard error when it reaches an operation
// of GALE_DELAY_AT for the first time.
const Reached = "delayed: "

var (
	seed, _ = strconv.ParseUint(os.Getenv(SeedVar), 10, 64)
	rough   = os.Getenv(RoughVar) != ""
	at, _   = ParseAt(os.Getenv(AtVar)) // schedfuzz has looked for errors
	longest = 300 * time.Microsecond
	began   = time.Now()
)

func init() {
	if rough {
		longest *= 10
	}
}

// early is how long a process has all its delays, and then one in 16: a test that calls an
// operation thousands of times has seen enough of them by then, and must come to its end.
const early = 15 * time.Second

// Site is an operation of the source.
type Site struct {
	name   string
	chance uint32        // in 2^32, that a call is delayed
	always time.Duration // the delay of each call, 0 for random ones
	seen   atomic.Bool   // only with always
}

// New returns the site of an operation, named FILE#FUNCTION#OPERATION.
func New(name string) *Site {
	s := &Site{name: name, chance: chance(seed, name)}
	for _, c := range at {
		if Means(c.Where, name) {
			s.always = c.Delay
		}
	}
	return s
}

// chance says how often an operation is delayed: 1 in 20 operations each second time, 1 in 7 each
// 10th time, and the others rarely. With a tenth of that, a wake-up that is known to be lost was
// found by none of 20 seeds; with this by 4 of 30.
func chance(seed uint64, name string) uint32 {
	if seed == 0 {
		return 0
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s", seed, name)
	rare := uint32(1000)
	if rough {
		rare = 100
	}
	switch k := h.Sum64() >> 8 % 100; {
	case k < 5:
		return math.MaxUint32 / 2
	case k < 20:
		return math.MaxUint32 / 10
	}
	return math.MaxUint32 / rare
}

// Choice is an operation whose calls are all delayed.
type Choice struct {
	Where string // see Means
	Delay time.Duration
}

// ParseAt parses a value of GALE_DELAY_AT.
func ParseAt(value string) (all []Choice, err error) {
	for part := range strings.SplitSeq(value, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		where, text, _ := strings.Cut(part, "=")
		us, err := strconv.Atoi(text)
		if where == "" || err != nil || us <= 0 {
			return nil, fmt.Errorf("%s: %q is not FILE#FUNCTION#OPERATION=MICROSECONDS", AtVar, part)
		}
		all = append(all, Choice{where, time.Duration(us) * time.Microsecond})
	}
	return all, nil
}

// Means reports whether where names an operation: its file may lack folders, its function the
// receiver, and its end may be left out.
func Means(where, name string) bool {
	want, parts := strings.Split(where, "#"), strings.Split(name, "#")
	if len(want) > len(parts) || !endsWith(parts[0], "/", want[0]) {
		return false
	}
	for i, w := range want[1:] {
		if p := parts[i+1]; p != w && (i > 0 || !endsWith(p, ".", w)) {
			return false
		}
	}
	return true
}

func endsWith(s, separator, end string) bool {
	return strings.HasSuffix(separator+s, separator+end)
}

// Delay perhaps delays the caller.
func (s *Site) Delay() {
	if s == nil || s.always == 0 && rand.Uint32() >= s.chance {
		return // nil while variables of the package get their values
	}
	s.delay()
}

func (s *Site) delay() {
	switch {
	case inBubble():
		runtime.Gosched() // the time may stand still until the caller goes on
	case s.always > 0:
		if !s.seen.Swap(true) {
			fmt.Fprintln(os.Stderr, Reached+s.name)
		}
		time.Sleep(s.always)
	case time.Since(began) > early && rand.Uint32()%16 != 0:
	case rand.Uint32()%2 == 0:
		runtime.Gosched()
	default:
		time.Sleep(1 + rand.N(longest)>>rand.IntN(6)) // the shorter, the more frequent
	}
}

// inBubble reports whether the goroutine is in a bubble of testing/synctest. Only the head of its
// trace says that: goroutine 8 [running, synctest bubble 1]:
func inBubble() bool {
	var b [80]byte
	head, _, _ := bytes.Cut(b[:runtime.Stack(b[:], false)], []byte(":"))
	return bytes.Contains(head, []byte("synctest"))
}

// Before perhaps delays the caller, and returns v, which the operation is about.
func Before[T any](s *Site, v T) T {
	s.Delay()
	return v
}

// Begin0 returns a function that perhaps delays its caller, a new goroutine, and calls f.
func Begin0(s *Site, f func()) func() {
	return func() {
		s.Delay()
		f()
	}
}

// Begin1 is Begin0 for a function with a parameter.
func Begin1[A any](s *Site, f func(A)) func(A) {
	return func(a A) {
		s.Delay()
		f(a)
	}
}

// Begin2 is Begin0 for a function with two parameters.
func Begin2[A, B any](s *Site, f func(A, B)) func(A, B) {
	return func(a A, b B) {
		s.Delay()
		f(a, b)
	}
}

// Begin3 is Begin0 for a function with three parameters.
func Begin3[A, B, C any](s *Site, f func(A, B, C)) func(A, B, C) {
	return func(a A, b B, c C) {
		s.Delay()
		f(a, b, c)
	}
}
