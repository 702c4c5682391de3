package pool

import (
	"bytes"
	"runtime"
	"runtime/debug"
	"testing"
	"weak"
)

const mib = 1 << 20

// keepLarge keeps the collector from emptying the list during a test, and empties it now.
func keepLarge(t *testing.T) {
	t.Helper()
	percent := debug.SetGCPercent(-1)
	t.Cleanup(func() { debug.SetGCPercent(percent) })
	large.mu.Lock()
	large.cut(0)
	large.mu.Unlock()
}

// A large buffer that was given back is used again, by the caller that needs about its
// size, and by one caller only.
func TestLargeIsUsedAgain(t *testing.T) {
	keepLarge(t)
	var puts []*Buf
	for _, n := range []int{8 * mib, 3 * mib, 20 * mib, 3 * mib} {
		puts = append(puts, Get(n))
	}
	for _, b := range puts {
		b.B = append(b.B, "what it held"...)
		Put(b)
	}
	gets := []struct {
		n    int
		want *Buf // nil: a new one
	}{
		{25 * mib, nil},
		{11 * mib, puts[2]},
		{11 * mib, nil},
		{2 * mib, puts[3]}, // the last that was given back
		{2 * mib, puts[1]},
		{3 * mib, nil},
		{7*mib + 1, puts[0]},
		{8 * mib, nil},
	}
	for i, tt := range gets {
		b := Get(tt.n)
		if len(b.B) != 0 || cap(b.B) < tt.n {
			t.Errorf("%d: Get(%d) has length %d and capacity %d", i, tt.n, len(b.B), cap(b.B))
		}
		for k, p := range puts {
			if (b == p) != (p == tt.want) {
				t.Errorf("%d: Get(%d) returns buffer %d: %v", i, tt.n, k, b == p)
			}
		}
	}
}

// A new large buffer is at most an eighth larger than what was asked for.
func TestLargeRoom(t *testing.T) {
	for n := MaxSize + 1; n < 1<<30; n += n/7 + 1 {
		for _, n := range []int{n, n + 1, n &^ 0xffff} {
			if c := roundLarge(n); c < n || c > n+n/8 {
				t.Errorf("a buffer for %d bytes has %d", n, c)
			}
		}
	}
	if most := int(^uint(0) >> 1); roundLarge(most) != most {
		t.Error("the largest size overflows")
	}
}

// The garbage collector takes the large buffers that aren't in use.
func TestLargeIsCollected(t *testing.T) {
	keepLarge(t)
	used, b := Get(2*mib), Get(2*mib)
	p := weak.Make(b)
	Put(b)
	b = nil
	if p.Value() == nil {
		t.Fatal("it was collected at once")
	}
	runtime.GC()
	if p.Value() != nil {
		t.Error("it is kept")
	}
	Put(used)
	if Get(2*mib) != used {
		t.Error("a buffer that was in use during the collection can't be used again")
	}
}

// The list of large buffers has a bound. The buffers that were given back last stay.
func TestLargeIsBounded(t *testing.T) {
	keepLarge(t)
	var puts []*Buf
	for range 3 * maxLarge / 2 {
		puts = append(puts, Get(MaxSize+1))
	}
	for _, b := range puts {
		Put(b)
	}
	for i := len(puts) - 1; i >= len(puts)-maxLarge; i-- {
		if Get(MaxSize+1) != puts[i] {
			t.Fatalf("buffer %d of %d is not there", i, len(puts))
		}
	}
	if large.n != 0 {
		t.Errorf("%d more are kept", large.n)
	}
}

func TestLargePutTwice(t *testing.T) {
	if !checksPuts {
		t.Skip("only the tag randompools checks that")
	}
	keepLarge(t)
	b := Get(2 * mib)
	Put(b)
	defer func() {
		if recover() == nil {
			t.Error("a second Put of a large buffer was not seen")
		}
		Get(2 * mib)
	}()
	Put(b)
}

func TestGrowTo(t *testing.T) {
	keepLarge(t)
	b := Get(0)
	_, _ = b.WriteString("contents")
	for _, n := range []int{0, 100, 5000, 100_000, 4999, MaxSize, MaxSize + 1, 20 * mib, 21 * mib} {
		before := cap(b.B)
		b.GrowTo(n)
		switch {
		case string(b.B) != "contents":
			t.Fatalf("after GrowTo(%d): %q", n, b.B)
		case n <= before && cap(b.B) != before:
			t.Errorf("GrowTo(%d) of %d bytes: %d", n, before, cap(b.B))
		case cap(b.B) < n || n > before && n > MaxSize && cap(b.B) > n+n/8:
			t.Errorf("GrowTo(%d) of %d bytes: %d", n, before, cap(b.B))
		}
	}
}

// When a buffer moves to other memory, the memory that it leaves can be used again.
func TestGrowGivesMemoryBack(t *testing.T) {
	keepLarge(t)
	b := Get(4 * mib)
	b.B = append(b.B, bytes.Repeat([]byte("x"), 4*mib)...)
	left := &b.B[0]
	b.Grow(1)
	if next := Get(4 * mib); &next.B[:1][0] != left {
		t.Error("the memory is lost")
	}
	if bytes.Count(b.B, []byte("x")) != 4*mib {
		t.Error("the contents are lost")
	}
}
