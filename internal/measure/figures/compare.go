package figures

import (
	"errors"
	"fmt"
	"math"
)

// Comparison says how two sides, A and B, differ. Each is one run or several.
type Comparison struct {
	RunsA, RunsB int
	// Settings are the settings, machines and servers that differ between the sides.
	Settings []string
	Rows     []Difference
	// Measured says that the spread between runs of a side was measured. Otherwise it was
	// assumed to be that between the parts of each run.
	Measured bool
	Warnings []string
}

// Difference is one figure of a Comparison.
type Difference struct {
	Name       string
	A, B       float64
	MoreBetter bool
	Format     func(float64) string
	// Change is B/A - 1. It lies between Low and High, as do those of all rows together,
	// with a probability of 95 %, if Judged.
	Change, Low, High float64
	Judged            bool
}

// Told reports whether A and B are told apart.
func (d *Difference) Told() bool { return d.Judged && (d.Low > 0 || d.High < 0) }

// Better reports whether B is better than A. It means something if they are told apart.
func (d *Difference) Better() bool { return (d.Change > 0) == d.MoreBetter }

const (
	// falseAlarms is how often two sides that are equal are told apart, by any row.
	falseAlarms = 0.05
	// runParts is into how many parts a run is cut to see how much it drifts.
	runParts = 4
	// measuredDF is how many degrees of freedom the spread between runs needs to be used
	// alone, without what the parts of the runs show. Three runs on each side have it.
	measuredDF = 4
)

// metric is a figure that is compared.
type metric struct {
	name   string
	more   bool
	format func(float64) string
	// least is the standard deviation between runs that is assumed at the least, as a share:
	// placements of processes and memory differ from start to start, whatever one run shows.
	least float64
	// needs is how many responses a run must have.
	needs   int64
	whole   func(*Run) float64
	partial func(*pieces, *piece) float64
}

func percentile(name string, share, least float64, whole func(*Run) int64) metric {
	return metric{
		name: name, least: least, needs: int64(2 * tailSamples / (1 - share)),
		format:  func(ns float64) string { return FormatDuration(int64(ns)) },
		whole:   func(r *Run) float64 { return float64(whole(r)) },
		partial: func(p *pieces, s *piece) float64 { return p.at(s, share) },
	}
}

// metrics are what Compare judges. The least deviations were seen between runs of equal
// programs on one quiet machine.
var metrics = [...]metric{
	{
		name: "Requests/s", more: true, least: 0.01, format: FormatRate,
		whole:   func(r *Run) float64 { return r.RequestsPerSecond },
		partial: func(_ *pieces, s *piece) float64 { return ratio(s.good, s.seconds) },
	},
	percentile("p50", 0.5, 0.01, func(r *Run) int64 { return r.Latency.P50NS }),
	percentile("p90", 0.9, 0.02, func(r *Run) int64 { return r.Latency.P90NS }),
	percentile("p99", 0.99, 0.04, func(r *Run) int64 { return r.Latency.P99NS }),
	percentile("p99.9", 0.999, 0.08, func(r *Run) int64 { return r.Latency.P999NS }),
	{
		name: "Server CPU", least: 0.01,
		format:  func(ns float64) string { return FormatDuration(int64(ns)) },
		whole:   cpuPerRequest,
		partial: func(_ *pieces, s *piece) float64 { return ratio(s.cpu, s.responses) },
	},
}

func cpuPerRequest(r *Run) float64 {
	if !r.Server.isWatched() {
		return 0
	}
	return ratio(r.Server.CPUSeconds*1e9, float64(r.responses()))
}

// Compare compares two sides, each of at least one run. It doesn't change them.
//
// It compares logarithms, so that changes are ratios. What is in a run's figures by chance
// comes from resampling blocks of its intervals. How much runs differ comes from the runs,
// if there are enough: three on each side. Otherwise it is assumed to be as much as the
// quarters of each run differ, because slow noise has about the same strength at each
// scale, and at least as much as runs on a quiet machine do.
func Compare(a, b []*Run) (*Comparison, error) { return compare(a, b, newPieces) }

// compare is Compare, with the function that cuts runs into pieces.
func compare(a, b []*Run, cut func(*Run) *pieces) (*Comparison, error) {
	if len(a) == 0 || len(b) == 0 {
		return nil, errors.New("a comparison needs a run on each side")
	}
	c := &Comparison{RunsA: len(a), RunsB: len(b), Measured: len(a)+len(b)-2 >= measuredDF}
	c.Settings = differences(a[0], b[0], true)
	for _, side := range [][]*Run{a, b} {
		for _, r := range side[1:] {
			if d := differences(side[0], r, false); len(d) > 0 {
				return nil, fmt.Errorf("the runs of one side have different settings: %s", d[0])
			}
		}
	}
	sides := [2]*side{newSide(a, cut), newSide(b, cut)}
	var judged []int
	for i := range metrics {
		if metrics[i].isIn(a, b) {
			judged = append(judged, i)
		}
	}
	for _, i := range judged {
		c.Rows = append(c.Rows, c.compare(i, sides, falseAlarms/float64(len(judged))))
	}
	c.addMemory(a, b)
	c.warn(a, b)
	return c, nil
}

