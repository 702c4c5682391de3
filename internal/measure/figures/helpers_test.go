package figures

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files of testdata")

// golden compares got with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (run the test with -update if it should):\ngot\n%s\nwant\n%s", name, got, want)
	}
}

// distribution returns the distribution of n durations, evenly from one to the other.
func distribution(t testing.TB, n int, from, to time.Duration, whole bool) Distribution {
	t.Helper()
	h := NewHistogram()
	for i := range n {
		h.Add(from + time.Duration(float64(to-from)*float64(i)/float64(max(n-1, 1))))
	}
	d, err := h.Distribution(whole)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// steady returns n intervals of a second with about good responses each.
func steady(n int, good int64, deviation float64) []Interval {
	r := rand.New(rand.NewPCG(1, 2))
	in := make([]Interval, n)
	for i := range in {
		in[i] = Interval{
			AtNS: int64(i) * int64(time.Second), Seconds: 1, Good: good + int64(deviation*float64(good)*r.NormFloat64()),
			P50NS: 200_000, P90NS: 300_000, P99NS: 900_000, MaxNS: 2_000_000,
			GeneratorCPU: 0.6, ServerCPU: 0.98, Others: 0.01, ServerMemory: 20_000_000,
		}
	}
	return in
}

// closedRun returns a run of 5 s in a closed loop, with a server that was the limit.
func closedRun(t testing.TB) *Run {
	run := &Run{
		Format: Format, RequestsPerSecond: 24_691, Tool: "gale bench 1.0",
		Command: []string{"gale", "bench", "http://127.0.0.1:8080/", "-c", "64", "-d", "5s"},
		Began:   time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC), Seconds: 5,
		Machine: Machine{OS: "linux", Arch: "amd64", Kernel: "6.18", CPU: "AMD EPYC", CPUs: 2, Allowed: 1, Cores: "1", GOMAXPROCS: 1, GoVersion: "go1.26.0", MemoryByte: 24_000_000_000},
		Settings: Settings{
			Protocol: "HTTP/1.1", Local: true, Connections: 64, Threads: 1, Pipeline: 1, Streams: 1, KeepAlive: true,
			DurationNS: 5e9, TimeoutNS: 10e9,
		},
		Requests:    Requests{Sent: 123_456, Good: 123_455, Unanswered: 1},
		Latency:     distribution(t, 123_455, 100*time.Microsecond, 2*time.Millisecond, true),
		Errors:      []ErrorCount{},
		Statuses:    map[string]int64{"200": 123_455},
		Bytes:       Bytes{Read: 18_000_000, Written: 6_000_000},
		Connections: Connections{Opened: 64, Connect: distribution(t, 64, 50*time.Microsecond, time.Millisecond, false)},
		Generator:   Generator{CPUSeconds: 3, CPUPerRequest: 24_300, Busy: 0.6, DelaySeconds: 0.02, Others: 0.01},
		Server: &Server{
			PID: 4711, Command: "hello -addr 127.0.0.1:8080", CPUSeconds: 4.9, CPUPerRequest: 39_690, Allowed: 1, Cores: "0",
			Busy: 0.98, BusiestThread: 0.6, MemoryByte: 21_000_000, Threads: 7, Processes: 1,
		},
		Targets:   []Target{{URL: "http://127.0.0.1:8080/", Method: "GET", Weight: 1, Requests: Requests{Sent: 123_456, Good: 123_455, Unanswered: 1}}},
		Intervals: steady(5, 24_691, 0.01),
	}
	run.Verdict = Judge(run)
	return run
}

// openRun returns a run of 5 s at 1,000 requests a second that was held.
func openRun(t testing.TB) *Run {
	run := closedRun(t)
	run.RequestsPerSecond = 1000
	run.Settings.Rate = "1000"
	run.Requests = Requests{Sent: 5000, Good: 4999, Unanswered: 1}
	run.Statuses = map[string]int64{"200": 4999}
	run.Latency = distribution(t, 4999, 100*time.Microsecond, 2*time.Millisecond, true)
	run.Schedule = &Schedule{
		Intended: 5000, RateRatio: 1,
		Late: distribution(t, 5000, time.Microsecond, 60*time.Microsecond, false),
	}
	run.Generator = Generator{
		CPUSeconds: 0.2, CPUPerRequest: 40_000, Busy: 0.05, DelaySeconds: 0.001, Others: 0.01,
		Late: distribution(t, 5000, time.Microsecond, 60*time.Microsecond, false),
	}
	run.Server.CPUSeconds, run.Server.CPUPerRequest, run.Server.Busy, run.Server.BusiestThread = 0.25, 50_000, 0.05, 0.03
	run.Intervals = steady(5, 1000, 0)
	for i := range run.Intervals {
		run.Intervals[i].Rate = 1000
	}
	run.Verdict = Judge(run)
	return run
}
