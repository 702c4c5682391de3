package load

import (
	"time"

	"github.com/galehttp/gale/internal/measure/figures"
)

const (
	// shortRun is the time up to which a run has intervals of fine. Longer runs have those
	// of coarse, or longer ones.
	shortRun     = 5 * time.Second
	fine, coarse = 100 * time.Millisecond, time.Second
	// maxIntervals is how many intervals a run has at most. Each takes 36 kB until the run
	// has ended.
	maxIntervals = 500
)

// timeline is the intervals of a run, in their order. Before there are too many, neighbours
// are put together, and intervals take twice the time. Sums and histograms stay exact.
type timeline struct {
	list   []moment
	most   int   // how many there are at most, 3 or more
	length int64 // that an interval has, unless it came as a longer one
	begin  int64 // when the counted time begins
}

// moment is an interval with its latencies.
type moment struct {
	figures.Interval
	place   place
	latency *figures.Histogram // nil in the warm-up
}

// place says which intervals belong together.
type place struct {
	after bool  // after the counted time
	index int64 // of the length that intervals have
}

// place returns the place of an interval that begins at at, in a run that ends at end. Each
// of the warm-up, the counted time and the time after it has places of its own.
func (t *timeline) place(at, end int64) place {
	since := at - t.begin
	if at >= end {
		since = at - end
	}
	index := since / t.length
	if since < 0 {
		index = -((-since + t.length - 1) / t.length)
	}
	return place{at >= end, index}
}

// add appends an interval of a run that ends at end. It takes over in, and copies latency.
func (t *timeline) add(in *figures.Interval, latency *figures.Histogram, end int64) {
	m := moment{Interval: *in, place: t.place(t.begin+in.AtNS, end)}
	if in.AtNS >= 0 {
		m.latency = latency.Coarse()
	}
	t.append(&m)
	for len(t.list) > t.most {
		t.widen(2*t.length, end)
	}
}

// append puts m into the last interval if it has the same place, else after it.
func (t *timeline) append(m *moment) {
	if n := len(t.list); n > 0 && t.list[n-1].place == m.place {
		t.list[n-1].join(m)
		return
	}
	t.list = append(t.list, *m)
}

// join puts o, the moment after m, into m.
func (m *moment) join(o *moment) {
	m.Join(&o.Interval)
	m.merge(o.latency)
}

// merge adds latencies to those of m, and sets its percentiles.
func (m *moment) merge(latency *figures.Histogram) {
	if m.latency == nil || latency == nil {
		return
	}
	m.latency.Merge(latency)
	setPercentiles(&m.Interval, m.latency)
}

// setPercentiles sets the percentiles of in. The maximum is exact: h need not be.
func setPercentiles(in *figures.Interval, h *figures.Histogram) {
	if h.Count() > 0 {
		in.P50NS, in.P90NS, in.P99NS = int64(h.At(.5)), int64(h.At(.9)), int64(h.At(.99))
		in.MaxNS = max(in.MaxNS, in.P99NS)
	}
}

// widen gives intervals another length, a multiple of the one they have.
func (t *timeline) widen(length, end int64) {
	t.length = length
	list := t.list
	t.list = t.list[:0]
	for i := range list {
		m := list[i]
		m.place = t.place(t.begin+m.AtNS, end)
		t.append(&m)
	}
	clear(list[len(t.list):])
}

// addResponses adds responses to the last interval, whose time stays the same.
func (t *timeline) addResponses(in *figures.Interval, latency *figures.Histogram) {
	if n := len(t.list); n > 0 {
		m := &t.list[n-1]
		m.JoinResponses(in)
		m.merge(latency)
	}
}

// intervals returns the intervals with their histograms.
func (t *timeline) intervals() ([]figures.Interval, error) {
	list := make([]figures.Interval, len(t.list))
	for i := range t.list {
		m := &t.list[i]
		if m.latency != nil {
			text, err := m.latency.Encode()
			if err != nil {
				return nil, err
			}
			m.Histogram = text
		}
		list[i] = m.Interval
	}
	return list, nil
}
