package load

import (
	"time"

	"github.com/galehttp/gale/internal/measure/figures"
)

// watch goes through the times of a run: it says when the counted time begins and ends,
// and collects the intervals.
type watch struct {
	run   *run
	over  chan struct{} // all loops have ended
	spare []*slice      // one for each loop
	sum   *slice
	kept  latencies
	at    int64 // when the current interval began
	begun bool
	ended bool
}

func newWatch(r *run, over chan struct{}) *watch {
	w := &watch{run: r, over: over, sum: newSlice(r.schedule != nil), kept: latencies{every: 1}, at: r.warm}
	for range r.loops {
		w.spare = append(w.spare, newSlice(r.schedule != nil))
	}
	return w
}

// work returns when the loops have ended.
func (w *watch) work() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for finished := w.run.finished; ; {
		select {
		case <-timer.C:
		case <-finished:
			finished = nil
		case <-w.over:
			w.last()
			return
		}
		w.turn()
		timer.Reset(time.Duration(w.next() - w.run.now()))
	}
}

// turn does what is due.
func (w *watch) turn() {
	r, now := w.run, w.run.now()
	if now >= r.begin {
		w.begin()
	}
	if w.begun && now >= r.end.Load() {
		w.end()
	}
	if w.boundary() <= now && now < r.end.Load() {
		w.collect()
		w.store(w.boundaryBefore(now))
	}
	if r.plan.Count > 0 && now-r.opened.Load() > int64(maxUnopened) && r.connections.Load() == 0 {
		r.stop()
	}
}

// begin says that the counted time has begun.
func (w *watch) begin() {
	if w.begun || w.run.end.Load() <= w.run.begin {
		return
	}
	w.begun = true
	if w.run.plan.Begin != nil {
		w.run.plan.Begin()
	}
}

// end says that the counted time has ended.
func (w *watch) end() {
	if w.begun && !w.ended && w.run.plan.End != nil {
		w.run.plan.End()
	}
	w.ended = true
}

// next returns when there is something to do.
func (w *watch) next() int64 {
	now, end := w.run.now(), w.run.end.Load()
	if now >= end { // the loops are about to end
		return now + int64(maxScan)
	}
	if !w.begun {
		return min(w.boundary(), w.run.begin, end)
	}
	return min(w.boundary(), end)
}

// boundary returns when the current interval ends. The counted time begins at a boundary.
func (w *watch) boundary() int64 {
	return w.boundaryBefore(w.at) + w.run.interval
}

// boundaryBefore returns the last boundary that isn't after at.
func (w *watch) boundaryBefore(at int64) int64 {
	since := (at - w.run.begin) % w.run.interval
	if since < 0 {
		since += w.run.interval
	}
	return at - since
}

// collect adds up what the loops have counted since the last call. Loops give away what
// they have counted between two polls, so they share no memory while they count.
func (w *watch) collect() {
	for i, l := range w.run.loops {
		l.swap.Store(w.spare[i])
		l.net.wake()
	}
	for i, l := range w.run.loops {
		select {
		case s := <-l.slice:
			w.take(i, s)
		case <-w.over:
			select {
			case s := <-l.slice:
				w.take(i, s)
			default:
			}
		}
	}
}

func (w *watch) take(i int, s *slice) {
	w.sum.merge(s)
	s.empty()
	w.spare[i] = s
}

// last stores the last interval.
func (w *watch) last() {
	w.begin()
	w.end()
	for _, l := range w.run.loops {
		w.sum.merge(l.tally.slice)
	}
	end := w.run.end.Load()
	if end > w.at {
		w.store(end)
	}
}

// store stores the current interval, which ends at to.
func (w *watch) store(to int64) {
	r, s := w.run, w.sum
	i := figures.Interval{
		AtNS:    w.at - r.begin,
		Seconds: time.Duration(to - w.at).Seconds(),
		Good:    s.good, Bad: s.bad,
		ServerCPU: -1,
	}
	if s.latency.Count() > 0 {
		i.P50NS, i.P90NS = int64(s.latency.At(.5)), int64(s.latency.At(.9))
		i.P99NS, i.MaxNS = int64(s.latency.At(.99)), int64(s.latency.At(1))
	}
	if len(s.errors) > 0 {
		i.Errors = map[string]int64{}
		for kind, e := range s.errors {
			i.Errors[kind] = e.Count
		}
	}
	if r.schedule != nil {
		i.Rate = r.schedule.rate(time.Duration((w.at+to)/2 - r.begin))
		if s.late.Count() > 0 {
			i.LateP99NS = int64(s.late.At(.99))
		}
	}
	if i.AtNS >= 0 {
		w.kept.add(len(r.intervals), s.latency)
	}
	s.empty()
	w.at = to
	if r.plan.Tick != nil {
		r.plan.Tick(&i)
	}
	r.intervals = append(r.intervals, i)
}

// maxLatencies is how many intervals of a run have a histogram at most. Each takes 36 kB
// until the run has ended.
const maxLatencies = 500

// latencies are the histograms of intervals, in their order. If there are too many, they
// are those of every second interval, then of every fourth, and so on: evenly over the run.
type latencies struct {
	list  []intervalLatency
	seen  int // calls of add
	every int
}

// intervalLatency is the histogram of the interval with an index.
type intervalLatency struct {
	index     int
	histogram *figures.Histogram
}

// add keeps a copy of h for the interval with an index, which is one after the last.
func (k *latencies) add(index int, h *figures.Histogram) {
	k.seen++
	if (k.seen-1)%k.every != 0 {
		return
	}
	if len(k.list) == maxLatencies {
		k.thin()
		if (k.seen-1)%k.every != 0 {
			return
		}
	}
	k.list = append(k.list, intervalLatency{index, h.Coarse()})
}

// thin drops every second histogram.
func (k *latencies) thin() {
	for i := range maxLatencies / 2 {
		k.list[i] = k.list[2*i]
	}
	clear(k.list[maxLatencies/2:])
	k.list = k.list[:maxLatencies/2]
	k.every *= 2
}

// encode puts the histograms into their intervals.
func (k *latencies) encode(to []figures.Interval) error {
	for _, l := range k.list {
		text, err := l.histogram.Encode()
		if err != nil {
			return err
		}
		to[l.index].Histogram = text
	}
	return nil
}
