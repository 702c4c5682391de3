package page

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/measure/figures"
)

// samples are runs that could have been, by name.
var samples = map[string]func() *figures.Run{
	"plain":     func() *figures.Run { return sampleRun(30) },
	"errors":    erringRun,
	"outage":    outageRun,
	"ramp":      rampRun,
	"urls":      urlsRun,
	"short":     shortRun,
	"long":      longRun,
	"unwatched": unwatchedRun,
	"hostile":   hostileRun,
}

// TestWriteSamples writes the samples to the folder that GALE_SAMPLES names, for tests in a
// browser.
func TestWriteSamples(t *testing.T) {
	dir := os.Getenv("GALE_SAMPLES")
	if dir == "" {
		t.Skip("GALE_SAMPLES is not set")
	}
	for name := range samples {
		if err := os.WriteFile(filepath.Join(dir, name+".html"), writtenSample(t, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "document.html"), writtenDocument(t, sampleDocument(t)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// random is the same in each run of the tests.
func random() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// durations returns a distribution with the given median and a tail.
func durations(r *rand.Rand, n int, median time.Duration) figures.Distribution {
	h := figures.NewHistogram()
	for range n {
		d := float64(median) * math.Exp(r.NormFloat64()*0.25)
		if r.Float64() < 0.004 {
			d *= 4 + 10*r.Float64()
		}
		h.Add(time.Duration(d))
	}
	d, err := h.Distribution(true)
	if err != nil {
		panic(err)
	}
	return d
}

// sampleRun returns a closed loop of so many seconds whose server was the limit.
func sampleRun(seconds int) *figures.Run {
	r := random()
	run := &figures.Run{
		Format:            figures.Format,
		Verdict:           figures.Verdict{Limit: figures.LimitServer, Text: "The server used 0.99 of its 1 core, and the generator waited for it: these are figures of the server.", Warnings: []string{"The kernel lists no frequency of the processor, so it is unknown whether it was throttled."}},
		RequestsPerSecond: 126_431.2,
		Tool:              "gale 1.0.0",
		Command:           []string{"gale", "bench", "http://127.0.0.1:8080/hello?name=a b", "-c", "64", "-d", "30s", "--pid", "4242"},
		Began:             time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
		Seconds:           float64(seconds),
		Machine:           figures.Machine{OS: "linux", Arch: "amd64", Kernel: "6.8.0", CPU: "Example CPU 3000 @ 2.50GHz", CPUs: 2, Allowed: 2, Cores: "0-1", GOMAXPROCS: 1, GoVersion: "go1.26.8", MemoryByte: 24 << 30},
		Settings:          figures.Settings{Protocol: "HTTP/1.1", Connections: 64, Threads: 1, Pipeline: 1, KeepAlive: true, DurationNS: int64(seconds) * 1e9, WarmUpNS: 2e9, TimeoutNS: 10e9, Expectations: []string{"status=200", "body~ok"}},
		Latency:           durations(r, 200_000, 480*time.Microsecond),
		Bytes:             figures.Bytes{Read: 512_345_678, Written: 123_456_789},
		Connections:       figures.Connections{Opened: 64, Connect: durations(r, 64, 90*time.Microsecond)},
		Generator:         figures.Generator{CPUSeconds: 24.2, CPUPerRequest: 6380, Busy: 0.81, Wait: durations(r, 10_000, 12*time.Microsecond), DelaySeconds: 0.4, GCPauses: 3, GCPauseMaxNS: 210_000, Others: 0.02},
		Server:            &figures.Server{PID: 4242, Command: "server --listen 127.0.0.1:8080", CPUSeconds: 29.6, CPUPerRequest: 7810, Allowed: 1, Cores: "0", Busy: 0.99, BusiestThread: 0.62, DelaySeconds: 0.3, MemoryByte: 31_200_000, MemoryBefore: 12_000_000, Threads: 7, Processes: 2, AllocsPerRequest: 1.5, AllocatedPerRequest: 210, Collections: 12, Goroutines: 70, HeapByte: 9_400_000, GoURL: "http://127.0.0.1:6060/debug/vars"},
	}
	total := int64(0)
	for i := -2; i < seconds; i++ {
		good := int64(126_000 + 4000*r.NormFloat64())
		run.Intervals = append(run.Intervals, sampleInterval(r, i, good))
		if i >= 0 {
			total += good
		}
	}
	run.Requests = figures.Requests{Sent: total, Good: total}
	run.Statuses = map[string]int64{"200": total}
	run.Targets = []figures.Target{{URL: "http://127.0.0.1:8080/hello", Method: "GET", Weight: 1, Requests: run.Requests, Latency: run.Latency}}
	return run
}

func sampleInterval(r *rand.Rand, second int, good int64) figures.Interval {
	p50 := 480e3 * math.Exp(r.NormFloat64()*0.05)
	i := figures.Interval{
		AtNS: int64(second) * 1e9, Seconds: 1, Good: good,
		P50NS: int64(p50), P90NS: int64(p50 * 1.5), P99NS: int64(p50 * (2 + r.Float64())), MaxNS: int64(p50 * (6 + 8*r.Float64())),
		GeneratorCPU: 0.8 + 0.04*r.Float64(), ServerCPU: 0.97 + 0.02*r.Float64(),
		ServerMemory: 28_000_000 + int64(3e6*r.Float64()), Others: 0.02, Goroutines: 70, HeapByte: 6_000_000 + int64(4e6*r.Float64()),
	}
	if second%11 == 7 {
		i.MaxNS *= 5
	}
	return i
}

// erringRun has no good response.
func erringRun() *figures.Run {
	run := sampleRun(20)
	run.Verdict = figures.Verdict{Limit: figures.LimitErrors, Text: "No request had a good response: look at the errors below."}
	run.RequestsPerSecond = 0
	run.Requests = figures.Requests{Sent: 1200, Failed: 1080, Unexpected: 120}
	run.Latency, run.Statuses = figures.Distribution{}, map[string]int64{"503": 120}
	run.Errors = []figures.ErrorCount{
		{Kind: "connect", Count: 1000, Example: "dial tcp 127.0.0.1:8080: connect: connection refused"},
		{Kind: "status", Count: 120, Example: "status 503, want 200"},
		{Kind: "timeout", Count: 80, Example: "no response within 10 s"},
	}
	run.Targets[0].Requests, run.Targets[0].Latency = run.Requests, run.Latency
	for i := range run.Intervals {
		in := &run.Intervals[i]
		*in = figures.Interval{AtNS: in.AtNS, Seconds: 1, Bad: 60, GeneratorCPU: 0.05, ServerCPU: 0.01, ServerMemory: in.ServerMemory,
			Errors: map[string]int64{"connect": 50, "status": 6, "timeout": int64(4 + i%3)}}
	}
	return run
}

// outageRun is a run whose server stops in the middle and refuses connections then.
func outageRun() *figures.Run {
	run := sampleRun(20)
	run.Verdict = figures.Verdict{Limit: figures.LimitErrors, Text: "The server stopped answering after 12.0 s: no good response came in the last 8 s."}
	run.Outages.Add(figures.Outage{AtNS: 3e9, Seconds: 1})
	run.Outages.Add(figures.Outage{AtNS: 12e9, Seconds: 8})
	run.Requests.Failed, run.Requests.NotConnected = 64, 640
	run.Requests.Sent += 64
	run.Errors = []figures.ErrorCount{{Kind: "connect", Count: 640, Example: "connection refused"}, {Kind: "reset", Count: 64, Example: "connection reset by peer"}}
	for i := range run.Intervals {
		if in := &run.Intervals[i]; in.AtNS == 3e9 || in.AtNS >= 12e9 {
			*in = figures.Interval{AtNS: in.AtNS, Seconds: 1, NotConnected: 80, GeneratorCPU: 0.05, ServerCPU: -1, Errors: map[string]int64{"connect": 80}}
		}
	}
	return run
}

// rampRun is an open loop of five steps, of which the server holds three.
func rampRun() *figures.Run {
	run, r := sampleRun(25), random()
	run.Verdict = figures.Verdict{Limit: figures.LimitRate, Text: "The rate was not held: 93.1% of the intended requests were sent. The server was busy from 12,000 a second on."}
	run.Settings.Rate = "4000,8000,12000,16000,20000"
	run.RequestsPerSecond = 10_912
	run.Schedule = &figures.Schedule{Intended: 300_000, Waited: 51_000, NotSent: 20_700, RateRatio: 0.931, Late: durations(r, 50_000, 30*time.Microsecond)}
	run.Intervals = run.Intervals[2:]
	run.Latency, run.Requests = figures.Distribution{}, figures.Requests{}
	all := figures.NewHistogram()
	for s := range 5 {
		rate := 4000 * float64(s+1)
		median, held := 300*time.Microsecond, 1.0
		if s > 2 {
			median, held = time.Duration(s)*150*time.Millisecond, 12800/rate
		}
		d := durations(r, 30_000, median)
		h, err := d.Decode()
		if err != nil {
			panic(err)
		}
		all.Merge(h)
		good := int64(rate * held * 5)
		q := figures.Requests{Sent: good, Good: good}
		run.Requests.Good += good
		run.Steps = append(run.Steps, figures.Step{AtNS: int64(s) * 5e9, Seconds: 5, Rate: rate, Requests: q, Latency: d, Late: durations(r, 10_000, 20*time.Microsecond*time.Duration(1+s*s))})
		for i := range 5 {
			in := &run.Intervals[5*s+i]
			*in = figures.Interval{AtNS: in.AtNS, Seconds: 1, Good: int64(rate * held), Rate: rate, P50NS: d.P50NS, P90NS: d.P90NS, P99NS: d.P99NS, MaxNS: d.MaxNS + int64(i)*1000, LateP99NS: 40_000 + int64(s*s)*30_000,
				GeneratorCPU: 0.1 * float64(s+1), ServerCPU: min(0.99, 0.3*float64(s+1)), ServerMemory: in.ServerMemory, Goroutines: 70 * (s + 1), HeapByte: in.HeapByte}
			if s == 4 {
				in.Errors, in.Bad = map[string]int64{"timeout": int64(20 * i)}, int64(20*i)
				run.Requests.Failed += in.Bad
			}
		}
	}
	run.Latency, _ = all.Distribution(true)
	run.Requests.Sent = run.Requests.Good + run.Requests.Failed
	run.Targets[0].Requests, run.Targets[0].Latency, run.Statuses["200"] = run.Requests, run.Latency, run.Requests.Good
	run.Errors = []figures.ErrorCount{{Kind: "timeout", Count: run.Requests.Failed, Example: "no response within 10 s"}}
	return run
}

// urlsRun has several URLs.
func urlsRun() *figures.Run {
	run, r := sampleRun(30), random()
	run.Targets = nil
	for i, url := range []string{"/", "/items?sort=price&order=descending&page=12", "/items/8134/reviews", "/search?q=a+longer+text+that+somebody+typed+into+a+field+to+find+something", "/login", "/static/app.js"} {
		run.Targets = append(run.Targets, figures.Target{URL: "https://shop.example" + url, Method: "GET", Weight: 6 - i,
			Requests: figures.Requests{Sent: 500_000, Good: 499_000 + int64(i*200), Failed: 1000 - int64(i*200)}, Latency: durations(r, 30_000, time.Duration(1+i*i)*200*time.Microsecond)})
	}
	run.Targets[4].Method = "POST"
	run.Settings.TLS, run.Settings.Protocol, run.Settings.Streams = true, "HTTP/2", 16
	run.Connections.TLS = durations(r, 64, 900*time.Microsecond)
	run.Requests.Failed = 3000
	run.Requests.Sent += 3000
	run.Errors = []figures.ErrorCount{{Kind: "reset", Count: 3000, Example: "stream error: REFUSED_STREAM"}}
	run.Intervals[20].Errors, run.Intervals[20].Bad = map[string]int64{"reset": 3000}, 3000
	return run
}

// shortRun has one interval.
func shortRun() *figures.Run {
	run := sampleRun(1)
	run.Intervals = run.Intervals[2:]
	run.Intervals[0].Seconds, run.Seconds = 0.2, 0.2
	run.Settings.WarmUpNS = 0
	return run
}

// longRun has an hour of intervals.
func longRun() *figures.Run {
	run := sampleRun(3600)
	for i := range run.Intervals {
		if i%400 == 9 {
			run.Intervals[i].Errors, run.Intervals[i].Bad = map[string]int64{"timeout": 12, "reset": 3}, 15
		}
	}
	run.Requests.Sent, run.Requests.Failed = run.Requests.Sent+135, 135
	return run
}

// unwatchedRun doesn't know its server's process, and the generator was the limit.
func unwatchedRun() *figures.Run {
	run := sampleRun(30)
	run.Server = nil
	run.Verdict = figures.Verdict{Limit: figures.LimitGenerator, Text: "The generator was the limit: its busiest loop was busy for 99.7% of the time. These figures describe the generator, not the server.", Warnings: []string{"Use more threads, or another machine for the generator."}}
	run.Generator.Busy = 0.997
	for i := range run.Intervals {
		in := &run.Intervals[i]
		in.ServerCPU, in.ServerMemory, in.Goroutines, in.HeapByte = -1, 0, 0, 0
	}
	return run
}

// hostile is text that tries to leave its place in a page.
const hostile = "</script><script>alert(1)</script><!--<script>\u2028\u2029\xff\xfe\"'`><img src=x onerror=alert(1)>{{.}}${1}&lt;\x00\x1b[31m\u202e"

// hostileRun has hostile text wherever a server or a user can put text, and as much of
// everything as there can be.
func hostileRun() *figures.Run {
	run, r := sampleRun(2000), random()
	long := ""
	for len(long) < 4000 {
		long += hostile
	}
	run.Verdict.Text, run.Verdict.Warnings = long, []string{long, hostile}
	run.Tool, run.Command = hostile, []string{"gale", "bench", hostile, "-H", "A: " + long}
	run.Machine = figures.Machine{OS: hostile, Arch: hostile, Kernel: hostile, CPU: hostile, GoVersion: hostile}
	run.Settings.Protocol, run.Settings.Rate, run.Settings.Expectations = hostile, hostile, []string{hostile, long}
	run.Schedule = &figures.Schedule{Intended: 1, Late: run.Latency}
	run.Server.Command, run.Server.GoURL = hostile, "javascript:alert(1)"
	run.Targets, run.Errors = nil, nil
	small := durations(r, 1000, time.Millisecond)
	for i := range 400 {
		run.Targets = append(run.Targets, figures.Target{URL: fmt.Sprint("javascript:", i, long), Method: hostile, Weight: 1, Requests: run.Requests, Latency: small})
		run.Errors = append(run.Errors, figures.ErrorCount{Kind: fmt.Sprint(i, hostile), Count: 1, Example: long})
		run.Statuses[fmt.Sprint(i, hostile)] = 1
		run.Steps = append(run.Steps, figures.Step{AtNS: int64(i) * 1e9, Seconds: 1, Rate: 1000, Requests: run.Requests, Latency: small, Late: small})
	}
	for i := range run.Intervals {
		run.Intervals[i].Errors = map[string]int64{}
		for k := range 20 {
			run.Intervals[i].Errors[fmt.Sprint(k, hostile)] = int64(k * 1000)
		}
		run.Intervals[i].Bad = 1
	}
	return run
}

// sampleDocument is a report that compares servers.
func sampleDocument(t *testing.T) *Document {
	r := random()
	chart, err := Percentiles("Latency at 20,000 a second", "One of n requests was slower than the line.", []Named{
		{"alpha", durations(r, 50_000, 400*time.Microsecond)}, {"beta", durations(r, 50_000, 700*time.Microsecond)},
		{"gamma", durations(r, 50_000, 500*time.Microsecond)}, {"delta", durations(r, 50_000, 900*time.Microsecond)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &Document{
		Title:   "Four servers",
		Lead:    "4 March 2026 · 7 rounds · 2 cores",
		Verdict: Verdict{Tone: Good, Word: "3 of 4 servers are ranked", Text: "The figures of delta describe the generator.", Notes: []string{"No server was pinned."}},
		Numbers: []Number{{Name: "Scenarios", Value: "1"}, {Name: "Rounds", Value: "7"}},
		Sections: []Section{{
			Title: "hello",
			Text:  []string{"A response of 13 bytes."},
			Parts: []Part{
				&Bars{Title: "Server CPU per request", Tip: "Ratio to alpha, the median of 7 rounds, with its range. Shorter is better.", Unit: Ratio, Baseline: 1, BaselineName: "alpha", Rows: []Bar{
					{Name: "alpha", Value: 1, Low: 0.97, High: 1.04},
					{Name: "beta with a name that is longer than the others", Value: 1.62, Low: 1.55, High: 1.71},
					{Name: "gamma", Value: 0.93, Low: 0.91, High: 0.97},
					{Name: "delta", Value: 1.2, Low: 0.7, High: 2.4, Mark: "not ranked: the generator was the limit"},
				}},
				&Table{Title: "Throughput", Columns: []Column{{Title: "Server", Left: true}, {Title: "Per second"}, {Title: "p99"}}, Rows: []Row{
					{Cells: []Cell{{Text: "alpha"}, {Text: "120,000", Note: "118,000 to 123,000"}, {Text: "1.20 ms"}}},
					{Cells: []Cell{{Text: "delta"}, {Text: "90,000", Tone: Caution}, {Text: "9.10 ms"}}, Mark: "not ranked: the generator was the limit"},
				}},
				chart,
			},
		}},
	}
}
