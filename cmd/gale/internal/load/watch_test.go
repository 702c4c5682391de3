package load

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"slices"
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

// TestShortRunHasFineIntervals proves that the intervals of a run of less than 5 s are short
// enough for a chart, whether or not its time is known before.
func TestShortRunHasFineIntervals(t *testing.T) {
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {})
	for name, set := range map[string]func(p *Plan){
		"duration": func(p *Plan) { p.Duration = 300 * time.Millisecond },
		"count":    func(p *Plan) { p.Connections, p.Threads, p.Count, p.Think = 2, 1, 30, 20*time.Millisecond },
		"rate":     func(p *Plan) { p.Schedule = []Ramp{{100, 100, 300 * time.Millisecond}} },
	} {
		t.Run(name, func(t *testing.T) {
			p := planFor(addr)
			set(p)
			r := runOn(t, t.Context(), p, newNetwork)
			short := slices.ContainsFunc(r.Intervals, func(i figures.Interval) bool { return i.Seconds < .2 })
			if !short || len(r.Intervals) < 2 { // a watch that is late makes fewer, longer ones
				t.Errorf("%d intervals in %g s: %+v", len(r.Intervals), r.Seconds, r.Intervals)
			}
		})
	}
}

// TestWaitHasTicks proves that Tick is called while an open loop waits for its last
// responses, and that these have intervals after the counted time.
func TestWaitHasTicks(t *testing.T) {
	onNetworks(t, func(t *testing.T, do func(*Plan) *figures.Run) {
		release := make(chan struct{})
		addr := serve(t, func(w http.ResponseWriter, r *http.Request) { <-release })
		p := planFor(addr)
		p.Connections, p.Interval, p.Schedule = 40, 10*time.Millisecond, []Ramp{{200, 200, 100 * time.Millisecond}}
		after := 0
		p.Tick = func(i *figures.Interval) {
			if i.AtNS < int64(100*time.Millisecond) {
				return
			}
			if after++; after == 5 {
				close(release)
			}
		}
		r := do(p)
		if after < 5 || r.Requests.Good != 20 || r.Seconds != .1 {
			t.Errorf("%d ticks after the end, %+v in %g s", after, r.Requests, r.Seconds)
		}
		var good int64
		for _, i := range r.Intervals {
			late := i.AtNS >= int64(100*time.Millisecond)
			if good += i.Good; late != (i.Rate == 0) || !late && i.Good > 0 {
				t.Errorf("%+v", i)
			}
		}
		if good != 20 {
			t.Errorf("the intervals have %d of 20 responses", good)
		}
	})
}

// TestOpeningIsTold proves that a run says how far it is while it opens its connections.
func TestOpeningIsTold(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := planFor(listen(t).Addr().String()) // nothing answers the handshake
	p.Targets[0].TLS = &tls.Config{InsecureSkipVerify: true}
	p.Duration = time.Minute
	p.Opening = func(open int) {
		if open != 0 {
			t.Errorf("%d connections are open", open)
		}
		cancel()
	}
	if r := runOn(t, ctx, p, newNetwork); !r.Interrupted || r.Requests.Sent != 0 {
		t.Errorf("%+v, interrupted: %t", r.Requests, r.Interrupted)
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
