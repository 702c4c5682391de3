package lifetime

import (
	"runtime"
	"sync"
	"testing"
	"time"
)

// newPaged returns a guard with pages, or skips.
func newPaged(t testing.TB, c Config) *Guard {
	t.Helper()
	c.Pages = true
	g := New(c)
	if !g.HasPages() {
		if g.PagesErr() == nil {
			t.Fatal("no pages, and no reason")
		}
		t.Skip(g.PagesErr())
	}
	return g
}

// TestRing proves that the pages that were given back first are used again first, that
// pages of running loans never are, and that memory comes from the heap when no page is
// left.
func TestRing(t *testing.T) {
	g := newPaged(t, Config{MaxBytes: 8 * chunkSize(0), Hold: time.Hour})
	chunk := int(chunkSize(0))
	begin := func(size int) (*Loan, int) {
		l := g.Begin(Origin{})
		l.Alloc(size)
		if len(l.memory.runs) == 0 {
			return l, -1
		}
		return l, l.memory.runs[0].first
	}
	want := func(what string, got, want int) {
		t.Helper()
		if got != want {
			t.Errorf("%s: chunk %d, want %d", what, got, want)
		}
	}
	running, at := begin(1)
	base := at // the space may be one that another guard has used
	next := func(n int) int { return (base + n) % 8 }
	for i := 1; i < 8; i++ {
		l, at := begin(1)
		want("in turn", at, next(i))
		l.End()
	}
	l, at := begin(1)
	want("the oldest, not the running one", at, next(1))
	if n := g.Stats().Early; n == 0 {
		t.Error("Early doesn't count what was used again before its time")
	}
	l.End()
	running.End()

	var all []*Loan
	for range 8 {
		l, at := begin(1)
		if at < 0 {
			t.Error("no page although some are free")
		}
		all = append(all, l)
	}
	unpaged := g.Stats().Unpaged
	l, at = begin(1)
	want("all are in use", at, -1)
	if s := g.Stats(); s.Unpaged != unpaged+1 || s.Held != int64(8*chunk+heapBlock) {
		t.Errorf("%+v", s)
	}
	l.End()
	for i, l := range all {
		if i != 3 {
			l.End()
		}
	}
	l, at = begin(3 * chunk)
	if at < 0 || at <= all[3].tagChunk(g) && all[3].tagChunk(g) < at+3 {
		t.Errorf("three neighbors at %d, one is in use at %d", at, all[3].tagChunk(g))
	}
	l.End()
	if l, at = begin(9 * chunk); at >= 0 || cap(l.memory.heap[0]) < 9*chunk {
		t.Errorf("more than there is: chunk %d", at)
	}
	l.End()
	all[3].End()
	if n := g.space.running; n != 0 {
		t.Errorf("%d chunks in use after all loans have ended", n)
	}
}

// tagChunk returns the first chunk that l owns.
func (l *Loan) tagChunk(g *Guard) int {
	for i := range g.space.owners {
		if g.space.owners[i].Load() == l.tag {
			return i
		}
	}
	return -1
}

// TestSpaceBounds proves that the number of chunks is bounded, and what happens with odd
// settings.
func TestSpaceBounds(t *testing.T) {
	for _, size := range []int64{1, 1 << 20, 64 << 20, 1 << 30, 1 << 40} {
		if n := size / chunkSize(size); n > maxChunks {
			t.Errorf("%d bytes: %d chunks", size, n)
		}
	}
	if g := New(Config{Pages: true, MaxBytes: 100}); g.HasPages() || g.PagesErr() == nil {
		t.Error("pages within 100 bytes")
	}
	if g := New(Config{Pages: true, MaxBytes: 1 << 62}); g.HasPages() || g.PagesErr() == nil {
		t.Error("pages within 2^62 bytes")
	}
	if g := New(Config{MaxBytes: 1 << 20}); g.HasPages() || g.PagesErr() != nil {
		t.Error("pages that weren't asked for, or an error about them")
	}
}

// TestSpaceAgain proves that the space of a guard that is gone is used by another one.
func TestSpaceAgain(t *testing.T) {
	const size = 3 << 20 // no other test has it
	s := func() *space {
		g := newPaged(t, Config{MaxBytes: size})
		l := g.Begin(Origin{})
		l.Alloc(1)
		l.End()
		return g.space
	}()
	for deadline := time.Now().Add(time.Minute); ; {
		runtime.GC()
		spaces.mu.Lock()
		idle := false
		for _, i := range spaces.idle {
			idle = idle || i == s
		}
		spaces.mu.Unlock()
		if idle {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the guard isn't collected")
		}
		runtime.Gosched()
	}
	if g := newPaged(t, Config{MaxBytes: size}); g.space != s {
		t.Error("another space")
	}
}

// TestSpaceConcurrent proves that loans of many goroutines have memory of their own, and
// that what is held stays within the bound.
func TestSpaceConcurrent(t *testing.T) {
	g := newPaged(t, Config{MaxBytes: 1 << 20})
	before := g.space.running // a loan of an earlier guard that never ended may have some
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 300 {
				l := g.Begin(Origin{Kind: "handler", Path: "/a"})
				b := l.Alloc(100 + n*300)
				b = b[:cap(b)]
				for j := range b {
					if b[j] != 0 {
						t.Errorf("byte %d of %d is %d", j, len(b), b[j])
						return
					}
					b[j] = byte(i + 1)
				}
				runtime.Gosched()
				for j := range b {
					if b[j] != byte(i+1) {
						t.Errorf("byte %d of %d was overwritten", j, len(b))
						return
					}
				}
				l.End()
				if s := g.space.bytes(); s > 1<<20 {
					t.Errorf("%d bytes of pages", s)
				}
			}
		})
	}
	wg.Wait()
	if g.space.running != before || g.held.Load() != 0 {
		t.Errorf("%d chunks and %d bytes are held, want %d and 0", g.space.running, g.held.Load(), before)
	}
}
