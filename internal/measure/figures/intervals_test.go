package figures

import (
	"math"
	"reflect"
	"testing"
	"time"
)

func TestIntervalJoin(t *testing.T) {
	first := Interval{AtNS: 0, Seconds: 3, Good: 2, Bad: 3, Errors: map[string]int64{"a": 1, "b": 2}, P50NS: 9, P99NS: 300, LateP99NS: 5,
		ServerCPU: 1, GeneratorCPU: 2, Others: -1, Rate: 20, ServerMemory: 5, Goroutines: 7, Histogram: "x"}
	second := Interval{AtNS: 3e9, Seconds: 1, Good: 1, Bad: 1, Errors: map[string]int64{"b": 1, "c": 4}, P50NS: 10, P90NS: 11, MaxNS: 7,
		ServerCPU: -1, Others: 0.5, HeapByte: 8}
	got := first
	got.Join(&second)
	want := Interval{AtNS: 0, Seconds: 4, Good: 3, Bad: 4, Errors: map[string]int64{"a": 1, "b": 3, "c": 4}, P50NS: 10, P90NS: 11, P99NS: 300, MaxNS: 7, LateP99NS: 5,
		ServerCPU: 1, GeneratorCPU: 1.5, Others: 0.5, Rate: 15, ServerMemory: 5, Goroutines: 7, HeapByte: 8}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if len(first.Errors) != 2 || len(second.Errors) != 2 || second.Errors["b"] != 1 {
		t.Error("the map of a copy changed")
	}
	got = first
	if got.JoinResponses(&second); got.Seconds != 3 || got.Rate != 20 || got.Good != 3 || got.P50NS != 10 {
		t.Errorf("responses: %+v", got)
	}
}

// slicesOf returns n intervals that take each, with so many good responses.
func slicesOf(n int, each time.Duration, good int64) []Interval {
	in := make([]Interval, n)
	for i := range in {
		in[i] = Interval{AtNS: int64(i) * int64(each), Seconds: each.Seconds(), Good: good}
	}
	return in
}

// TestCounted shows what judges see of intervals: pieces of a second at least, without the
// warm-up and a short one at the end, and with what came after the counted time.
func TestCounted(t *testing.T) {
	cold := slicesOf(3, time.Second, 10)
	cold[0].AtNS, cold[2].Seconds = -1e9, 0.1
	waited := slicesOf(25, 100*time.Millisecond, 10)
	for i := range waited[:20] {
		waited[i].Rate = 100
	}
	open := &Schedule{}
	tests := []struct {
		name    string
		run     Run
		good    []int64
		seconds float64
	}{
		{"seconds", Run{Seconds: 3, Intervals: slicesOf(3, time.Second, 10)}, []int64{10, 10, 10}, 3},
		{"minutes", Run{Seconds: 120, Intervals: slicesOf(2, time.Minute, 10)}, []int64{10, 10}, 120},
		{"tenths", Run{Seconds: 2.5, Intervals: slicesOf(25, 100*time.Millisecond, 10)}, []int64{100, 100, 50}, 2.5},
		{"a short rest", Run{Seconds: 2.4, Intervals: slicesOf(24, 100*time.Millisecond, 10)}, []int64{100, 100}, 2},
		{"less than a second", Run{Seconds: 0.3, Intervals: slicesOf(3, 100*time.Millisecond, 10)}, []int64{30}, 0.3},
		{"warm-up", Run{Seconds: 1.1, Intervals: cold}, []int64{10}, 1},
		{"after the end", Run{Seconds: 2, Schedule: open, Intervals: waited}, []int64{100, 150}, 2},
		{"nothing", Run{}, nil, 0},
	}
	for _, tt := range tests {
		var good []int64
		var sum float64
		for _, in := range counted(&tt.run) {
			good, sum = append(good, in.Good), sum+in.Seconds
		}
		if !reflect.DeepEqual(good, tt.good) || math.Abs(sum-tt.seconds) > 1e-6 {
			t.Errorf("%s: %v in %v s, want %v in %v s", tt.name, good, sum, tt.good, tt.seconds)
		}
	}
	m, err := Merge([]*Run{{Seconds: 2, Schedule: open, Intervals: waited}, {Seconds: 2, Schedule: open, Intervals: waited}})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(m.Intervals); n < 40 || m.Intervals[19].Good != 60 || m.Intervals[20].AtNS != 2e9 || m.Intervals[39].Good != 60 {
		t.Errorf("%d merged intervals", n)
	}
}

// TestShortRunIsNotNoisy shows that rates of tenths of a second, which vary by themselves,
// don't make a run noisy.
func TestShortRunIsNotNoisy(t *testing.T) {
	run := closedRun(t)
	run.Seconds, run.Generator.Others, run.Intervals = 2, 0.06, slicesOf(20, 100*time.Millisecond, 2469)
	run.Generator.CPUSeconds, run.Server.CPUSeconds, run.Generator.DelaySeconds = 1.2, 1.96, 0.01
	for i := range run.Intervals {
		run.Intervals[i].Good += int64(1000 * (i % 2))
	}
	if v := Judge(run); v.Limit != LimitServer {
		t.Errorf("%+v", v)
	}
}
