package toy

import (
	"testing"
	"testing/synctest"
)

func rounds(wait func(*Bell)) {
	for range 300 {
		b := New()
		go b.Ring()
		wait(b)
	}
}

func TestRight(t *testing.T) { rounds((*Bell).Wait) }

func TestWrong(t *testing.T) { rounds((*Bell).WaitLate) }

// In a bubble the wrong order passes: a delay only yields there.
func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New()
		go func() {
			synctest.Wait()
			b.Ring()
		}()
		b.WaitLate()
	})
}

func TestForms(t *testing.T) {
	if n := Forms(); n != 10 {
		t.Errorf("it returned %d", n)
	}
}

// Tests of this name are left out.
func TestWeight(t *testing.T) { t.Error("it is left out") }
