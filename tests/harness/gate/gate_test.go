package gate

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

func numbers() string {
	r := rand.New(new(source))
	return fmt.Sprint(r.Uint64(), r.Uint64(), r.Uint64())
}

func TestRand(t *testing.T) {
	t.Setenv("GALE_FULL", "")
	t.Setenv("GALE_SEED", "")
	usual := numbers()
	if again := numbers(); again != usual {
		t.Errorf("first %s, then %s", usual, again)
	}
	t.Setenv("GALE_SEED", "7")
	seven := numbers()
	if again := numbers(); again != seven || seven == usual {
		t.Errorf("with seed 7 first %s, then %s, without %s", seven, again, usual)
	}
	t.Setenv("GALE_FULL", "1")
	if again := numbers(); again != seven {
		t.Errorf("with seed 7 first %s, and in the long form %s", seven, again)
	}
	t.Setenv("GALE_SEED", "")
	if first, second := numbers(), numbers(); first == second || first == usual {
		t.Errorf("the long form has twice %s", first)
	}
	var wg sync.WaitGroup
	r := rand.New(new(source))
	for range 4 {
		wg.Go(func() { r.IntN(7) }) // for the race detector
	}
	wg.Wait()
}

// said is a test that notes what Errorf says.
type said struct {
	testing.TB
	text string
}

func (s *said) Helper() {}

func (s *said) Errorf(format string, args ...any) { s.text = fmt.Sprintf(format, args...) }

func TestUnforgiven(t *testing.T) {
	s := new(said)
	Unforgiven(s, "bytes of %s", "another")
	if !strings.HasPrefix(s.text, Mark) || !strings.HasSuffix(s.text, "bytes of another") {
		t.Errorf("it said %q", s.text)
	}
}

func TestForm(t *testing.T) {
	t.Setenv("GALE_FULL", "")
	if n := Form(10, 1); n != 1 {
		t.Errorf("the short form has %d", n)
	}
	t.Setenv("GALE_FULL", "1")
	if n := Form(10, 1); n != 10 {
		t.Errorf("the long form has %d", n)
	}
}
