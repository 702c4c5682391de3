package figures

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMerge(t *testing.T) {
	first, second := sample(20_000, 1), sample(30_000, 2)
	run := func(all []time.Duration) *Run {
		r := openRun(t)
		r.Latency, _ = histogram(all).Distribution(true)
		r.Schedule.Late, r.Generator.Late = r.Latency, r.Latency
		r.Requests = Requests{Sent: int64(len(all)), Good: int64(len(all))}
		r.Statuses = map[string]int64{"200": int64(len(all))}
		r.Errors = []ErrorCount{{"reset", 3, "x"}}
		r.Connections.Connect = distribution(t, 10, 1, 100, true)
		r.Steps = []Step{{Seconds: 5, Rate: 1000, Requests: r.Requests, Latency: r.Latency, Late: r.Latency}}
		return r
	}
	a, b := run(first), run(second)
	b.Errors = append(b.Errors, ErrorCount{"timeout", 1, "y"})
	before := written(t, a)
	m, err := Merge([]*Run{a, b})
	if err != nil {
		t.Fatal(err)
	}
	if written(t, a) != before {
		t.Error("Merge changed a document")
	}
	want, _ := histogram(append(slices.Clone(first), second...)).Distribution(true)
	for name, got := range map[string]Distribution{"latency": m.Latency, "late": m.Schedule.Late, "generator's": m.Generator.Late, "step": m.Steps[0].Latency} {
		if got != want {
			t.Errorf("%s is %+v, want %+v", name, got, want)
		}
	}
	if m.Runs != 2 || m.Seconds != 10 || m.Requests.Sent != 50_000 || m.RequestsPerSecond != 5000 || m.Statuses["200"] != 50_000 {
		t.Errorf("sums are %+v", m)
	}
	if len(m.Errors) != 2 || m.Errors[0].Count != 6 || len(m.Intervals) != 10 || m.Intervals[5].AtNS != 5e9 {
		t.Errorf("lists are %+v, %+v", m.Errors, m.Intervals)
	}
	if s := m.Server; s.CPUSeconds != 0.5 || s.CPUPerRequest != 10_000 || s.Busy != 0.05 {
		t.Errorf("server is %+v", s)
	}
	three, err := Merge([]*Run{m, a})
	if err != nil || three.Runs != 3 || three.Seconds != 15 {
		t.Errorf("a merged document merges to %+v, %v", three, err)
	}
}

func TestMergeErrors(t *testing.T) {
	tests := []struct {
		name string
		set  func(*Run)
		want string
	}{
		{"settings", func(r *Run) { r.Settings.Connections = 65 }, "connections: 64 and 65"},
		{"urls", func(r *Run) { r.Targets[0].URL = "http://other/" }, "urls: "},
		{"no histogram", func(r *Run) { r.Latency.Histogram = "" }, "there is no histogram"},
		{"broken histogram", func(r *Run) { r.Latency.Histogram = "x" }, "not valid"},
	}
	for _, tt := range tests {
		other := closedRun(t)
		tt.set(other)
		other.Connections.Connect = Distribution{}
		if _, err := Merge([]*Run{closedRun(t), other}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error is %v, want %q", tt.name, err, tt.want)
		}
	}
	if _, err := Merge(nil); err == nil {
		t.Error("nothing was merged")
	}
}
