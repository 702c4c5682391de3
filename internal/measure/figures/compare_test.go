package figures

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/race"
)

// machine makes runs of a program on a machine whose speed changes slowly and quickly: the
// sum of five processes that forget within 1 to 256 intervals, each of the same strength,
// which is noise of about equal strength at each scale.
type machine struct {
	r         *rand.Rand
	slow, own [5]float64
	drift     float64 // standard deviation of each process
	white     float64 // likewise, of what is new in each interval
	start     float64 // likewise, of what is new in each run
	whole     map[*Interval]*Histogram
}

func newMachine(seed uint64, drift, white, start float64) *machine {
	m := &machine{r: rand.New(rand.NewPCG(seed, 7)), drift: drift, white: white, start: start, whole: map[*Interval]*Histogram{}}
	for range 300 {
		m.turn()
	}
	return m
}

func (m *machine) turn() (speed, tail float64) {
	tau := 1.0
	for i := range m.slow {
		keep := math.Exp(-1 / tau)
		fresh := m.drift * math.Sqrt(1-keep*keep)
		m.slow[i] = keep*m.slow[i] + fresh*m.r.NormFloat64()
		m.own[i] = keep*m.own[i] + 3*fresh*m.r.NormFloat64()
		speed, tail = speed+m.slow[i], tail+m.own[i]
		tau *= 4
	}
	return speed + m.white*m.r.NormFloat64(), tail
}

// run makes a run of n intervals of a program with a speed.
func (m *machine) run(n int, speed float64) *Run {
	run := &Run{Seconds: float64(n), Intervals: make([]Interval, n), Server: &Server{PID: 1}}
	all := NewHistogram()
	began := m.start * m.r.NormFloat64()
	for range 10 { // between runs
		m.turn()
	}
	for i := range run.Intervals {
		now, tail := m.turn()
		factor := speed * math.Exp(now+began)
		in := &run.Intervals[i]
		*in = Interval{AtNS: int64(i) * 1e9, Seconds: 1, Good: int64(10_000 * factor)}
		in.ServerCPU = float64(in.Good) * 20e-6 / factor
		run.Requests.Good += in.Good
		run.Server.CPUSeconds += in.ServerCPU
		h := &Histogram{newCoarse()}
		for range 500 {
			d := 1e6 / factor * math.Exp(0.3*m.r.NormFloat64())
			if m.r.IntN(50) == 0 {
				d *= 5 * math.Exp(tail)
			}
			_ = h.h.RecordValues(int64(d), in.Good/500)
			_ = all.h.RecordValues(int64(d), in.Good/500)
		}
		m.whole[in] = h
	}
	run.RequestsPerSecond = float64(run.Requests.Good) / run.Seconds
	run.Latency, _ = all.Distribution(false)
	return run
}

// compare makes runs of two programs in turns and reports whether they are told apart.
func (m *machine) compare(t *testing.T, runs, intervals int, speed float64) (*Comparison, bool) {
	t.Helper()
	var a, b []*Run
	for range runs {
		a = append(a, m.run(intervals, 1))
		b = append(b, m.run(intervals, speed))
	}
	c, err := compare(a, b, func(r *Run) *pieces {
		return cut(r, func(in *Interval) (*Histogram, error) { return m.whole[in], nil })
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Rows {
		if c.Rows[i].Told() {
			return c, true
		}
	}
	return c, false
}

// TestCompareEqual shows that two sides of one program are told apart in at most 5 of 100.
// GALE_PAIRS=200 has so many of each kind, and then it holds for each.
func TestCompareEqual(t *testing.T) {
	tests := []struct {
		name                string
		drift, white, start float64
		runs, intervals     int
	}{
		{"a quiet machine", 0.002, 0.005, 0.005, 1, 20},
		{"short runs", 0.005, 0.01, 0.005, 1, 5},
		{"slow noise", 0.02, 0.01, 0.005, 1, 20},
		{"slow noise, long runs", 0.02, 0.01, 0.005, 1, 60},
		{"quick noise", 0.002, 0.08, 0.005, 1, 20},
		{"starts differ", 0.005, 0.01, 0.01, 1, 10},
		{"two runs each", 0.02, 0.02, 0.02, 2, 10},
		{"three runs each", 0.02, 0.02, 0.05, 3, 10},
		{"five runs each", 0.02, 0.02, 0.05, 5, 10},
	}
	pairs := 12 // 108 in all
	if n, err := strconv.Atoi(os.Getenv("GALE_PAIRS")); err == nil {
		pairs = n
	}
	if race.Enabled {
		pairs = 1 // nothing is shared, and each takes ten times as long
	}
	var told atomic.Int64
	t.Run("pairs", func(t *testing.T) {
		for i, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				here := 0
				for n := range pairs {
					m := newMachine(uint64(i*1000+n), tt.drift, tt.white, tt.start)
					if _, ok := m.compare(t, tt.runs, tt.intervals, 1); ok {
						here++
					}
				}
				t.Logf("told apart: %d of %d", here, pairs)
				if pairs >= 100 && here*100 > 5*pairs {
					t.Errorf("%d of %d pairs of equal sides were told apart", here, pairs)
				}
				told.Add(int64(here))
			})
		}
	})
	if all := int64(pairs * len(tests)); told.Load()*100 > 5*all {
		t.Errorf("%d of %d pairs of equal sides were told apart", told.Load(), all)
	}
}

