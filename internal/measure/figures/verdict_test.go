package figures

import (
	"strings"
	"testing"
	"time"
)

// TestJudge has a row for each case that a verdict must tell from others.
func TestJudge(t *testing.T) {
	tests := []struct {
		name string
		open bool
		set  func(*Run)
		want Limit
		code int
		text string // part of the text
	}{
		// A closed loop with a watched server.
		{"server full", false, func(*Run) {}, LimitServer, 0, "it used 0.98 of its 1 core, while the generator's busiest loop waited 40 %"},
		{"server and generator full, pinned apart", false, func(r *Run) { r.Generator.Busy, r.Generator.CPUSeconds = 0.97, 4.8 }, LimitServer, 0, "0.98 of its 1 core"},
		{"one thread of a server with two cores full", false, func(r *Run) {
			r.Server.Allowed, r.Server.Busy, r.Server.BusiestThread, r.Server.Cores = 2, 0.5, 0.99, "0,2"
			r.Machine.CPUs = 4
		}, LimitServer, 0, "its busiest thread ran 99"},
		{"slow server", false, func(r *Run) {
			r.Server.CPUSeconds, r.Server.Busy, r.Generator.Busy, r.Generator.CPUSeconds = 0.1, 0.02, 0.01, 0.05
		}, LimitServer, 0, "not by its CPU time"},
		{"few connections, both wait for each other", false, func(r *Run) {
			r.Server.CPUSeconds, r.Server.Busy, r.Generator.Busy, r.Generator.CPUSeconds = 2.5, 0.5, 0.45, 2.1
		}, LimitServer, 0, "more connections"},
		{"server nearly full", false, func(r *Run) { r.Server.Busy, r.Server.CPUSeconds, r.Server.BusiestThread = 0.85, 4.25, 0.85 }, LimitServer, 0, "0.85 of its 1 core"},
		{"generator full", false, func(r *Run) {
			r.Generator.Busy, r.Generator.CPUSeconds, r.Server.Busy, r.Server.CPUSeconds = 0.98, 4.8, 0.5, 2.5
		}, LimitGenerator, 3, "busiest loop worked 98 % of the time, while the server used 0.50 of its 1 core"},
		{"generator sleeps", false, func(r *Run) {
			r.Generator.Busy, r.Generator.CPUSeconds, r.Server.Busy, r.Server.CPUSeconds = 0.99, 1.2, 0.2, 1
		}, LimitGenerator, 3, "it was held up inside"},
		{"generator sleeps on a noisy machine", false, func(r *Run) {
			r.Generator.Busy, r.Generator.CPUSeconds, r.Generator.DelaySeconds, r.Generator.Others = 0.99, 1, 1.2, 0.4
			r.Server.Busy, r.Server.CPUSeconds = 0.2, 1
		}, LimitGenerator, 3, "it was held up inside"},
		{"generator sleeps, waits for cores unknown", false, func(r *Run) {
			r.Generator.Busy, r.Generator.CPUSeconds, r.Generator.DelaySeconds, r.Server.Busy, r.Server.CPUSeconds = 0.99, 1.2, -1, 0.2, 1
		}, LimitGenerator, 3, "worked 99 %"},
		{"generator sleeps with one connection", false, func(r *Run) {
			r.Generator.Busy, r.Generator.CPUSeconds, r.Server.CPUSeconds, r.Server.Busy = 0.7, 1, 1, 0.2
		}, LimitGenerator, 3, "was held up inside"},
		{"one of two loops works", false, func(r *Run) {
			r.Settings.Threads, r.Generator.Busy, r.Generator.CPUSeconds, r.Server.CPUSeconds, r.Server.Busy = 2, 0.7, 3.5, 1, 0.2
		}, LimitServer, 0, ""},
		{"generator is stolen from", false, func(r *Run) {
			r.Generator.Busy, r.Generator.CPUSeconds, r.Generator.Stolen = 0.9, 2.5, 0.2
		}, LimitNoise, 5, "hypervisor"},
		{"slow server on a busy machine", false, func(r *Run) {
			r.Server.CPUSeconds, r.Server.Busy, r.Generator.Busy, r.Generator.CPUSeconds, r.Generator.Others = 0.1, 0.02, 0.05, 0.05, 0.5
		}, LimitServer, 0, ""},
		{"both on two common cores", false, func(r *Run) {
			r.Machine.Cores, r.Server.Cores, r.Server.Allowed = "0-1", "0-1", 2
			r.Generator.Busy, r.Generator.CPUSeconds, r.Generator.DelaySeconds = 0.97, 4.5, 0.3
			r.Server.CPUSeconds, r.Server.Busy, r.Server.DelaySeconds = 5, 0.5, 2
		}, LimitShared, 3, "wanted the same cores"},
		{"both on one core", false, func(r *Run) {
			r.Machine.Cores, r.Server.Cores = "0", "0"
			r.Generator.Busy, r.Generator.CPUSeconds, r.Generator.DelaySeconds = 0.99, 2.2, 2.6
			r.Server.CPUSeconds, r.Server.Busy, r.Server.DelaySeconds = 2.7, 0.54, 2
		}, LimitShared, 3, "wanted the same cores"},
		{"heavy server on common cores", false, func(r *Run) {
			r.Machine.Cores, r.Server.Cores, r.Server.Allowed = "0-1", "0-1", 2
			r.Generator.Busy, r.Generator.CPUSeconds = 0.1, 0.3
			r.Server.CPUSeconds, r.Server.Busy = 9.6, 0.96
		}, LimitServer, 0, "1.92 of its 2 cores"},
		{"sleeping generator on common cores", false, func(r *Run) {
			r.Machine.Cores, r.Server.Cores, r.Server.Allowed = "0-1", "0-1", 2
			r.Generator.Busy, r.Generator.CPUSeconds, r.Server.CPUSeconds, r.Server.Busy = 0.99, 1, 1, 0.1
		}, LimitGenerator, 3, "held up"},

		// Noise.
		{"others on scarce cores", false, func(r *Run) { r.Generator.Others, r.Server.Busy, r.Server.CPUSeconds = 0.3, 0.7, 3.5 }, LimitNoise, 5, "other processes used 30 %"},
		{"others on spare cores", false, func(r *Run) {
			r.Generator.Others, r.Machine.CPUs = 0.3, 16
			r.Generator.DelaySeconds, r.Server.DelaySeconds = 0.01, 0.01
		}, LimitServer, 0, ""},
		{"stolen", false, func(r *Run) { r.Generator.Stolen = 0.08 }, LimitNoise, 5, "hypervisor took 8 %"},
		{"uneven while others ran", false, func(r *Run) { r.Intervals, r.Generator.Others = steady(20, 24_000, 0.3), 0.06 }, LimitNoise, 5, "the rate varied by"},
		{"uneven by itself", false, func(r *Run) { r.Intervals = steady(20, 24_000, 0.3) }, LimitServer, 0, ""},
		{"a pause of a local server that isn't watched", false, func(r *Run) {
			r.Intervals, r.Server, r.Generator.Busy = steady(20, 24_000, 0), nil, 0.4
			for i := range r.Intervals {
				if i%5 == 4 {
					r.Intervals[i].Good /= 5
				}
			}
			r.Latency.P99NS, r.Latency.MaxNS, r.Generator.Others = 700e6, 800e6, -1
		}, LimitServer, 0, "or the network"},
		{"a pause that is too short for it", false, func(r *Run) {
			r.Intervals, r.Server, r.Generator.Others, r.Latency.MaxNS = steady(20, 24_000, 0.4), nil, -1, 200e6
		}, LimitNoise, 5, "isn't known"},
		{"responses in bursts, while cores were left", false, func(r *Run) {
			r.Intervals, r.Server, r.Generator.Busy, r.Generator.CPUSeconds, r.Generator.DelaySeconds = steady(20, 16, 2), nil, 0.01, 0.05, 0
			r.Latency = distribution(t, 320, time.Second, 1200*time.Millisecond, true)
			for i := range r.Intervals {
				r.Intervals[i].GeneratorCPU, r.Intervals[i].ServerCPU = 0.01, -1
			}
		}, LimitServer, 0, "or the network"},
		{"responses in bursts, while another process used all cores at times", false, func(r *Run) {
			r.Intervals, r.Server, r.Generator.Others = steady(20, 24_000, 0), nil, 0.4
			for i := range r.Intervals {
				if i%2 == 1 {
					r.Intervals[i].Good /= 3
					r.Intervals[i].Others = 0.9
				}
			}
		}, LimitNoise, 5, "isn't known"},
		{"a pause while others used a little", false, func(r *Run) {
			r.Intervals, r.Generator.Others, r.Latency.MaxNS, r.Machine.CPUs = steady(20, 24_000, 0.3), 0.06, 800e6, 16
		}, LimitServer, 0, ""},
		{"a pause while others used all", false, func(r *Run) {
			r.Intervals, r.Generator.Others, r.Latency.MaxNS, r.Generator.DelaySeconds = steady(20, 24_000, 0.3), 0.06, 800e6, 1
		}, LimitNoise, 5, "the rate varied by"},
		{"a pause of another machine's server", false, func(r *Run) {
			r.Intervals, r.Server, r.Settings.Local, r.Latency.MaxNS, r.Generator.Others = steady(20, 24_000, 0.4), nil, false, 800e6, -1
		}, LimitNoise, 5, "isn't known"},
		{"uneven, nothing known", false, func(r *Run) {
			r.Intervals, r.Server, r.Generator.Others, r.Generator.Stolen, r.Generator.DelaySeconds = steady(20, 24_000, 0.4), nil, -1, -1, -1
		}, LimitNoise, 5, "isn't known"},

		// A closed loop without a watched server.
		{"not watched, generator waits", false, func(r *Run) { r.Server, r.Generator.Others = nil, 0.3 }, LimitServer, 0, "or the network"},
		{"not watched, generator full", false, func(r *Run) {
			r.Server, r.Generator.Busy, r.Generator.CPUSeconds, r.Generator.Others = nil, 0.97, 4.8, 0.2
		}, LimitGenerator, 3, "worked 97 %"},
		{"not watched, machine full", false, func(r *Run) {
			r.Server, r.Generator.Busy, r.Generator.CPUSeconds, r.Generator.Others = nil, 0.97, 4.5, 0.5
		}, LimitShared, 3, "wanted the same cores: 95 % of all was used, 0.90 cores by the generator"},
		{"another machine's, generator waits", false, func(r *Run) { r.Server, r.Settings.Local = nil, false }, LimitServer, 0, "or the network"},
		{"another machine's, others here", false, func(r *Run) {
			r.Server, r.Settings.Local, r.Generator.Others, r.Generator.DelaySeconds = nil, false, 0.5, 2
		}, LimitNoise, 5, "other processes"},
		{"only its runtime is read", false, func(r *Run) { r.Server = &Server{GoURL: "http://x/debug/vars"} }, LimitServer, 0, "or the network"},

		{"too short", false, func(r *Run) { r.Seconds, r.Generator.Busy, r.Generator.CPUSeconds = 0.001, 0.999, 0.0004 }, LimitNoise, 5,
			"Too noisy to tell: the run took only 1.00 ms. Send more requests (-n), or for longer (-d)."},
		{"short, but held", true, func(r *Run) { r.Seconds = 0.01 }, LimitNone, 0, "was held"},

		// Errors.
		{"none answered", false, func(r *Run) { r.Requests, r.Errors, r.Seconds = Requests{Sent: 64, Unanswered: 64}, nil, 2 }, LimitErrors, 6,
			"None of 64 requests had a good response: within 2 s there was no complete one."},
		{"none good", false, func(r *Run) {
			r.Requests, r.Errors = Requests{Sent: 10, Failed: 10}, []ErrorCount{{"timeout", 2, "a"}, {"reset", 8, "connection reset."}}
		}, LimitErrors, 6, "The most frequent error was reset, 8 times: connection reset."},
		{"nothing sent", false, func(r *Run) { r.Requests = Requests{} }, LimitErrors, 6, "No request was counted"},
		{"none connected", false, func(r *Run) { r.Requests, r.Errors = Requests{}, []ErrorCount{{"connect", 9, "refused"}} }, LimitErrors, 6, "connect, 9 times: refused"},

		// An open loop.
		{"held", true, func(*Run) {}, LimitNone, 0, "The rate was held: 5,000 of 5,000"},
		{"held, not watched", true, func(r *Run) { r.Server = nil }, LimitNone, 0, "at p99."},
		{"held on a busy machine", true, func(r *Run) { r.Generator.Others = 0.9 }, LimitNone, 0, ""},
		{"held with a stalled server", true, func(r *Run) {
			r.Latency.P99NS, r.Schedule.Late.P99NS, r.Schedule.Waited = 950e6, 900e6, 500
		}, LimitNone, 0, ""},
		{"server too slow", true, func(r *Run) {
			r.Schedule.RateRatio, r.Requests.Sent, r.Requests.Good, r.Schedule.Waited = 0.8, 4000, 4000, 4800
		}, LimitRate, 4, "answered too slowly for 64 connections"},
		{"server full", true, func(r *Run) {
			r.Schedule.RateRatio, r.Requests.Sent, r.Requests.Good, r.Schedule.Waited = 0.8, 4000, 4000, 4800
			r.Server.CPUSeconds, r.Server.Busy = 4.95, 0.99
		}, LimitRate, 4, "The server was at its limit: it used 0.99 of its 1 core"},
		{"sent but not answered", true, func(r *Run) {
			for i := range r.Intervals {
				r.Intervals[i].Good = 700
			}
		}, LimitRate, 4, "only 70 % of the rate was answered"},
		{"generator full", true, func(r *Run) {
			r.Schedule.RateRatio, r.Generator.Busy, r.Generator.CPUSeconds = 0.7, 0.99, 4.9
		}, LimitGenerator, 3, "worked 99 %"},
		{"generator sleeps", true, func(r *Run) {
			r.Schedule.RateRatio, r.Generator.Busy, r.Generator.CPUSeconds = 0.7, 0.99, 1
		}, LimitGenerator, 3, "held up"},
		{"generator sleeps, starts are late only", true, func(r *Run) {
			r.Generator.Late.P99NS, r.Latency.P99NS, r.Generator.Busy, r.Generator.CPUSeconds = 5e6, 6e6, 0.95, 1
		}, LimitGenerator, 3, "The latencies are not the server's"},
		{"generator sleeps a little for each start", true, func(r *Run) { // 100 us for each of 1,000 a second
			r.Generator.Late.P50NS, r.Latency.P50NS, r.Generator.Busy, r.Generator.CPUSeconds = 100e3, 160e3, 0.125, 0.15
		}, LimitGenerator, 3, "it was held up inside for 94.8 µs for each start"},
		{"generator sleeps in two loops", true, func(r *Run) {
			r.Settings.Threads, r.Generator.Late.P50NS, r.Latency.P50NS, r.Generator.Busy, r.Generator.CPUSeconds = 2, 100e3, 160e3, 0.07, 0.15
		}, LimitGenerator, 3, "held up inside"},
		{"half late, which doesn't matter", true, func(r *Run) {
			r.Generator.Late.P50NS, r.Latency.P50NS, r.Generator.Busy, r.Generator.CPUSeconds = 100e3, 5e6, 0.125, 0.15
		}, LimitNone, 0, ""},
		{"half late by the kernel's timers", true, func(r *Run) { r.Generator.Late.P50NS, r.Latency.P50NS = 100e3, 160e3 }, LimitGenerator, 3, "timers are coarse"},
		{"half late on a noisy machine", true, func(r *Run) {
			r.Generator.Late.P50NS, r.Latency.P50NS, r.Generator.Others, r.Generator.DelaySeconds = 100e3, 160e3, 0.5, 1
		}, LimitNoise, 5, "other processes"},
		{"half late on common cores", true, func(r *Run) {
			r.Generator.Late.P50NS, r.Latency.P50NS, r.Machine.Cores, r.Server.Cores, r.Server.Allowed = 100e3, 160e3, "0-1", "0-1", 2
			r.Generator.Busy, r.Generator.CPUSeconds, r.Server.CPUSeconds, r.Server.Busy = 0.5, 2.5, 6.5, 0.65
		}, LimitShared, 3, "wanted the same cores"},
		{"half late by work", true, func(r *Run) {
			r.Generator.Late.P50NS, r.Latency.P50NS, r.Generator.Busy, r.Generator.CPUSeconds = 100e3, 160e3, 0.95, 4.9
		}, LimitGenerator, 3, "worked 95 %"},
		{"starts late on a noisy machine", true, func(r *Run) {
			r.Generator.Late.P99NS, r.Latency.P99NS, r.Generator.Others, r.Generator.DelaySeconds = 5e6, 6e6, 0.5, 1
		}, LimitNoise, 5, "other processes"},
		{"starts late for an unknown reason", true, func(r *Run) { r.Generator.Late.P99NS, r.Latency.P99NS = 5e6, 6e6 }, LimitNoise, 5, "kept it from its cores"},
		{"late starts that don't matter", true, func(r *Run) { r.Generator.Late.P99NS, r.Latency.P99NS = 5e6, 100e6 }, LimitNone, 0, ""},
		{"not held on a noisy machine", true, func(r *Run) {
			r.Schedule.RateRatio, r.Generator.Others, r.Generator.DelaySeconds, r.Generator.Busy = 0.8, 0.6, 2, 0.6
		}, LimitNoise, 5, "too noisy to tell why"},
		{"not held on common cores", true, func(r *Run) {
			r.Schedule.RateRatio, r.Machine.Cores, r.Server.Cores, r.Server.Allowed = 0.8, "0-1", "0-1", 2
			r.Generator.Busy, r.Generator.CPUSeconds, r.Server.CPUSeconds, r.Server.Busy = 0.8, 3.5, 6, 0.6
		}, LimitShared, 3, "wanted the same cores"},
		{"a ramp", true, func(r *Run) {
			r.Schedule.RateRatio, r.Schedule.Waited = 0.8, 4800
			r.Steps = []Step{{Seconds: 1, Rate: 1000, Requests: Requests{Good: 1000}}, {Seconds: 1, Rate: 2000, Requests: Requests{Good: 1990}}, {Seconds: 1, Rate: 3000, Requests: Requests{Good: 2000}}}
		}, LimitRate, 4, "It was held up to the step of 2,000 requests/s."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			run := closedRun(t)
			if tt.open {
				run = openRun(t)
			}
			tt.set(run)
			v := Judge(run)
			if v.Limit != tt.want || v.ExitCode() != tt.code || !strings.Contains(v.Text, tt.text) {
				t.Errorf("verdict is %q, code %d: %s\nwant %q, code %d: %s", v.Limit, v.ExitCode(), v.Text, tt.want, tt.code, tt.text)
			}
			if !strings.HasSuffix(v.Text, ".") || strings.Contains(v.Text, "..") || strings.Contains(v.Text, "unknown") {
				t.Errorf("the text is %q", v.Text)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	tests := []struct {
		name string
		open bool
		set  func(*Run)
		want string // "" for none at all
	}{
		{"none", false, func(*Run) {}, ""},
		{"interrupted", false, func(r *Run) { r.Interrupted, r.Seconds = true, 2.5 }, "The run was ended early, after 2.50 s of 5 s."},
		{"interrupted count", false, func(r *Run) { r.Interrupted, r.Settings.DurationNS, r.Settings.Count = true, 0, 1e6 }, "after 5 s and 123,456 of 1,000,000 requests"},
		{"too short", false, func(r *Run) { r.Settings.DurationNS = 10e9 }, "Only 5 s of 10 s"},
		{"short", false, func(r *Run) { r.Seconds, r.Settings.DurationNS = 0.5, 5e8 }, "The run took only 500 ms"},
		{"some bad", false, func(r *Run) { r.Requests.Failed, r.Errors = 1234, []ErrorCount{{Kind: "timeout", Count: 1234}} }, "1,234 of 124,689 requests had no good response (1.0 %), most of them by: timeout."},
		{"left out", false, func(r *Run) { r.Requests.Failed = 1234 }, "leave out 1,234 failed requests"},
		{"unanswered", false, func(r *Run) { r.Requests.Unanswered = 5000 }, "5,000 requests had no response yet"},
		{"statuses", false, func(r *Run) { r.Statuses["503"] = 7 }, "200: 123,455, 503: 7"},
		{"reopened", false, func(r *Run) { r.Connections.Reopened = 1000 }, "reopened 1,000 times, once per 123 requests"},
		{"reopened often", false, func(r *Run) { r.Connections.Reopened = r.Requests.Sent - 64 }, "reopened 123,392 times, once after each request."},
		{"reopened unused", false, func(r *Run) { r.Connections.Reopened = 2 * r.Requests.Sent }, "reopened 246,912 times, more often than there were requests."},
		{"few", false, func(r *Run) { r.Latency.Count = 900 }, "900 responses are too few for p99 and above"},
		{"few for the tail", false, func(r *Run) { r.Latency.Count = 9000 }, "too few for p99.9"},
		{"stall", false, func(r *Run) {
			h := NewHistogram()
			for i := range 100_000 {
				h.Add(time.Millisecond)
				if i%1500 == 0 {
					h.Add(time.Second)
				}
			}
			r.Latency, _ = h.Distribution(true)
		}, "A response took 1.00 s, far more than p99. A closed loop sends nothing while it waits, so only 67 of 100,067 responses took"},
		{"fewer streams", false, func(r *Run) { r.Connections.Streams, r.Settings.Streams = 1, 100 }, "The server allows 1 stream at a time on a connection, and 100 were asked for."},
		{"fewer requests", false, func(r *Run) { r.Settings.Count, r.Settings.DurationNS = 200_000, 0 }, "Only 123,456 of 200,000 requests were sent: there was no connection anymore."},
		{"stall without a histogram", false, func(r *Run) { r.Latency.MaxNS, r.Latency.Histogram = 1e9, "" }, "so few responses took"},
		{"read late", false, func(r *Run) { r.Generator.Wait = Distribution{P99NS: 15e5} }, "waited up to 1.50 ms"},
		{"collector", false, func(r *Run) { r.Generator.GCPauseMaxNS = 3e6 }, "paused it for up to 3.00 ms"},
		{"late", true, func(r *Run) { r.Schedule.Late.P99NS, r.Schedule.Late.MaxNS = 2e6, 9e6 }, "Starts were late by 2.00 ms at p99, and by 9.00 ms at most, for whichever reason: the generator's own lateness was 59.4 µs at p99."},
		{"given up", true, func(r *Run) { r.Requests.Good, r.Requests.Failed, r.Latency.Count = 400, 600, 1000 }, "600 of the latencies are of requests without a response: they count until these were given up."},
		{"few requests", true, func(r *Run) { r.Requests.Good, r.Requests.Failed, r.Latency.Count = 40, 60, 100 }, "100 requests are too few for p99 and above."},
		{"half late", true, func(r *Run) { r.Generator.Late.P50NS, r.Latency.P50NS = 60e3, 160e3 }, "The generator's own lateness was 60.0 µs or more for half of the requests."},
		{"no connection", true, func(r *Run) { r.Schedule.Waited = 1000 }, "1,000 of 5,000 starts had to wait"},
		{"both full", false, func(r *Run) { r.Generator.Busy = 0.97 }, "had little time left as well"},
		{"memory", false, func(r *Run) { r.Intervals[4].ServerMemory = 90e6 }, "memory grew from 20.0 MB to 90.0 MB"},
		{"others", false, func(r *Run) { r.Generator.Others = 0.06 }, "Other processes used 6 %"},
		{"stolen", false, func(r *Run) { r.Generator.Stolen = 0.02 }, "hypervisor took 2 %"},
		{"uneven", false, func(r *Run) { r.Intervals = steady(20, 24_000, 0.3) }, "The rate varied by"},
		{"falling", false, func(r *Run) {
			for i := range r.Intervals {
				r.Intervals[i].Good = int64(30_000 - 2000*i)
			}
		}, "The rate fell by 27 %"},
		{"falling to nothing", false, func(r *Run) {
			for i, n := range []int64{60_000, 40_000, 500, 0, 0, 0} {
				if i == len(r.Intervals) {
					r.Intervals = append(r.Intervals, r.Intervals[0])
				}
				r.Intervals[i].Good = n
			}
		}, "The rate fell by 100 % during the run."},
		{"falling by chance", false, func(r *Run) {
			r.Requests = Requests{Sent: 23, Good: 23}
			for i := range r.Intervals {
				r.Intervals[i].Good = int64(6 - i%2*2 - i/2)
			}
		}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			run := closedRun(t)
			if tt.open {
				run = openRun(t)
				run.Latency.Count = 1e6
			}
			tt.set(run)
			got := strings.Join(Judge(run).Warnings, "\n")
			if tt.open && strings.Contains(got, "leave") {
				t.Errorf("warnings are %q: an open loop leaves no request out", got)
			}
			if !strings.Contains(got, tt.want) || tt.want == "" && got != "" {
				t.Errorf("warnings are %q, want %q", got, tt.want)
			}
		})
	}
}

// failing returns what sets the outcomes of a run's requests and the errors.
func failing(q Requests, errors ...ErrorCount) func(*Run) {
	return func(r *Run) {
		q.Sent = q.Good + q.Unexpected + q.Failed + q.Unanswered
		r.Requests, r.Errors = q, errors
		if r.Schedule != nil {
			r.Schedule.Intended = q.Sent
		}
	}
}

// silent returns what sets the outages of a run.
func silent(list ...Outage) func(*Run) {
	return func(r *Run) {
		for _, o := range list {
			r.Outages.Add(o)
		}
	}
}

// TestFailuresDecide shows that failures and outages set the same verdict in both loops, before
// all else, from the same share on, and that the text says what happened.
func TestFailuresDecide(t *testing.T) {
	status := ErrorCount{"status", 1000, "status 500 instead of 2xx,3xx"}
	refused := ErrorCount{"connect", 80, "connection refused"}
	noisy := func(r *Run) {
		r.Generator.Others, r.Generator.DelaySeconds, r.Generator.Stolen = 0.6, 2, 0.3
		r.Intervals = steady(20, 24_000, 0.5)
	}
	all := func(set ...func(*Run)) func(*Run) {
		return func(r *Run) {
			for _, s := range set {
				s(r)
			}
		}
	}
	tests := []struct {
		name    string
		set     func(*Run)
		fails   bool
		text    string
		warning string
	}{
		{"half is wrong", failing(Requests{Good: 1000, Unexpected: 1000}, status), true,
			"1,000 of 2,000 requests had no good response (50 %). The most frequent error was status, 1,000 times: status 500 instead of 2xx,3xx.", ""},
		{"half is wrong on a noisy machine", all(noisy, failing(Requests{Good: 1000, Unexpected: 1000}, status)), true, "1,000 of 2,000 requests had no good response (50 %).", ""},
		{"half is wrong, the generator sleeps", all(func(r *Run) { r.Generator.Busy, r.Generator.CPUSeconds = 0.99, 1 }, failing(Requests{Good: 1, Unexpected: 1}, status)), true, "1 of 2 requests", ""},
		{"1 %", failing(Requests{Good: 9900, Unexpected: 60, Failed: 40}, status), false, "", "100 of 10,000 requests had no good response (1 %), most of them by: status."},
		{"over 1 %", failing(Requests{Good: 9900, Unexpected: 60, Failed: 41}, status), true, "101 of 10,001 requests", ""},
		{"under 1 %, with connects", failing(Requests{Good: 9900, Failed: 8, NotConnected: 80}, refused), false, "",
			"88 of 9,988 attempts had no good response (0.9 %): 8 requests, and 80 attempts to connect, most of them by: connect."},
		{"over 1 % with connects only", failing(Requests{Good: 5000, NotConnected: 80}, refused), true,
			"80 of 5,080 attempts had no good response (1.6 %): 0 requests, and 80 attempts to connect. The most frequent error was connect, 80 times: connection refused.", ""},
		{"in flight at the end is no failure", failing(Requests{Good: 1000, Unanswered: 64}), false, "", ""},
		{"it dies", silent(Outage{1.5e9, 3.5}), true, "The server stopped answering after 1.50 s: no good response came in the last 3.50 s.", ""},
		{"it dies on a noisy machine", all(noisy, silent(Outage{1.5e9, 3.5})), true, "The server stopped answering after 1.50 s", ""},
		{"it dies, and all waits", all(failing(Requests{Good: 1000, Unanswered: 64}), silent(Outage{1.5e9, 3.5})), true, "64 requests waited for a response until the end.", ""},
		{"it dies, and its process is known", all(func(r *Run) { r.Server.Ended = true }, silent(Outage{1.5e9, 3.5})), true,
			"The server's process ended during the run. The server stopped answering after 1.50 s", ""},
		{"its process ends", func(r *Run) { r.Server.Ended = true }, false, "The server's process ended during the run. The ", ""},
		{"it returns", silent(Outage{1.5e9, 1.5}), true, "The server stopped answering for 1.50 s of 5 s: no good response came from 1.50 s on.", ""},
		{"it pauses", silent(Outage{1e9, 1}, Outage{3e9, 1.25}), true, "The server stopped answering 2 times, for 2.25 s of 5 s, the longest time for 1.25 s.", ""},
		{"it pauses and dies", silent(Outage{1e9, 1}, Outage{3e9, 2}), true, "The server stopped answering 2 times, for 3 s of 5 s; after 3 s no good response came any more.", ""},
		{"its answers come late", silent(Outage{0, 5}), true, "The server didn't answer: no good response came in 5 s.", ""},
		{"a document without a list", func(r *Run) { r.Outages = Outages{Count: 1, Seconds: 2} }, true, "", ""},
	}
	for _, tt := range tests {
		for _, run := range []*Run{closedRun(t), openRun(t)} {
			name := map[bool]string{false: "closed: ", true: "open: "}[run.Schedule != nil] + tt.name
			tt.set(run)
			v := Judge(run)
			if tt.fails != (v.Limit == LimitErrors) || tt.fails != (v.ExitCode() == 6) || !strings.Contains(v.Text, tt.text) {
				t.Errorf("%s: the verdict is %q, code %d: %s\nwant %q", name, v.Limit, v.ExitCode(), v.Text, tt.text)
			}
			if got := strings.Join(v.Warnings, "\n"); !strings.Contains(got, tt.warning) || tt.warning == "" && strings.Contains(got, "no good response") {
				t.Errorf("%s: the warnings are %q, want %q", name, got, tt.warning)
			}
			if strings.Contains(v.Text, "was the limit") && tt.fails || strings.Contains(v.Text, "-c") && tt.fails || strings.Contains(v.Text, "..") {
				t.Errorf("%s: the text is %q", name, v.Text)
			}
		}
	}
}

// TestChange shows that a rate falls by 100 % at most, whatever came before.
func TestChange(t *testing.T) {
	for _, tt := range []struct {
		rates []int64
		want  float64
	}{
		{[]int64{100, 100, 100, 100, 100}, 0},
		{[]int64{100, 0, 0, 0, 0}, -1},
		{[]int64{100, 100, 90, 20, 0, 0}, -1},
		{[]int64{100, 100, 100, 100, 50, 50}, -0.5},
		{[]int64{10, 10, 10, 10, 40, 40}, 3},
		{[]int64{0, 0, 10, 10, 40, 40}, 0},
		{[]int64{100, 0}, 0},
	} {
		in := make([]Interval, len(tt.rates))
		for i, n := range tt.rates {
			in[i] = Interval{Seconds: 1, Good: n}
		}
		if got := change(in); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.rates, got, tt.want)
		}
	}
}

