package results

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/measure/figures"
)

// round makes the measurement of a round: cpu in nanoseconds per request.
func round(server string, n int, cpu int64, rate float64, limit figures.Limit) Measurement {
	return Measurement{
		Scenario: "hello", Case: "64", Mode: Pinned, Server: server, Round: n, Command: []string{server, "-addr", "127.0.0.1:1"},
		Run: &figures.Run{
			Format: figures.Format, RequestsPerSecond: rate, Command: []string{"gale", "bench", "http://127.0.0.1:1/"},
			Settings: figures.Settings{Connections: 64}, Verdict: figures.Verdict{Limit: limit},
			Latency: figures.Distribution{Count: 1000, P50NS: 1e6, P99NS: 5e6},
			Server:  &figures.Server{CPUPerRequest: cpu, MemoryByte: 20e6, MemoryBefore: 10e6},
		},
	}
}

// rounds makes three rounds with these times of CPU.
func rounds(server string, limit figures.Limit, cpu ...int64) (all []Measurement) {
	for i, c := range cpu {
		all = append(all, round(server, i+1, c, 1e9/float64(c), limit))
	}
	return all
}

// filled makes a folder with measurements of one case.
func filled(t *testing.T, measurements ...[]Measurement) *Folder {
	t.Helper()
	f, err := Create(filepath.Join(t.TempDir(), "run"), Index{
		Command: []string{"go", "run", ".", "run", "hello"}, Began: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Ended: time.Date(2026, 1, 2, 3, 5, 5, 0, time.UTC),
		Machine: figures.Machine{OS: "linux", Arch: "amd64", CPU: "A processor", CPUs: 2, Allowed: 2, GoVersion: "go1.26", MemoryByte: 8e9},
		Pinning: "the server has CPU 0.", Versions: map[string]string{"Go": "go1.26"}, Baseline: "nethttp",
		Rounds: 3, RoundNS: 1e9, WarmUpNS: 1e8,
		LeftOut: []LeftOut{{Server: "nginx", Why: "nginx is not installed"}, {Server: "hertz", Scenario: "tls", Case: "keep-alive", Why: "netpoll has no TLS"}, {Server: "hertz", Scenario: "tls", Case: "handshakes", Why: "netpoll has no TLS"}},
		Notes:   []string{"node also sends Keep-Alive (first seen in hello)."},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := Case{Scenario: "hello", Case: "64", Mode: Pinned}
	for _, all := range measurements {
		for _, m := range all {
			if err := f.Add(m); err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(c.Servers, m.Server) {
				c.Servers = append(c.Servers, m.Server)
			}
		}
	}
	f.Index.Cases = []Case{c}
	if err := f.SaveIndex(); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestReportIsAsBefore(t *testing.T) {
	warm := round("gale-event", 0, 9000, 1e5, figures.LimitServer)
	warm.Allocs = new(float64)
	f := filled(t,
		[]Measurement{warm}, rounds("gale-event", figures.LimitServer, 5000, 5100, 5050),
		rounds("fasthttp", figures.LimitServer, 5100, 5000, 5200), rounds("nethttp", figures.LimitServer, 10000, 10100, 10050),
		rounds("hyper", figures.LimitGenerator, 3000, 3100, 3200))
	f, err := Open(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := WriteMarkdown(&got, f.Report(func(string) string { return "a claim" })); err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "report.md")
	if os.Getenv("LAB_UPDATE") != "" {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the report differs from %s; if that is right, run with LAB_UPDATE=1:\n%s", golden, got.Bytes())
	}
}

func TestRanks(t *testing.T) {
	baseline := rounds("nethttp", figures.LimitServer, 10000, 10000, 10000)
	for _, test := range []struct {
		name  string
		with  [][]Measurement
		ranks map[string]int
		why   string // of the one that isn't ranked
	}{
		{"apart", [][]Measurement{rounds("a", figures.LimitServer, 4000, 4100, 4200), rounds("b", figures.LimitServer, 5000, 5100, 5200)}, map[string]int{"a": 1, "b": 2, "nethttp": 3}, ""},
		{"overlapping", [][]Measurement{rounds("a", figures.LimitServer, 4000, 4100, 4200), rounds("b", figures.LimitServer, 4150, 4300, 4200)}, map[string]int{"a": 1, "b": 1, "nethttp": 3}, ""},
		{"held rate", [][]Measurement{rounds("a", figures.LimitNone, 4000, 4100, 4200)}, map[string]int{"a": 1, "nethttp": 2}, ""},
		{"generator", [][]Measurement{rounds("a", figures.LimitGenerator, 4000, 4100, 4200)}, map[string]int{"a": 0, "nethttp": 1}, "the generator was the limit in 3 of 3 rounds"},
		{"rate", [][]Measurement{rounds("a", figures.LimitRate, 4000, 4100, 4200)}, map[string]int{"a": 0, "nethttp": 1}, "the rate was not held in 3 of 3 rounds"},
		{"same cores", [][]Measurement{rounds("a", figures.LimitShared, 4000, 4100, 4200)}, map[string]int{"a": 0, "nethttp": 1}, "both sides wanted the same cores in 3 of 3 rounds"},
		{"errors", [][]Measurement{rounds("a", figures.LimitErrors, 4000, 4100, 4200)}, map[string]int{"a": 0, "nethttp": 1}, "too many errors in 3 of 3 rounds"},
		{"noise of the machine", [][]Measurement{rounds("a", figures.LimitNoise, 4000, 4100, 4200)}, map[string]int{"a": 0, "nethttp": 1}, "too noisy in 3 of 3 rounds"},
		{"noise over rounds", [][]Measurement{rounds("a", figures.LimitServer, 4000, 8000, 4100)}, map[string]int{"a": 0, "nethttp": 1}, "too noisy: its ratios"},
		{"one bad round of three", [][]Measurement{append(rounds("a", figures.LimitServer, 4000, 4100), round("a", 3, 9000, 1, figures.LimitGenerator))}, map[string]int{"a": 1, "nethttp": 2}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			tables := filled(t, append(test.with, baseline)...).Tables()
			if len(tables) != 1 {
				t.Fatalf("%d tables, want 1", len(tables))
			}
			for _, r := range tables[0].Rows {
				if want := test.ranks[r.Server]; r.Rank != want {
					t.Errorf("%s has rank %d, want %d; %s", r.Server, r.Rank, want, r.Why)
				}
				if r.Rank == 0 && !strings.HasPrefix(r.Why, test.why) {
					t.Errorf("%s is not ranked because of %q, want %q", r.Server, r.Why, test.why)
				}
			}
		})
	}
}

func TestRatiosCompareTheSameRound(t *testing.T) {
	// The machine became half as fast from round to round. The ratio stays 2.
	rows := filled(t, rounds("a", figures.LimitServer, 1000, 2000, 4000), rounds("nethttp", figures.LimitServer, 2000, 4000, 8000)).Tables()[0].Rows
	if got := rows[0].CPURatio; got.Low != 2 || got.High != 2 || got.N != 3 {
		t.Errorf("ratio %+v, want 2 in all 3 rounds", got)
	}
}

func TestCompare(t *testing.T) {
	old := filled(t, rounds("a", figures.LimitServer, 4000, 4100, 4200), rounds("nethttp", figures.LimitServer, 10000, 10000, 10000))
	for _, test := range []struct {
		cpu  []int64
		want string
	}{
		{[]int64{4050, 4150, 4100}, "no difference"},
		{[]int64{5000, 5100, 5200}, "worse"},
		{[]int64{3000, 3100, 3200}, "better"},
	} {
		now := filled(t, rounds("a", figures.LimitServer, test.cpu...), rounds("nethttp", figures.LimitServer, 10000, 10000, 10000))
		var got bytes.Buffer
		if err := WriteMarkdown(&got, Compare(old, now)); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(got.String(), "| "+test.want+" |") {
			t.Errorf("%v: no %q in\n%s", test.cpu, test.want, got.String())
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a folder of results") {
		t.Errorf("an empty folder: %v", err)
	}
	f := filled(t, rounds("a", figures.LimitServer, 1))
	if _, err := Create(f.Dir, Index{}); err == nil {
		t.Error("Create took a folder with results")
	}
}

func TestOneRoundOfThreeIsNotRanked(t *testing.T) {
	base := rounds("nethttp", figures.LimitServer, 10000, 10000, 10000)
	base[0].Run.Verdict.Limit, base[1].Run.Verdict.Limit = figures.LimitNoise, figures.LimitNoise
	for _, r := range filled(t, rounds("a", figures.LimitServer, 4000, 4100, 4200), base).Tables()[0].Rows {
		if r.Rank != 0 {
			t.Errorf("%s has rank %d, want none: it compares with one round", r.Server, r.Rank)
		}
	}
}