// TestCompareDifferent shows that real differences are told.
func TestCompareDifferent(t *testing.T) {
	tests := []struct {
		name                string
		drift, white, start float64
		runs                int
		speed               float64
	}{
		{"one run each", 0.002, 0.005, 0.005, 1, 0.9},
		{"three runs each", 0.005, 0.01, 0.005, 3, 0.95},
		{"seven runs each", 0.01, 0.02, 0.01, 7, 1.05},
	}
	pairs := 10
	if race.Enabled {
		pairs = 1
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			told := 0
			for n := range pairs {
				m := newMachine(uint64(i*1000+n), tt.drift, tt.white, tt.start)
				c, ok := m.compare(t, tt.runs, 20, tt.speed)
				if ok && strings.HasPrefix(c.text(), "B is better") == (tt.speed > 1) {
					told++
				}
			}
			t.Logf("told apart: %d of %d", told, pairs)
			if told < pairs*8/10 {
				t.Errorf("only %d of %d pairs were told apart", told, pairs)
			}
		})
	}
}

func TestStudent(t *testing.T) {
	tests := []struct{ p, df, want float64 }{ // of tables
		{0.05, 1, 12.706}, {0.05, 2, 4.303}, {0.05, 6, 2.447}, {0.01, 6, 3.707}, {0.05, 30, 2.042}, {0.001, 10, 4.587}, {0.05, 1000, 1.984},
	}
	for _, tt := range tests {
		if got := student(tt.p, tt.df); math.Abs(got-tt.want) > 0.001*tt.want {
			t.Errorf("student(%v, %v) = %v, want %v", tt.p, tt.df, got, tt.want)
		}
	}
}

func TestCompareText(t *testing.T) {
	slower := func(r *Run) {
		r.RequestsPerSecond *= 0.7
		r.Latency = distribution(t, 123_455, 200*time.Microsecond, 4*time.Millisecond, true)
		r.Server.CPUSeconds *= 1.4
		r.Server.MemoryByte *= 2
		r.Settings.Connections = 128
		r.Requests.Failed, r.Requests.Sent = 10_000, 133_456
	}
	withIntervals := func() *Run {
		r := closedRun(t)
		r.Intervals = steady(8, 24_691, 0.01)
		for i := range r.Intervals {
			h := histogram(sample(2000, uint64(i)))
			r.Intervals[i].Histogram, _ = h.Coarse().Encode()
		}
		return r
	}
	tests := []struct {
		name string
		make func() (a, b []*Run)
	}{
		{"equal", func() (a, b []*Run) { return []*Run{withIntervals()}, []*Run{withIntervals()} }},
		{"slower", func() (a, b []*Run) {
			r := withIntervals()
			slower(r)
			return []*Run{withIntervals()}, []*Run{r}
		}},
		{"no-intervals", func() (a, b []*Run) {
			x, y := closedRun(t), closedRun(t)
			x.Intervals, y.Intervals = nil, nil
			return []*Run{x}, []*Run{y}
		}},
		{"nothing-in-common", func() (a, b []*Run) {
			x := closedRun(t)
			x.Requests, x.RequestsPerSecond, x.Latency, x.Server = Requests{Sent: 64, Unanswered: 64}, 0, Distribution{}, nil
			x.Verdict = Judge(x)
			return []*Run{x}, []*Run{closedRun(t)}
		}},
		{"three-runs", func() (a, b []*Run) {
			for i := range 3 {
				x, y := withIntervals(), withIntervals()
				y.RequestsPerSecond *= 1.2 + float64(i)/100
				a, b = append(a, x), append(b, y)
			}
			a[1].Verdict = Verdict{Limit: LimitNoise, Text: "Too noisy to tell: a test."}
			return a, b
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Compare(tt.make())
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			if err := WriteComparison(&b, c); err != nil {
				t.Fatal(err)
			}
			golden(t, "compare-"+tt.name+".txt", b.String())
			for line := range strings.Lines(b.String()) {
				if len(line) > tableWidth+1 {
					t.Errorf("a line is too wide: %q", line)
				}
			}
		})
	}
}

func TestCompareErrors(t *testing.T) {
	if _, err := Compare(nil, []*Run{closedRun(t)}); err == nil {
		t.Error("a side without runs was compared")
	}
	other := closedRun(t)
	other.Settings.Connections++
	if _, err := Compare([]*Run{closedRun(t), other}, []*Run{closedRun(t)}); err == nil || !strings.Contains(err.Error(), "connections: 64 and 65") {
		t.Errorf("a side with different settings: %v", err)
	}
}

// TestCompareFiles compares documents of runs of one program, all files of the folder that
// GALE_RUNS names: each pair, and three with three by lot. It says how many were told apart.
func TestCompareFiles(t *testing.T) {
	folder := os.Getenv("GALE_RUNS")
	if folder == "" {
		t.Skip("set GALE_RUNS to a folder of documents of one program")
	}
	names, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	var runs []*Run
	for _, name := range names {
		r, err := ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, r)
	}
	told, pairs := 0, 0
	for i := range runs {
		for j := range i {
			c, err := Compare([]*Run{runs[j]}, []*Run{runs[i]})
			if err != nil {
				t.Fatal(err)
			}
			pairs++
			if !strings.HasPrefix(c.text(), "No difference") {
				told++
				t.Logf("%s and %s: %s", names[j], names[i], c.text())
			}
		}
	}
	t.Logf("told apart: %d of %d pairs of %d runs", told, pairs, len(runs))
	r := rand.New(rand.NewPCG(1, 1))
	for told, pairs = 0, 0; len(runs) >= 6 && pairs < 100; pairs++ {
		r.Shuffle(len(runs), func(i, j int) { runs[i], runs[j] = runs[j], runs[i] })
		c, err := Compare(runs[:3], runs[3:6])
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(c.text(), "No difference") {
			told++
		}
	}
	t.Logf("told apart: %d of %d pairs of three runs each", told, pairs)
}
