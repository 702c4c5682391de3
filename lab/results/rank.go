package results

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/galehttp/gale/internal/measure/figures"
)

// Value is a figure over the rounds.
type Value struct {
	Median, Low, High float64
	N                 int // rounds; 0: unknown
}

func valueOf(v []float64) Value {
	if len(v) == 0 {
		return Value{}
	}
	slices.Sort(v)
	median := v[len(v)/2]
	if len(v)%2 == 0 {
		median = (median + v[len(v)/2-1]) / 2
	}
	return Value{median, v[0], v[len(v)-1], len(v)}
}

// Spread is how far the rounds lie apart, as a share of the median.
func (v Value) Spread() float64 {
	if v.Median == 0 {
		return 0
	}
	return (v.High - v.Low) / v.Median
}

// TooNoisy is the spread of a ratio over the rounds from which on a server isn't ranked.
const TooNoisy = 0.5

// Steady is the spread up to which rounds count as repeated.
const Steady = 0.03

// Row is a server in a table.
type Row struct {
	Server string
	// Rank is 1 for the server with the least CPU time per request. Servers have the same
	// rank if the ranges of their ratios overlap. 0 is not ranked, and Why says why.
	Rank int
	Why  string

	CPU      Value // of the server, per request, in nanoseconds
	Rate     Value // good responses per second
	P50, P99 Value // nanoseconds
	Memory   Value // resident, at the most, in bytes
	PerConn  Value // resident memory that a connection took, in bytes; of idle ones if there were
	Allocs   Value // per request
	// Ratios to the baseline in the same round. Above 1 the server is better: it uses less
	// time for a request, or serves more of them.
	CPURatio, RateRatio Value
}

// Table has the servers of a case, ranked ones first.
type Table struct {
	Case     Case
	Baseline string // empty: it was not measured, so there are no ratios
	Rate     string // of an open loop
	Rows     []Row
	Text     string // if the scenario has no figures of gale bench
}

// Tables makes the tables of a folder, in the order of the index. Cases without a
// measurement have none.
func (f *Folder) Tables() (tables []Table) {
	for _, c := range f.Index.Cases {
		t := Table{Case: c, Baseline: f.Index.Baseline}
		rounds := map[string][]Measurement{}
		for _, m := range f.Measurements {
			if m.Scenario != c.Scenario || m.Case != c.Case || m.Mode != c.Mode {
				continue
			}
			if m.Run == nil {
				t.Text = m.Text
				continue
			}
			t.Rate = m.Run.Settings.Rate
			rounds[m.Server] = append(rounds[m.Server], m)
		}
		if len(rounds) == 0 && t.Text == "" {
			continue
		}
		t.fill(rounds)
		tables = append(tables, t)
	}
	return tables
}

func (t *Table) fill(rounds map[string][]Measurement) {
	base := map[int]Measurement{}
	for _, m := range rounds[t.Baseline] {
		if m.Round > 0 && whyNot(m.Run) == "" {
			base[m.Round] = m
		}
	}
	if len(base) == 0 { // then the ratios are of use as little as the rest
		for _, m := range rounds[t.Baseline] {
			base[m.Round] = m
		}
	}
	if len(base) == 0 {
		t.Baseline = ""
	}
	for _, server := range t.Case.Servers {
		if len(rounds[server]) > 0 {
			t.Rows = append(t.Rows, newRow(server, rounds[server], base))
		}
	}
	t.rank()
}

