package load

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/measure/figures"
)

// TestListener shows which silences a listener finds, whenever responses are collected.
func TestListener(t *testing.T) {
	const ms = int64(time.Millisecond)
	type collection struct{ first, last, from, to int64 } // in ms; first is -1 if there was no good response
	good := func(first, last int64) collection { return collection{first, last, 0, 0} }
	none := good(-1, 0)
	tests := []struct {
		name string
		in   []collection
		end  int64
		want []silence // in ms
	}{
		{"steady", []collection{good(1, 999), good(1001, 1999)}, 2000, nil},
		{"it dies", []collection{good(1, 999), good(1001, 1400), none, none}, 4000, []silence{{1400, 4000}}},
		{"it returns", []collection{good(1, 600), none, good(2100, 2999)}, 3000, []silence{{600, 2100}}},
		{"it returns at once", []collection{good(1, 600), good(1590, 1999)}, 2000, nil},
		{"less than a second is none", []collection{good(1, 20), good(1015, 1999)}, 2000, nil},
		{"a second is one", []collection{good(1, 20), good(1020, 1999)}, 2000, []silence{{20, 1020}}},
		{"twice", []collection{good(1, 2), good(1500, 1500), none}, 3000, []silence{{2, 1500}, {1500, 3000}}},
		{"never", []collection{none, none}, 2000, []silence{{0, 2000}}},
		{"a warm-up isn't counted", []collection{none, none, good(900, 999)}, 1000, nil},
		{"a response of the warm-up", []collection{good(-500, -400), none, good(1200, 1400)}, 1500, []silence{{0, 1200}}},
		{"after the end", []collection{good(1, 999), none, good(2500, 2900)}, 1500, nil},
		{"until the end", []collection{good(1, 400), none, good(2500, 2900)}, 1500, []silence{{400, 1500}}},
		{"the generator stood still", []collection{good(1, 999), {2600, 2700, 1000, 2600}, good(2750, 2990)}, 3000, nil},
		{"it stood still after an outage", []collection{good(1, 2), none, {3999, 4000, 2000, 3999}}, 4000, []silence{{2, 2000}}},
		{"it stood still before an outage", []collection{good(1, 2), {-1, 0, 10, 1200}, none}, 4000, []silence{{1200, 4000}}},
		{"it stood still after responses", []collection{{1, 900, 900, 2000}, good(2001, 2999)}, 3000, nil},
	}
	for _, tt := range tests {
		n := listener{}
		for _, c := range tt.in {
			s := &slice{}
			if c.first != -1 {
				s.good, s.first, s.last = 2, c.first*ms, c.last*ms
			}
			if c.to > 0 {
				s.stood(c.from*ms, c.to*ms)
			}
			n.collect(s, tt.end*ms)
		}
		n.silentUntil(tt.end*ms, tt.end*ms)
		for i := range n.silences {
			n.silences[i].from /= ms
			n.silences[i].to /= ms
		}
		if !slices.Equal(n.silences, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, n.silences, tt.want)
		}
	}
}

// TestOutages shows which silences are the server's.
func TestOutages(t *testing.T) {
	second := int64(time.Second)
	list := []silence{{second, 3 * second}} // of 2 s
	fast := []figures.Interval{{AtNS: -1, Good: 1, P50NS: 9e9}, {Good: 9, P50NS: 1e6}, {Bad: 9, P50NS: 5e9}, {Good: 9, P50NS: 2e6}}
	tests := []struct {
		name      string
		plan      Plan
		intervals []figures.Interval
		schedule  []Ramp
		want      int64
	}{
		{"of a fast server", Plan{}, fast, nil, 1},
		{"of one that never answers", Plan{}, nil, nil, 1},
		{"of a slow server", Plan{}, []figures.Interval{{Good: 1, P50NS: 1100e6}}, nil, 0},
		{"of a server that takes half of it", Plan{}, []figures.Interval{{Good: 1, P50NS: second}}, nil, 1},
		{"pauses of the connections", Plan{Think: 1500 * time.Millisecond}, fast, nil, 0},
		{"short pauses of the connections", Plan{Think: 100 * time.Millisecond}, fast, nil, 1},
		{"at a rate", Plan{}, fast, []Ramp{{100, 100, 5 * time.Second}}, 1},
		{"at a rate, with late responses after it", Plan{}, []figures.Interval{{Good: 9, P50NS: 1e6}, {Good: 9, P50NS: 3e9}, {Good: 9, P50NS: 2e9}}, []Ramp{{100, 100, 5 * time.Second}}, 1},
		{"of a slow server at a rate", Plan{}, []figures.Interval{{Good: 9, P50NS: 2e9}, {Good: 9, P50NS: 1200e6}}, []Ramp{{100, 100, 5 * time.Second}}, 0},
		{"at 1 a second", Plan{}, fast, []Ramp{{1, 1, 5 * time.Second}}, 1},
		{"at less than 1 a second", Plan{}, fast, []Ramp{{0.9, 0.9, 5 * time.Second}}, 0},
		{"while a schedule pauses", Plan{}, fast, []Ramp{{100, 100, time.Second}, {0, 0, 2 * time.Second}, {100, 100, time.Second}}, 0},
		{"while a ramp begins", Plan{}, fast, []Ramp{{0, 0.1, 4 * time.Second}}, 0},
		{"after the last start", Plan{Count: 90}, fast, []Ramp{{100, 100, 10 * time.Second}}, 0},
	}
	for _, tt := range tests {
		r := &run{plan: &tt.plan}
		if tt.schedule != nil {
			r.schedule = newSchedule(tt.schedule)
			if tt.plan.Count > 0 {
				r.schedule.total = tt.plan.Count
			}
		}
		got := r.outages(list, tt.intervals)
		if got.Count != tt.want || tt.want == 1 && (got.Seconds != 2 || got.LongestSeconds != 2 || got.List[0] != figures.Outage{AtNS: second, Seconds: 2}) {
			t.Errorf("%s: %+v, want %d", tt.name, got, tt.want)
		}
	}
}

// TestScheduleCountsStarts compares the number of starts until a time with the starts themselves.
func TestScheduleCountsStarts(t *testing.T) {
	s := newSchedule([]Ramp{{10, 10, time.Second}, {0, 0, time.Second}, {0, 40, 2 * time.Second}, {40, 0, time.Second}})
	for n := range s.total {
		at, step := s.at(n)
		if got := s.starts(at); math.Abs(got-float64(n)) > 1e-3 {
			t.Errorf("until %v there were %g starts, want %d", at, got, n)
		}
		if got := s.stepAt(at); got != step {
			t.Errorf("%v is in step %d, want %d", at, got, step)
		}
	}
	if got := s.starts(time.Hour); got != float64(s.total) {
		t.Errorf("%g starts in all, want %d", got, s.total)
	}
	if s.starts(-time.Second) != 0 || s.stepAt(-time.Second) != 0 || s.stepAt(time.Hour) != 3 {
		t.Error("times outside of the schedule")
	}
}