// isIn reports whether each run has the figure, and enough responses for it. The rate of an
// open loop is given, not found.
func (m *metric) isIn(a, b []*Run) bool {
	for _, side := range [][]*Run{a, b} {
		for _, r := range side {
			if r.responses() < m.needs || !(m.whole(r) > 0) || m.more && r.Schedule != nil {
				return false
			}
		}
	}
	return true
}

// side is what Compare knows of A or of B.
type side struct {
	runs   []*Run
	pieces []*pieces // of each run, nil if it has too few intervals
}

func newSide(runs []*Run, cut func(*Run) *pieces) *side {
	s := &side{runs: runs}
	for _, r := range runs {
		s.pieces = append(s.pieces, cut(r))
	}
	return s
}

// average returns the average of the logarithms of the runs' values, and the sum of the
// squares of their distances from it.
func (s *side) average(m *metric) (average, squares float64) {
	n := float64(len(s.runs))
	for _, r := range s.runs {
		average += math.Log(m.whole(r)) / n
	}
	for _, r := range s.runs {
		d := math.Log(m.whole(r)) - average
		squares += d * d
	}
	return average, squares
}

// compare compares by the metric with number i, with a probability p of a false alarm.
func (c *Comparison) compare(i int, sides [2]*side, p float64) Difference {
	m := &metrics[i]
	averageA, squaresA := sides[0].average(m)
	averageB, squaresB := sides[1].average(m)
	d := Difference{
		Name: m.name, A: math.Exp(averageA), B: math.Exp(averageB), MoreBetter: m.more, Format: m.format,
		Change: math.Exp(averageB-averageA) - 1,
	}
	chance, drift, driftDF, ok := within(i, sides)
	between, df := 0.0, float64(c.RunsA+c.RunsB-2)
	if df > 0 {
		between = (squaresA + squaresB) / df
	}
	switch {
	case c.Measured:
	case !ok:
		return d // nothing shows how much the figure varies
	default:
		between = max(between, drift, m.least*m.least)
		df += driftDF
	}
	variance := between * (1/float64(c.RunsA) + 1/float64(c.RunsB))
	if c.Measured {
		variance = max(variance, chance) // the runs' spread has chance in it
	} else {
		variance += chance
	}
	width := student(p, df) * math.Sqrt(variance)
	d.Low, d.High = math.Exp(averageB-averageA-width)-1, math.Exp(averageB-averageA+width)-1
	d.Judged = true
	return d
}

// within returns the variance of the difference by chance, the variance between the parts
// of runs, and its degrees of freedom. It is not ok if a run has too few intervals.
func within(i int, sides [2]*side) (chance, drift, driftDF float64, ok bool) {
	for _, s := range sides {
		n := float64(len(s.runs))
		for _, p := range s.pieces {
			if p == nil {
				return 0, 0, 0, false
			}
			byChance, ok1 := p.chance[i].value()
			byDrift, ok2 := p.drift[i].value()
			if !ok1 || !ok2 {
				return 0, 0, 0, false
			}
			chance += byChance / (n * n)
			drift += byDrift
			driftDF += runParts - 1
		}
	}
	return chance, drift * (runParts - 1) / driftDF, driftDF, true
}

// addMemory adds a row that isn't judged: a run has one value.
func (c *Comparison) addMemory(a, b []*Run) {
	most := func(runs []*Run) (n int64) {
		for _, r := range runs {
			if r.Server.isWatched() {
				n = max(n, r.Server.MemoryByte)
			}
		}
		return n
	}
	if va, vb := float64(most(a)), float64(most(b)); va > 0 && vb > 0 {
		c.Rows = append(c.Rows, Difference{Name: "Server memory", A: va, B: vb, Change: vb/va - 1, Format: func(n float64) string { return FormatBytes(int64(n)) }})
	}
}

// warn says what a reader of the comparison must know.
func (c *Comparison) warn(a, b []*Run) {
	add := func(format string, args ...any) { c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...)) }
	judged := false
	for i := range c.Rows {
		judged = judged || c.Rows[i].Judged
	}
	switch {
	case !judged:
		add("The runs are too short to tell anything: a run needs %d s, or each side three runs.", minIntervals)
	case !c.Measured:
		add("How much runs differ is assumed from how much the parts of each run do. At least three runs on each side, in turns, show it: gale bench compare A1.json,A2.json,A3.json B1.json,B2.json,B3.json.")
	}
	for _, s := range []struct {
		name string
		runs []*Run
	}{{"A", a}, {"B", b}} {
		for _, r := range s.runs {
			switch r.Verdict.Limit {
			case LimitGenerator, LimitShared:
				add("In a run of %s the server was not the limit: %s", s.name, r.Verdict.Text)
			case LimitNoise, LimitErrors, LimitRate:
				add("A run of %s: %s", s.name, r.Verdict.Text)
			default:
				continue
			}
			break
		}
	}
	badA, badB := badShare(a), badShare(b)
	if math.Abs(badA-badB) > 0.001 {
		add("The share of attempts without a good response differs: %s and %s.", FormatShare(badA), FormatShare(badB))
	}
}

func badShare(runs []*Run) float64 {
	var all Requests
	for _, r := range runs {
		all.add(r.Requests)
	}
	return all.FailedShare()
}
