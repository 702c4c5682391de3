package figures

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func table1(t *testing.T, run *Run) string {
	t.Helper()
	var b strings.Builder
	if err := WriteTable(&b, run); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestTableGoUnknown shows that what package expvar doesn't tell isn't shown as 0.
func TestTableGoUnknown(t *testing.T) {
	run := closedRun(t)
	run.Server = &Server{GoURL: "http://127.0.0.1:8080/debug/vars", HeapByte: 4_000_000}
	if got := table1(t, run); !strings.Contains(got, "Go: heap of 4.00 MB") {
		t.Errorf("the table is\n%s", got)
	}
}

func TestTable(t *testing.T) {
	several := func(run *Run) {
		run.Targets = append(run.Targets, Target{URL: "http://127.0.0.1:8080/a/long/path/that/does/not/fit/into/a/column", Method: "POST", Weight: 3, Requests: Requests{Sent: 10}})
		run.Targets[0].Latency = run.Latency
	}
	tests := []struct {
		name string
		run  func(*testing.T) *Run
	}{
		{"closed", func(t *testing.T) *Run { return closedRun(t) }},
		{"open", func(t *testing.T) *Run { return openRun(t) }},
		{"several-urls", func(t *testing.T) *Run { r := closedRun(t); several(r); return r }},
		{"steps", func(t *testing.T) *Run {
			r := openRun(t)
			for i := range 3 {
				r.Steps = append(r.Steps, Step{
					AtNS: int64(i) * 2e9, Seconds: 2, Rate: float64(i+1) * 1000, Requests: Requests{Sent: 2000, Good: 2000},
					Latency: distribution(t, 2000, time.Millisecond, 2*time.Millisecond, false), Late: distribution(t, 2000, 1, 99, false),
				})
			}
			r.Verdict = Judge(r)
			return r
		}},
		{"nothing", func(t *testing.T) *Run {
			r := &Run{Generator: Generator{Others: -1, Stolen: -1}, Machine: Machine{OS: "plan9", Arch: "386", CPUs: 1, Allowed: 1}}
			r.Verdict = Judge(r)
			return r
		}},
		{"all-errors", func(t *testing.T) *Run {
			r := closedRun(t)
			r.Server, r.RequestsPerSecond = nil, 0
			r.Requests = Requests{Sent: 9000, Failed: 9000}
			r.Latency, r.Statuses = Distribution{}, nil
			r.Errors = []ErrorCount{{"closed early", 8999, "unexpected end\x1b[2Jof the \r\nresponse"}, {"timeout", 1, "no response within 10s"}}
			for i := range r.Intervals {
				r.Intervals[i].Bad, r.Intervals[i].Good = r.Intervals[i].Good, 0
			}
			r.Verdict = Judge(r)
			return r
		}},
		{"some-errors", func(t *testing.T) *Run {
			r := closedRun(t)
			r.Requests = Requests{Sent: 123_456, Good: 120_000, Unexpected: 3000, Failed: 456}
			r.Statuses = map[string]int64{"200": 120_000, "503": 3000}
			r.Errors = []ErrorCount{{"status", 3000, "503 Service Unavailable"}, {"reset", 456, "connection reset by peer"}}
			r.Connections.Reopened, r.Connections.Opened = 456, 520
			r.Server.GoURL, r.Server.Goroutines, r.Server.HeapByte, r.Server.AllocsPerRequest, r.Server.Collections = "http://127.0.0.1:8080/debug/vars", 70, 4_000_000, 12.3, 40
			r.Verdict = Judge(r)
			return r
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := table1(t, tt.run(t))
			golden(t, "table-"+tt.name+".txt", got)
			for line := range strings.Lines(got) {
				line = strings.TrimSuffix(line, "\n")
				if utf8.RuneCountInString(line) > tableWidth {
					t.Errorf("a line is too wide: %q", line)
				}
				if strings.ContainsAny(line, "\x1b\r") {
					t.Errorf("a line has control characters: %q", line)
				}
			}
		})
	}
}
