package load

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/measure/figures"
)

// TestIntervalHistograms proves that the histograms of the intervals of the counted time
// have all its latencies.
func TestIntervalHistograms(t *testing.T) {
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {})
	p := planFor(addr)
	p.WarmUp, p.Duration, p.Interval = 50*time.Millisecond, 200*time.Millisecond, 25*time.Millisecond
	r := runOn(t, t.Context(), p, newNetwork)
	for i, in := range r.Intervals {
		d := figures.Distribution{Histogram: in.Histogram}
		h, err := d.Decode()
		if in.AtNS < 0 || in.Good == 0 {
			if in.Histogram != "" {
				t.Errorf("interval %d: it should have no histogram", i)
			}
			continue
		}
		if err != nil || h.Count() != in.Good {
			t.Errorf("interval %d: %v, want %d latencies", i, err, in.Good)
		}
	}
}

// TestLatenciesAreBounded proves that a long run keeps the histograms of some intervals
// only, evenly over its time.
func TestLatenciesAreBounded(t *testing.T) {
	const intervals = 5 * maxLatencies
	k := latencies{every: 1}
	for i := range intervals {
		h := figures.NewHistogram()
		h.Add(time.Duration(i + 1))
		k.add(i, h)
	}
	if len(k.list) > maxLatencies || len(k.list) < maxLatencies/2 || k.every != 8 {
		t.Fatalf("%d histograms, of every %d intervals", len(k.list), k.every)
	}
	for i, l := range k.list {
		if l.index != i*k.every || l.histogram.At(1) < time.Duration(l.index)*98/100 {
			t.Fatalf("histogram %d is of interval %d with %v", i, l.index, l.histogram.At(1))
		}
	}
	list := make([]figures.Interval, intervals)
	if err := k.encode(list); err != nil || list[8].Histogram == "" || list[9].Histogram != "" {
		t.Errorf("%v, %q", err, list[9].Histogram)
	}
}

// TestRunInterrupted proves that a run says whether its context ended it early.
func TestRunInterrupted(t *testing.T) {
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello") })
	p := planFor(addr)
	p.Count = 10
	if r := runOn(t, t.Context(), p, newNetwork); r.Interrupted {
		t.Error("a complete run was interrupted")
	}
	ctx, cancel := context.WithCancel(t.Context())
	p.Count, p.Duration, p.Begin = 0, time.Minute, cancel
	if r := runOn(t, ctx, p, newNetwork); !r.Interrupted || r.Seconds > 30 {
		t.Errorf("interrupted: %t, after %g s", r.Interrupted, r.Seconds)
	}
}
