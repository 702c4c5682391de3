package gale

import "testing"

// A buffer that grows as bodyCap says reaches the announced length in few steps, and is
// never much larger than what has arrived. The steps copy little of a long body.
func TestBodyCap(t *testing.T) {
	for _, least := range []int{0, 4 << 10, 64 << 10} {
		for total := int64(1); total < 1<<30; total += total/3 + 1 {
			has, copied, steps := 1, int64(0), 0
			for int64(has) < total {
				c := bodyCap(has, least, total)
				most := max(bodyFactor*has, least)
				if c <= has || int64(c) > total || c > most || int64(c) < min(2*int64(has), int64(least), total) {
					t.Fatalf("bodyCap(%d, %d, %d) = %d", has, least, total, c)
				}
				copied += int64(has)
				has = c
				steps++
			}
			if steps > 13 {
				t.Errorf("%d bytes take %d steps", total, steps)
			}
			if total > 8*int64(least) && copied > total/2+1 {
				t.Errorf("%d of %d bytes are copied", copied, total)
			}
		}
	}
}

// A peer that announces much and sends little gets little memory.
func TestBodyCapOfAnnouncement(t *testing.T) {
	for has, want := range map[int]int{0: 1, 1: 8, 10: 80, 1 << 10: 8 << 10, 64 << 10: 512 << 10} {
		if c := bodyCap(has, 0, 1<<30); c > want {
			t.Errorf("after %d of 1 GB: %d bytes, want at most %d", has, c, want)
		}
	}
}