// newRow makes the row of a server. Rounds that tell nothing about the server count only if
// most are so, and then the row isn't ranked.
func newRow(server string, all []Measurement, base map[int]Measurement) Row {
	r := Row{Server: server}
	r.warmUp(all)
	all = slices.DeleteFunc(slices.Clone(all), func(m Measurement) bool { return m.Round == 0 })
	counted := slices.DeleteFunc(slices.Clone(all), func(m Measurement) bool { return whyNot(m.Run) != "" })
	if 2*len(counted) <= len(all) {
		r.Why = fmt.Sprintf("%s in %d of %d rounds", mostFrequent(all), len(all)-len(counted), len(all))
		counted = all
	}
	var cpu, rate, p50, p99, memory, cpuRatio, rateRatio []float64
	add := func(to *[]float64, v float64) {
		if v > 0 && !math.IsInf(v, 0) {
			*to = append(*to, v)
		}
	}
	for _, m := range counted {
		add(&cpu, cpuOf(m.Run))
		add(&rate, m.Run.RequestsPerSecond)
		add(&p50, float64(m.Run.Latency.P50NS))
		add(&p99, float64(m.Run.Latency.P99NS))
		if s := m.Run.Server; s != nil {
			add(&memory, float64(s.MemoryByte))
		}
		if b, ok := base[m.Round]; ok {
			add(&cpuRatio, cpuOf(b.Run)/cpuOf(m.Run))
			add(&rateRatio, m.Run.RequestsPerSecond/b.Run.RequestsPerSecond)
		}
	}
	r.CPU, r.Rate, r.P50, r.P99 = valueOf(cpu), valueOf(rate), valueOf(p50), valueOf(p99)
	r.Memory, r.CPURatio, r.RateRatio = valueOf(memory), valueOf(cpuRatio), valueOf(rateRatio)
	if n := r.CPURatio.N; r.Why == "" && len(base) > 0 && 2*n <= len(all) {
		r.Why = fmt.Sprintf("it can be compared with the baseline in %d of %d rounds", n, len(all))
	}
	if s := r.CPURatio.Spread(); r.Why == "" && s > TooNoisy {
		r.Why = fmt.Sprintf("too noisy: its ratios of CPU time differ by %s", figures.FormatShare(s))
	}
	return r
}

// whyNot says why a round tells nothing about the server, "" if it does.
func whyNot(run *figures.Run) string {
	switch run.Verdict.Limit {
	case figures.LimitNone, figures.LimitServer:
		return ""
	case figures.LimitGenerator:
		return "the generator was the limit"
	case figures.LimitShared:
		return "both sides wanted the same cores"
	case figures.LimitRate:
		return "the rate was not held"
	case figures.LimitNoise:
		return "too noisy"
	case figures.LimitErrors:
		return "too many errors"
	default:
		return "an unknown limit"
	}
}

func mostFrequent(all []Measurement) (why string) {
	counts := map[string]int{}
	for _, m := range all {
		if w := whyNot(m.Run); w != "" {
			counts[w]++
			if counts[w] > counts[why] {
				why = w
			}
		}
	}
	return why
}

func cpuOf(run *figures.Run) float64 {
	if run.Server == nil {
		return 0
	}
	return float64(run.Server.CPUPerRequest)
}

// manyConnections is from how many connections on their memory stands out from the rest.
const manyConnections = 1000

// warmUp takes the figures of the first time: allocations, which only the warm-up asks for,
// and the memory that a connection took before memory was used again.
func (r *Row) warmUp(all []Measurement) {
	for _, m := range all {
		if m.Round > 0 || m.Run.Server == nil {
			continue
		}
		s, n := m.Run.Server, m.Run.Settings.Connections
		if m.Allocs != nil {
			r.Allocs = valueOf([]float64{*m.Allocs})
		}
		switch {
		case m.IdleByte > 0:
			r.PerConn = valueOf([]float64{float64(m.IdleByte)})
		case s.MemoryBefore > 0 && n >= manyConnections:
			r.PerConn = valueOf([]float64{float64(s.MemoryByte-s.MemoryBefore) / float64(n)})
		}
	}
}

// rank sorts the rows and gives ranks.
func (t *Table) rank() {
	better := func(r *Row) Value { // higher is better, whatever it is
		switch {
		case r.CPURatio.N > 0:
			return r.CPURatio
		case r.CPU.N > 0:
			return Value{1 / r.CPU.Median, 1 / r.CPU.High, 1 / r.CPU.Low, r.CPU.N}
		}
		return r.Rate
	}
	sort.SliceStable(t.Rows, func(i, j int) bool {
		a, b := &t.Rows[i], &t.Rows[j]
		if (a.Why == "") != (b.Why == "") {
			return a.Why == ""
		}
		return better(a).Median > better(b).Median
	})
	leader := 0
	for i := range t.Rows {
		r := &t.Rows[i]
		if r.Why != "" {
			continue
		}
		if better(r).High < better(&t.Rows[leader]).Low {
			leader = i
		}
		r.Rank = leader + 1
	}
}
