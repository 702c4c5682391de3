package load

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func TestScheduleStarts(t *testing.T) {
	second := time.Second
	for _, c := range []struct {
		name  string
		ramps []Ramp
		n     int64
		at    time.Duration
		step  int
		total int64
	}{
		{"the first starts at once", []Ramp{{10, 10, second}}, 0, 0, 0, 10},
		{"even", []Ramp{{10, 10, second}}, 9, 900 * time.Millisecond, 0, 10},
		{"a rate that isn't whole", []Ramp{{2.5, 2.5, 2 * second}}, 1, 400 * time.Millisecond, 0, 5},
		{"a million a second", []Ramp{{1e6, 1e6, 3600 * second}}, 3_599_999_999, 3600*second - time.Microsecond, 0, 3_600_000_000},
		{"up from 0", []Ramp{{0, 100, 2 * second}}, 25, second, 0, 100},
		{"down to 0", []Ramp{{100, 0, 2 * second}}, 75, second, 0, 100},
		{"the second step", []Ramp{{10, 10, second}, {100, 100, second}}, 10, second, 1, 110},
		{"in the second step", []Ramp{{10, 10, second}, {100, 100, second}}, 60, 1500 * time.Millisecond, 1, 110},
		{"a pause between", []Ramp{{10, 10, second}, {0, 0, second}, {10, 10, second}}, 10, 2 * second, 2, 20},
	} {
		s := newSchedule(c.ramps)
		at, step := s.at(c.n)
		if (at-c.at).Abs() > time.Microsecond || step != c.step || s.total != c.total {
			t.Errorf("%s: request %d starts at %v in step %d of %d, want %v in step %d of %d",
				c.name, c.n, at, step, s.total, c.at, c.step, c.total)
		}
	}
}

// TestScheduleIsEven compares starts with the integral of the rate for random schedules.
func TestScheduleIsEven(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		var ramps []Ramp
		for range 1 + random.IntN(4) {
			ramps = append(ramps, Ramp{random.Float64() * 5000, random.Float64() * 5000, time.Duration(1 + random.Int64N(int64(2*time.Second)))})
		}
		s := newSchedule(ramps)
		last := time.Duration(-1)
		for n := range s.total {
			at, step := s.at(n)
			if at < last || at >= s.time {
				t.Fatalf("%v: request %d starts at %v after %v, and the schedule ends at %v", ramps, n, at, last, s.time)
			}
			last = at
			r := &s.ramps[step]
			x := (at - r.at).Seconds()
			if r.at > at || at >= r.at+r.Time {
				t.Fatalf("%v: request %d starts at %v, which is not in step %d", ramps, n, at, step)
			}
			count := r.count + r.From*x + (r.To-r.From)*x*x/(2*r.Time.Seconds())
			if math.Abs(count-float64(n)) > 1 {
				t.Fatalf("%v: request %d starts at %v, where %g should have started", ramps, n, at, count)
			}
		}
	}
}
