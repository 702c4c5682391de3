package engine

import (
	"errors"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// told is a session that records panics.
type told struct {
	*lines
	panics []any
}

func (s *told) Panicked(r any) { s.panics = append(s.panics, r) }

// deadlines is a connection that records the write deadlines that are set on it.
type deadlines struct {
	net.Conn
	begin time.Time

	mu  sync.Mutex      // the alarm's goroutine sets one, too
	set []time.Duration // since begin
}

const (
	noDeadline = time.Duration(-1)
	poked      = time.Duration(-2)
)

func (d *deadlines) SetWriteDeadline(at time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case at.IsZero():
		d.set = append(d.set, noDeadline)
	case at.Equal(clock.LongAgo):
		d.set = append(d.set, poked)
	default:
		d.set = append(d.set, at.Sub(d.begin))
	}
	return nil
}

// boundTest is a writeBounds in a bubble.
type boundTest struct {
	t *testing.T
	writeBounds
	nc *deadlines
}

func inBounds(t *testing.T, f func(b *boundTest)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		leaveThePast()
		b := &boundTest{t: t, nc: &deadlines{begin: time.Now()}}
		b.c = &blockConn{nc: b.nc, e: new(Block), sess: &told{}}
		f(b)
	})
}

// at sleeps until d after the beginning.
// at waits, by the clock of the bubble, until d after the beginning.
func (b *boundTest) at(d time.Duration) { time.Sleep(d - time.Since(b.nc.begin)) }

// wants checks which deadlines were set since the last time.
func (b *boundTest) wants(when string, set ...time.Duration) {
	b.t.Helper()
	b.nc.mu.Lock()
	defer b.nc.mu.Unlock()
	if !slices.Equal(b.nc.set, set) {
		b.t.Errorf("%s: the deadlines %v were set, want %v", when, b.nc.set, set)
	}
	b.nc.set = nil
}

// The deadlines of a write that waits several times. Progress doesn't move the end of the
// whole write, except for files.
func TestWriteBoundsWait(t *testing.T) {
	const s = time.Second
	type wait struct {
		at            time.Duration
		moved, renews bool
		set           []time.Duration
	}
	none := []time.Duration(nil)
	one := func(d time.Duration) []time.Duration { return []time.Duration{d} }
	for _, k := range []struct {
		name                  string
		timeout, stall, limit time.Duration
		waits                 []wait
	}{
		{"no bounds", 0, 0, 0, []wait{{0, false, false, none}, {s, true, false, none}}},
		{"time-out", 10 * s, 0, 0, []wait{{0, false, false, one(10 * s)}, {s, true, false, none}, {9 * s, true, false, none}}},
		{"stall", 0, 3 * s, 0, []wait{{0, false, false, one(3 * s)}, {s, false, false, none}, {2 * s, true, false, one(5 * s)}, {4 * s, true, false, one(7 * s)}}},
		{"both", 10 * s, 3 * s, 0, []wait{{0, false, false, one(3 * s)}, {2 * s, true, false, one(5 * s)}, {8 * s, true, false, one(10 * s)}, {9 * s, true, false, none}}},
		{"files", 10 * s, 3 * s, 0, []wait{{0, false, true, one(3 * s)}, {8 * s, true, true, one(11 * s)}, {9 * s, false, true, none}, {10 * s, true, true, one(13 * s)}}},
		{"limit", 10 * s, 0, 4 * s, []wait{{0, false, false, one(4 * s)}, {2 * s, true, true, none}}},
		{"limit and stall", 0, 3 * s, 4 * s, []wait{{0, false, false, one(3 * s)}, {2 * s, true, false, one(4 * s)}, {3 * s, true, true, none}}},
		{"late limit", 10 * s, 3 * s, time.Hour, []wait{{0, false, false, one(3 * s)}, {9 * s, true, false, one(10 * s)}}},
	} {
		inBounds(t, func(b *boundTest) {
			b.t = t
			b.timeout, b.stall = k.timeout, k.stall
			if k.limit > 0 {
				b.limit = clock.Ticks().Add(k.limit)
			}
			for range 2 { // and the next write begins anew
				if err := b.begin(); err != nil {
					t.Fatalf("%s: %v", k.name, err)
				}
				for _, w := range k.waits {
					b.at(w.at)
					b.wait(w.moved, w.renews)
					b.wants(k.name+" at "+w.at.String(), w.set...)
				}
				if err := b.through(nil); err != nil {
					t.Errorf("%s: a write without an error returned %v", k.name, err)
				}
				if k.timeout+k.stall+k.limit > 0 {
					b.wants(k.name+", in the end", noDeadline)
				} else {
					b.wants(k.name + ", in the end")
				}
				if k.limit > 0 {
					break
				}
				b.nc.begin = time.Now()
			}
			if n := b.c.e.WriteTimeouts(); n != 0 || b.broken.Load() {
				t.Errorf("%s: %d writes took too long, broken: %v", k.name, n, b.broken.Load())
			}
		})
	}
}

