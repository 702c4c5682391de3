package lifetime

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale/tests/harness/await"
)

// The request and the response of a detached context may belong to two goroutines. Both
// get memory from the loan: none of it must be given to both.
func TestLoanOfTwoGoroutines(t *testing.T) {
	for _, pages := range []bool{false, true} {
		g := New(Config{Pages: pages, MaxBytes: 8 << 20})
		for range 200 {
			l := g.Begin(Origin{Kind: "handler"})
			var wg sync.WaitGroup
			var mu sync.Mutex
			got := map[*byte]bool{}
			for range 2 {
				wg.Go(func() {
					var mine []*byte
					for i := range 50 {
						b := l.Alloc(64)
						l.Keep(make([]byte, 8))
						if i%2 == 0 {
							l.Covers(b)
						}
						mine = append(mine, &b[:1][0])
					}
					mu.Lock()
					defer mu.Unlock()
					for _, p := range mine {
						if got[p] {
							t.Error("two goroutines got the same memory")
						}
						got[p] = true
					}
				})
			}
			wg.Wait()
			l.End()
			if t.Failed() {
				return
			}
		}
	}
}

// A loan that is left to the program counts for nothing any more, and its memory stays.
func TestLeave(t *testing.T) {
	for _, pages := range []bool{false, true} {
		g := New(Config{Pages: pages, MaxBytes: 1 << 20})
		before := g.held.Load()
		var all [][]byte
		var loans []*Loan
		for range 100 { // more than there are pages
			l := g.Begin(Origin{Kind: "handler"})
			b := append(l.Alloc(1000), "alice"...)
			l.Leave()
			l.Leave()
			b2 := append(l.Alloc(100<<10), "alice"...)
			l.Keep(make([]byte, 1000))
			all, loans = append(all, b, b2), append(loans, l)
		}
		if n := g.held.Load(); n != before {
			t.Errorf("pages %v: %d bytes are held for loans that were left", pages, n-before)
		}
		if pages && g.HasPages() && g.Stats().Held > 1<<20 {
			t.Errorf("%d bytes of pages", g.Stats().Held)
		}
		for _, l := range loans {
			l.Use()
			l.End()
		}
		for _, b := range all {
			if string(b) != "alice" {
				t.Fatalf("pages %v: the memory became %q", pages, b)
			}
		}
		if n := g.Stats().Reports; n != 0 {
			t.Errorf("%d reports", n)
		}
		if n := g.held.Load(); n != before {
			t.Errorf("pages %v: %d bytes are held after End", pages, n-before)
		}
	}
}

// A loan that lasts for long doesn't collect all memory that its objects ever had.
func TestLongLoan(t *testing.T) {
	for _, pages := range []bool{false, true} {
		g := New(Config{Pages: pages})
		l := g.Begin(Origin{Kind: "ReleaseResponse"})
		for range 100_000 {
			l.Alloc(20 << 10)
		}
		if n := g.held.Load() + g.Stats().Held; n > 16<<20 {
			t.Errorf("pages %v: a loan holds %d bytes", pages, n)
		}
		// A body that grows is covered, however long it becomes.
		b := l.Alloc(1)
		for range 1 << 10 {
			b = Grow(l, b, 64<<10)
			b = b[:len(b)+64<<10]
		}
		if !l.Covers(b) {
			t.Errorf("pages %v: a body of %d bytes isn't covered", pages, len(b))
		}
		last := make([]byte, 10)
		l.KeepLast(last)
		l.End()
		if last[0] != poisoned {
			t.Error("the last memory is not overwritten")
		}
		if n := g.held.Load(); n != 0 {
			t.Errorf("pages %v: %d bytes are held", pages, n)
		}
	}
}

// An object of a pool may be dropped without a release: then the garbage collector frees it,
// and it isn't counted any more.
func TestDroppedLoan(t *testing.T) {
	g := New(Config{})
	for range 1000 {
		g.Begin(Origin{Kind: "ReleaseRequest"}).Alloc(10 << 10)
	}
	await.Until(t, "no bytes to be held for objects that don't exist", func() bool {
		runtime.GC()
		return g.held.Load() == 0
	})
	runtime.KeepAlive(g)
}

// A report that uses an object that lapsed leads to no other report.
func TestReportWithin(t *testing.T) {
	var x *thing
	n := 0
	g := New(Config{Library: "elsewhere", Report: func(u *Use) {
		if n++; n < 100 {
			x.Peek()
		}
	}})
	l := g.Begin(Origin{Kind: "handler"})
	x = &thing{l}
	l.End()
	x.Peek()
	if n != 1 {
		t.Errorf("Report was called %d times", n)
	}
	if got := g.Stats().Reports; got != 2 {
		t.Errorf("%d uses were counted", got)
	}
	x.Peek()
	if n != 2 {
		t.Errorf("Report was called %d times", n)
	}
}

// A sample may be as small as a program likes.
func TestRareSample(t *testing.T) {
	for _, every := range []int{math.MaxInt32, math.MaxInt/2 + 1, max(math.MaxInt-math.MaxInt32, math.MaxInt32), math.MaxInt} {
		for range 10 {
			if New(Config{Every: every}).Sample() {
				t.Errorf("Every %d: sampled", every)
			}
		}
	}
}

// A guard has pages even if an earlier one has given all of its own away.
func TestSpaceAfterLeave(t *testing.T) {
	const size = 3 << 20
	for range 5 {
		g := newPaged(t, Config{MaxBytes: size})
		l := g.Begin(Origin{Kind: "handler"})
		l.Alloc(100)
		l.End()
		if n := g.Stats().Unpaged; n != 0 {
			t.Fatal("a new guard has no pages")
		}
		for range size/minChunk + 1 {
			l := g.Begin(Origin{Kind: "handler"})
			l.Alloc(100)
			l.Leave()
		}
		var freed atomic.Bool
		runtime.AddCleanup(g, func(f *atomic.Bool) { f.Store(true) }, &freed)
		g = nil
		for !freed.Load() {
			runtime.GC()
			runtime.Gosched()
		}
		time.Sleep(time.Millisecond) // for the other cleanup: nothing shows when it has run
	}
}
