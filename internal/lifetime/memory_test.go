package lifetime

import (
	"bytes"
	"testing"
	"time"
)

var startTime = time.Unix(1e9, 0)

// guards are one with each kind of memory that the system has.
func guards(t testing.TB) map[string]*Guard {
	all := map[string]*Guard{"heap": New(Config{})}
	if g := New(Config{Pages: true, MaxBytes: 1 << 20}); g.HasPages() {
		all["pages"] = g
	} else {
		t.Log(g.PagesErr())
	}
	return all
}

// TestAlloc proves that memory is empty, large enough, 0, and shared by no two buffers, and
// that a loan knows it.
func TestAlloc(t *testing.T) {
	for name, g := range guards(t) {
		t.Run(name, func(t *testing.T) {
			for range 50 { // the space is used several times
				l := g.Begin(Origin{})
				var all [][]byte
				for i, n := range []int{0, 1, 15, 100, 5000, 40_000, 3, 4096, 70_000} {
					b := l.Alloc(n)
					if len(b) != 0 || cap(b) < n || cap(b) > n+2*align {
						t.Fatalf("Alloc(%d) has length %d and capacity %d", n, len(b), cap(b))
					}
					b = b[:cap(b)]
					if !l.Covers(b) || bytes.ContainsFunc(b, func(r rune) bool { return r != 0 }) {
						t.Fatalf("buffer %d: covered %v, or not 0", i, l.Covers(b))
					}
					for j := range b {
						b[j] = byte(i + 1)
					}
					all = append(all, b)
				}
				for i, b := range all {
					if bytes.Count(b, []byte{byte(i + 1)}) != len(b) {
						t.Fatalf("buffer %d was overwritten by another one", i)
					}
				}
				held := g.Stats().Held
				for _, b := range all {
					l.Keep(b)
				}
				if now := g.Stats().Held; now != held || held < 120_000 {
					t.Errorf("held %d, and %d after Keep of the same memory", held, now)
				}
				l.End()
			}
		})
	}
}

// TestEndOverwrites proves that all memory of a loan is overwritten at the end, to its
// capacity, and that memory that a late user asks for is its own.
func TestEndOverwrites(t *testing.T) {
	g := New(Config{})
	l := g.Begin(Origin{})
	kept := bytes.Repeat([]byte("alice"), 3000)[:7]
	all := [][]byte{l.Alloc(10), l.Alloc(3000), l.Alloc(100_000), kept}
	l.Keep(kept)
	l.Keep(nil)
	for _, b := range all {
		copy(b[:cap(b)], "alice")
	}
	l.End()
	for i, b := range all {
		if bytes.Count(b[:cap(b)], []byte{poisoned}) != cap(b) {
			t.Errorf("buffer %d of %d bytes isn't overwritten", i, cap(b))
		}
	}
	own := append(l.Alloc(8), "mine"...)
	l.Keep(own)
	if l.End(); string(own) != "mine" || g.Stats().Held != 0 {
		t.Errorf("%q, held %d", own, g.Stats().Held)
	}
}

// TestSample proves how many are guarded.
func TestSample(t *testing.T) {
	for _, tt := range []struct{ every, least, most int }{
		{0, 10_000, 10_000}, {1, 10_000, 10_000}, {-1, 10_000, 10_000}, {10, 500, 2000}, {1 << 30, 0, 2},
	} {
		g, n := New(Config{Every: tt.every}), 0
		for range 10_000 {
			if g.Sample() {
				n++
			}
		}
		if n < tt.least || n > tt.most {
			t.Errorf("Every %d: %d of 10,000", tt.every, n)
		}
	}
}
