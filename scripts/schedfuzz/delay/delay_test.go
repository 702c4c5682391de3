package delay

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestMeans(t *testing.T) {
	const name = "internal/engine/event_loop.go#loop.blocks#Lock#2"
	for where, want := range map[string]bool{
		name:                             true,
		"event_loop.go":                  true,
		"engine/event_loop.go#blocks":    true,
		"event_loop.go#loop.blocks#Lock": true,
		"event_loop.go#blocks#Lock#2":    true,
		"event_loop.go#blocks#Lock#3":    false,
		"event_loop.go#blocks#Unlock":    false,
		"loop.go":                        false,
		"event_loop.go#locks":            false,
		name + "#3":                      false,
	} {
		if Means(where, name) != want {
			t.Errorf("%s: %v", where, !want)
		}
	}
}

func TestParseAt(t *testing.T) {
	all, err := ParseAt("a.go#f#Lock=20, b.go=5")
	if want := []Choice{{"a.go#f#Lock", 20 * time.Microsecond}, {"b.go", 5 * time.Microsecond}}; err != nil || !slices.Equal(all, want) {
		t.Errorf("%v, %v", all, err)
	}
	if all, err := ParseAt(""); len(all) > 0 || err != nil {
		t.Errorf("nothing: %v, %v", all, err)
	}
	for _, bad := range []string{"a.go", "a.go=", "a.go=x", "=5", "a.go=-1", "a.go=5,b.go"} {
		if _, err := ParseAt(bad); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}

// TestChance: each seed chooses other operations, about as many, and the same ones again.
func TestChance(t *testing.T) {
	hot := func(seed uint64) (n [2]int, first string) {
		for c := 'a'; c < 'a'+2000; c++ {
			name := "server.go#Server." + string(c) + "#Lock"
			switch p := chance(seed, name); {
			case p > 1<<30:
				n[0]++
				if first == "" {
					first = name
				}
			case p > 1<<26:
				n[1]++
			}
		}
		return n, first
	}
	var firsts []string
	for seed := range uint64(8) {
		n, first := hot(seed)
		if seed == 0 {
			if n != [2]int{} {
				t.Errorf("without a seed %d operations are delayed", n)
			}
			continue
		}
		if n[0] < 70 || n[0] > 130 || n[1] < 230 || n[1] > 370 {
			t.Errorf("seed %d: %d of 2000, want about 100 and 300", seed, n)
		}
		if _, again := hot(seed); again != first {
			t.Errorf("seed %d: first %s, then %s", seed, first, again)
		}
		if !slices.Contains(firsts, first) {
			firsts = append(firsts, first)
		}
	}
	if len(firsts) < 5 {
		t.Errorf("7 seeds choose only %d first operations", len(firsts))
	}
}

func TestBubble(t *testing.T) {
	if inBubble() {
		t.Error("a usual goroutine is in a bubble")
	}
	synctest.Test(t, func(t *testing.T) {
		if !inBubble() {
			t.Error("a bubble isn't one")
		}
		time.Sleep(100 * 365 * 24 * time.Hour) // its time says nothing
		began := time.Now()
		(&Site{always: time.Hour}).Delay()
		if time.Since(began) != 0 {
			t.Error("it slept in a bubble")
		}
	})
}

func TestCalls(t *testing.T) {
	s := &Site{chance: 1<<32 - 1}
	sum := 0
	Begin0(s, func() { sum++ })()
	Begin1(s, func(a int) { sum += a })(10)
	Begin2(s, func(a, b int) { sum += a + b })(100, 200)
	Begin3(s, func(a, b, c int) { sum += a + b + c })(1000, 2000, 3000)
	sum += Before(s, 10000)
	sum += Before(nil, 20000)
	if sum != 36311 {
		t.Errorf("the sum is %d", sum)
	}
}
