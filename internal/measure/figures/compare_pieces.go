package figures

import (
	"math"
	"math/rand/v2"
	"slices"
)

// resamples is how often the intervals of a run are drawn anew. The deviation that they
// show is exact to 4 %.
const resamples = 300

// maxPieces is into how many pieces a run is cut at most: groups of longer runs are put
// together.
const maxPieces = 500

// piece is one group of intervals of a run, or the sum of several.
type piece struct {
	seconds, good, responses float64
	cpu                      float64   // of the server, ns
	counts                   []float64 // of responses by latency, see pieces
}

func (p *piece) add(o *piece) {
	p.seconds += o.seconds
	p.good += o.good
	p.responses += o.responses
	p.cpu += o.cpu
	for i, n := range o.counts {
		p.counts[i] += n
	}
}

func (p *piece) reset() {
	clear(p.counts)
	*p = piece{counts: p.counts}
}

// pieces are the groups of intervals of a run. Counts are of the latencies between from and to of the
// same index.
type pieces struct {
	all      []piece
	from, to []float64
	sum      piece      // to reuse
	chance   []variance // of each metric if the intervals are drawn anew
	drift    []variance // of each metric between the parts of the run
}

// newPieces reads the intervals of a run. It returns nil if there are too few or if a
// histogram is not valid.
func newPieces(run *Run) *pieces {
	return cut(run, func(in *Interval) (*Histogram, error) {
		if in.Histogram == "" {
			return nil, nil
		}
		return decode(in.Histogram)
	})
}

// cut makes pieces of the intervals of a run, whose histograms latencies returns, or nil if
// there is none.
func cut(run *Run, latencies func(*Interval) (*Histogram, error)) *pieces {
	groups := groups(run)
	if len(groups) < minIntervals {
		return nil
	}
	together := (len(groups) + maxPieces - 1) / maxPieces
	p := &pieces{all: make([]piece, (len(groups)+together-1)/together)}
	bars := make([]map[int64]float64, len(p.all))
	ranges := map[int64]int64{} // from by to
	for i := range p.all {
		bars[i] = map[int64]float64{}
	}
	for i, group := range groups {
		in := run.counted(group)
		p.all[i/together].add(&piece{
			seconds: in.Seconds, good: float64(in.Good), responses: float64(in.Good + in.Bad),
			cpu: max(in.ServerCPU, 0) * in.Seconds * 1e9,
		})
		for j := range group {
			h, err := latencies(&group[j])
			if err != nil {
				return nil
			}
			h.addTo(bars[i/together], ranges)
		}
	}
	p.index(bars, ranges)
	p.resample()
	return p
}

// addTo adds the counts of h, by the end of their range, to bars, and the beginnings of the
// ranges to ranges. h may be nil.
func (h *Histogram) addTo(bars map[int64]float64, ranges map[int64]int64) {
	if h == nil {
		return
	}
	for _, b := range h.h.Distribution() {
		if b.Count > 0 {
			bars[b.To] += float64(b.Count)
			ranges[b.To] = b.From
		}
	}
}

// index puts the counts of all intervals in one order.
func (p *pieces) index(bars []map[int64]float64, ranges map[int64]int64) {
	var order []int64
	for to := range ranges {
		order = append(order, to)
	}
	slices.Sort(order)
	for _, to := range order {
		p.from, p.to = append(p.from, float64(ranges[to])), append(p.to, float64(to))
	}
	for i := range p.all {
		p.all[i].counts = make([]float64, len(order))
		for j, to := range order {
			p.all[i].counts[j] = bars[i][to]
		}
	}
	p.sum.counts = make([]float64, len(order))
}

// at returns the latency that a share of s doesn't exceed, or 0 if there are none. Within a
// range of the histogram, latencies count as evenly distributed.
func (p *pieces) at(s *piece, share float64) float64 {
	total := 0.0
	for _, n := range s.counts {
		total += n
	}
	rest := total * share
	for i, n := range s.counts {
		if rest <= n && n > 0 {
			return p.from[i] + (p.to[i]-p.from[i])*rest/n
		}
		rest -= n
	}
	return 0
}

// variance is that of the logarithm of a metric.
type variance struct {
	n            float64
	sum, squares float64
	isBroken     bool // the metric was 0
}

func (v *variance) add(x float64) {
	if !(x > 0) {
		v.isBroken = true
		return
	}
	x = math.Log(x)
	v.n++
	v.sum += x
	v.squares += x * x
}

// value returns the variance. It is not ok if the metric was 0 once.
func (v *variance) value() (value float64, ok bool) {
	return max(v.squares-v.sum*v.sum/v.n, 0) / (v.n - 1), !v.isBroken && v.n > 1
}

// resample finds out how much each metric varies: if the intervals are drawn anew, in
// blocks, because neighbours are alike, and between the parts of the run.
func (p *pieces) resample() {
	p.chance, p.drift = make([]variance, len(metrics)), make([]variance, len(metrics))
	n := len(p.all)
	block := max(int(math.Round(math.Cbrt(float64(n)))), 1)
	r := rand.New(rand.NewPCG(1, uint64(n))) // the same result each time
	for range resamples {
		p.sum.reset()
		for drawn := 0; drawn < n; {
			start := r.IntN(n)
			for i := 0; i < block && drawn < n; i, drawn = i+1, drawn+1 {
				p.sum.add(&p.all[(start+i)%n])
			}
		}
		p.measure(p.chance)
	}
	for i := range runParts {
		p.sum.reset()
		for j := i * n / runParts; j < (i+1)*n/runParts; j++ {
			p.sum.add(&p.all[j])
		}
		p.measure(p.drift)
	}
}

// measure adds each metric of p.sum to its variance.
func (p *pieces) measure(to []variance) {
	for i := range metrics {
		to[i].add(metrics[i].partial(p, &p.sum))
	}
}
