package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

func TestAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var rang time.Duration
		ring := func() { rang = time.Since(begin) }
		in := func(d time.Duration) clock.Tick { return clock.Ticks().Add(d) }

		a := (&alarm{ring: ring}).start(in(time.Second))
		time.Sleep(900 * time.Millisecond)
		a.move(in(time.Second))
		time.Sleep(5 * time.Second)
		if want := 1900 * time.Millisecond; !a.stop() || rang != want {
			t.Errorf("one that was moved rang after %v, want %v", rang, want)
		}

		rang = 0
		a = (&alarm{ring: ring}).start(in(time.Second))
		time.Sleep(time.Second / 2)
		if a.stop() {
			t.Error("it rang before its time")
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if rang != 0 {
			t.Error("one that was stopped rang")
		}

		begin = time.Now()
		left := 3
		a = (&alarm{ring: ring, patience: time.Minute, moved: func() bool { left--; return left >= 0 }}).start(in(time.Second))
		time.Sleep(time.Hour)
		if want := 3*time.Minute + time.Second; !a.stop() || rang != want {
			t.Errorf("one that was put off rang after %v, want %v", rang, want)
		}

		if (&alarm{ring: ring}).start(0).stop() {
			t.Error("one without a time rang")
		}
	})
}