// Which writes count as write timeouts, and that no write follows one that failed.
func TestWriteBoundsThrough(t *testing.T) {
	for _, k := range []struct {
		name   string
		waits  bool
		after  time.Duration
		cut    bool
		err    error
		counts bool
	}{
		{"time-out", true, 2 * time.Second, false, os.ErrDeadlineExceeded, true},
		{"time-out of another one", true, time.Second / 2, false, os.ErrDeadlineExceeded, false},
		{"time-out without a wait", false, 2 * time.Second, false, os.ErrDeadlineExceeded, false},
		{"interrupted", true, 2 * time.Second, true, os.ErrDeadlineExceeded, false},
		{"reset", true, 2 * time.Second, false, net.ErrClosed, false},
	} {
		inBounds(t, func(b *boundTest) {
			b.timeout = time.Second
			if k.waits {
				b.wait(false, false)
			}
			b.at(k.after)
			if k.cut {
				b.interrupt()
			}
			if err := b.through(k.err); err != k.err {
				t.Errorf("%s: it returned %v, want the error of the write", k.name, err)
			}
			if n := b.c.e.WriteTimeouts(); (n == 1) != k.counts {
				t.Errorf("%s: %d writes took too long", k.name, n)
			}
			if err := b.begin(); !errors.Is(err, errBroken) {
				t.Errorf("%s: the next write may begin: %v", k.name, err)
			}
		})
	}
}

// After the limit no write begins, and the failed write makes all later ones fail, too.
func TestWriteBoundsBegin(t *testing.T) {
	inBounds(t, func(b *boundTest) {
		b.limit = clock.Ticks().Add(time.Second)
		b.at(time.Second - 1)
		if err := b.begin(); err != nil {
			t.Errorf("before the limit: %v", err)
		}
		b.at(time.Second)
		if err := b.begin(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("at the limit: %v", err)
		}
		b.limit = 0
		if err := b.begin(); !errors.Is(err, errBroken) {
			t.Errorf("after a write that the limit has kept from beginning: %v", err)
		}
	})
	inBounds(t, func(b *boundTest) {
		b.interrupt()
		b.wants("interrupt", poked)
		b.setDeadline(clock.Ticks().Add(time.Second)) // by a write that has begun before
		b.wants("a deadline after an interrupt", time.Second, poked)
		if err := b.begin(); !errors.Is(err, errBroken) {
			t.Errorf("after an interrupt: %v", err)
		}
	})
}

// While the program owns the deadlines, an alarm is used instead of them.
func TestWriteBoundsLent(t *testing.T) {
	inBounds(t, func(b *boundTest) {
		b.lent, b.timeout, b.stall = true, 10*time.Second, 3*time.Second
		b.wait(false, false)
		b.at(2 * time.Second)
		b.wait(true, false)
		b.at(5*time.Second - 1)
		synctest.Wait()
		b.wants("before the alarm, which was moved")
		b.at(5 * time.Second)
		synctest.Wait()
		b.wants("with the alarm", poked)
		b.through(os.ErrDeadlineExceeded)
		b.wants("after the write")
		if n := b.c.e.WriteTimeouts(); n != 1 {
			t.Errorf("%d writes took too long, want 1", n)
		}
	})
}
