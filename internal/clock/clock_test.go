package clock

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale/tests/harness/await"
)

func TestAppendDateMatchesNetHTTP(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		at := time.Unix(rng.Int64N(253402300800), rng.Int64N(1e9)).In(time.FixedZone("", rng.IntN(86400)-43200))
		if got, want := string(AppendDateAt(nil, at)), at.UTC().Format(http.TimeFormat); got != want {
			t.Fatalf("date of %v: %q, want %q", at, got, want)
		}
	}
	if got := AppendDateAt(nil, time.Date(-3, 1, 1, 0, 0, 0, 0, time.UTC)); len(got) != DateLen {
		t.Fatalf("a year before 0 broke the form: %q", got)
	}
}

// The date must be the current second at every moment: before Start, right
// after it, while held, and after the last stop.
func TestDateIsCurrent(t *testing.T) {
	lent.Store(nil) // of the real time
	synctest.Test(t, func(t *testing.T) {
		check := func(why string) {
			t.Helper()
			synctest.Wait()
			now := time.Now()
			if got, want := string(AppendDate(nil)), now.UTC().Format(http.TimeFormat); got != want {
				t.Errorf("%s: date %q, want %q", why, got, want)
			}
			if got, want := string(AppendDateAt(nil, now)), now.UTC().Format(http.TimeFormat); got != want {
				t.Errorf("%s: date of now %q, want %q", why, got, want)
			}
			if got, want := Now(), now.Truncate(time.Second); !got.Equal(want) {
				t.Errorf("%s: Now %v, want %v", why, got, want)
			}
		}
		check("nobody holds the clock")
		time.Sleep(1700 * time.Millisecond)
		check("still nobody")
		stop := Start()
		check("right after Start, in the middle of a second")
		for range 40 {
			time.Sleep(150 * time.Millisecond)
			check("while held")
		}
		second := Start()
		stop()
		time.Sleep(5 * time.Second)
		check("one holder left")
		stop() // does nothing: the other holder must keep its clock
		time.Sleep(5 * time.Second)
		check("after a second call of the same stop")
		second()
		if current.Load() != nil {
			t.Error("a stamp is left behind without anybody to refresh it")
		}
		time.Sleep(5 * time.Second)
		check("after the last stop")
		again := Start()
		time.Sleep(2500 * time.Millisecond)
		check("held again")
		again()
		// synctest fails the test if the goroutine were still there.
	})
}

// A tick must be the time at which it was taken, whether the clock is held or not
// and however long ago that was.
func TestTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		check := func(why string) {
			t.Helper()
			tick, now := Ticks(), time.Now()
			for range 3 {
				if got := tick.Time(); !got.Equal(now) || got.Sub(now) != 0 || got.Unix() != now.Unix() {
					t.Errorf("%s: %v, want %v", why, got, now)
				}
				time.Sleep(700 * time.Millisecond)
			}
		}
		check("nobody holds the clock")
		defer Start()()
		check("held")
	})
	if got := Tick(0).Time(); !got.IsZero() {
		t.Errorf("no tick is %v, want the zero time", got)
	}
}

// While the clock isn't held, a date must be formatted once a second, and no
// longer be served when its second has ended.
func TestDateIsKeptForItsSecond(t *testing.T) {
	first := Date()
	if second := Date(); second != first && *second == *first {
		t.Error("the same second was formatted twice")
	}
	await.Until(t, "the date of the next second", func() bool { return *Date() != *first })
}

func TestAppendDateKeepsPrefix(t *testing.T) {
	defer Start()()
	if got := AppendDate([]byte("Date: ")); string(got[:6]) != "Date: " || len(got) != 6+DateLen {
		t.Fatalf("got %q", got)
	}
}

func TestStartStopConcurrently(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				stop := Start()
				if len(AppendDate(nil)) != DateLen {
					t.Error("broken date")
				}
				stop()
			}
		})
	}
	wg.Wait()
	if current.Load() != nil || runner.holders != 0 {
		t.Fatal("the clock is still held")
	}
}

func BenchmarkAppendDate(b *testing.B) {
	defer Start()()
	buf := make([]byte, 0, DateLen)
	b.Run("cached", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			buf = AppendDate(buf[:0])
		}
	})
	b.Run("at", func(b *testing.B) {
		b.ReportAllocs()
		now := time.Now()
		for b.Loop() {
			buf = AppendDateAt(buf[:0], now)
		}
	})
	b.Run("now", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			buf = AppendDateAt(buf[:0], time.Now())
		}
	})
}

// TestEarlier proves that 0 is later than every instant.
func TestEarlier(t *testing.T) {
	for _, tt := range []struct{ a, b, want Tick }{
		{0, 0, 0}, {0, 5, 5}, {5, 0, 5}, {5, 6, 5}, {6, 5, 5}, {5, 5, 5}, {-1, 5, -1}, {-1, 0, -1},
	} {
		if got := Earlier(tt.a, tt.b); got != tt.want {
			t.Errorf("Earlier(%d, %d) is %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