// TestSpread shows that chance and a trend are no spread.
func TestSpread(t *testing.T) {
	trend := steady(20, 10_000, 0)
	for i := range trend {
		trend[i].Good += int64(100 * i)
	}
	few := steady(20, 10, 0)
	for i := range few {
		few[i].Good += int64(i%3) - 1
	}
	tests := []struct {
		name      string
		in        []Interval
		low, high float64
	}{
		{"even", steady(20, 10_000, 0), 0, 0},
		{"10 %", steady(200, 10_000, 0.1), 0.08, 0.12},
		{"a trend", trend, 0, 0.001},
		{"chance", few, 0, 0.05},
		{"too few", steady(4, 10_000, 0.1), -1, -1},
		{"nothing", make([]Interval, 10), -1, -1},
	}
	for _, tt := range tests {
		if got, _ := spread(tt.in); got < tt.low || got > tt.high {
			t.Errorf("%s: spread is %v, want %v to %v", tt.name, got, tt.low, tt.high)
		}
	}
}

func TestCores(t *testing.T) {
	tests := []struct{ in, want string }{
		{"0", "0"}, {"0-1,3", "0-1,3"}, {"3,1,2", "1-3"}, {"5-5", "5"}, {"", ""}, {"x", ""}, {"2-1", ""}, {"0-99999999", ""}, {"-1", ""}, {"1,", ""},
	}
	for _, tt := range tests {
		if got := ParseCores(tt.in).String(); got != tt.want {
			t.Errorf("ParseCores(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}
