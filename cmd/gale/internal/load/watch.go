package load

import (
	"time"

	"github.com/galehttp/gale/internal/measure/figures"
)

// watch goes through the times of a run: it says when the counted time begins and ends,
// and collects the intervals.
type watch struct {
	run      *run
	over     chan struct{} // all loops have ended
	spare    []*slice      // one for each loop
	sum      *slice
	timeline timeline
	listener listener
	interval int64 // between two boundaries
	warmUp   int64 // likewise, in the warm-up
	at       int64 // when the current interval began
	begun    bool
	ended    bool
}

func newWatch(r *run, over chan struct{}) *watch {
	w := &watch{run: r, over: over, sum: newSlice(r.schedule != nil), at: r.warm, interval: int64(coarse), warmUp: int64(coarse)}
	if r.mayBeShort() {
		w.interval = int64(fine)
		if r.plan.WarmUp < shortRun {
			w.warmUp = w.interval
		}
	}
	if each := int64(r.plan.Interval); each > 0 {
		w.interval, w.warmUp = each, each
	}
	w.listener = listener{begin: r.begin}
	w.timeline = timeline{most: maxIntervals, length: w.interval, begin: r.begin}
	for range r.loops {
		w.spare = append(w.spare, newSlice(r.schedule != nil))
	}
	return w
}

// mayBeShort reports whether the counted time may be less than shortRun.
func (r *run) mayBeShort() bool {
	switch p := r.plan; {
	case r.schedule != nil:
		return r.schedule.time < shortRun
	case p.Count > 0:
		return true
	default:
		return p.Duration < shortRun
	}
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
		timer.Reset(time.Duration(w.boundary() - w.run.now()))
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
	if w.boundary() <= now {
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

// part returns the part of the run in which the current interval began: the warm-up, the
// counted time or the time after it. It ends at to. Boundaries are as long as tick away from
// each other and from zero.
func (w *watch) part() (zero, to, tick int64) {
	r, end := w.run, w.run.end.Load()
	switch {
	case w.at >= end:
		return end, never, w.interval
	case w.at < r.begin:
		return r.begin, min(r.begin, end), w.warmUp
	}
	return r.begin, end, w.interval
}

// boundary returns when the current interval ends. A closed loop has none after its end.
func (w *watch) boundary() int64 {
	if w.run.schedule == nil && w.at >= w.run.end.Load() {
		return never
	}
	zero, to, tick := w.part()
	return min(floor(w.at, zero, tick)+tick, to)
}

// boundaryBefore returns the last boundary that isn't after now, and isn't in another part
// of the run.
func (w *watch) boundaryBefore(now int64) int64 {
	zero, to, tick := w.part()
	return min(floor(now, zero, tick), to)
}

// floor returns the last time that isn't after at and is a multiple of tick away from zero.
func floor(at, zero, tick int64) int64 {
	since := (at - zero) % tick
	if since < 0 {
		since += tick
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
		case <-l.left:
			w.takeLast(i)
		}
	}
	w.listener.collect(w.sum, w.run.end.Load())
}

func (w *watch) take(i int, s *slice) {
	w.sum.merge(s)
	s.empty()
	w.spare[i] = s
}

// takeLast takes what a loop that has ended has counted.
func (w *watch) takeLast(i int) {
	l := w.run.loops[i]
	l.swap.Store(nil)
	select {
	case s := <-l.slice:
		w.take(i, s)
	default:
	}
	w.sum.merge(l.tally.slice)
	l.tally.slice.empty()
}

// last stores what is left when the loops have ended.
func (w *watch) last() {
	w.begin()
	w.end()
	for i := range w.run.loops {
		w.takeLast(i)
	}
	end, now := w.run.end.Load(), w.run.now()
	w.listener.collect(w.sum, end)
	w.listener.silentUntil(end, end)
	switch {
	case w.at < end:
		w.store(end)
	case now-w.at >= w.interval/2 && w.sum.good+w.sum.bad > 0:
		w.store(now)
	default: // a moment in which the last responses came
		in := w.describe(now)
		w.timeline.addResponses(&in, w.sum.latency)
	}
}

// store stores the current interval, which ends at to.
func (w *watch) store(to int64) {
	if to <= w.at {
		return // the run ended meanwhile, and earlier
	}
	in := w.describe(to)
	if tick := w.run.plan.Tick; tick != nil {
		tick(&in)
	}
	end := w.run.end.Load()
	w.timeline.add(&in, w.sum.latency, end)
	w.sum.empty()
	w.at = to
	if w.run.plan.Interval == 0 && w.interval < int64(coarse) && w.at < end && w.at-w.run.begin >= int64(shortRun) {
		w.interval = int64(coarse)
		w.timeline.widen(w.interval, end)
	}
}

// describe returns the current interval, which ends at to.
func (w *watch) describe(to int64) figures.Interval {
	r, s := w.run, w.sum
	in := figures.Interval{
		AtNS:    w.at - r.begin,
		Seconds: time.Duration(to - w.at).Seconds(),
		Good:    s.good, Bad: s.bad, NotConnected: s.notConnected,
		ServerCPU: -1,
	}
	if s.latency.Count() > 0 {
		in.MaxNS = int64(s.latency.At(1))
		setPercentiles(&in, s.latency)
	}
	if len(s.errors) > 0 {
		in.Errors = map[string]int64{}
		for kind, e := range s.errors {
			in.Errors[kind] = e.Count
		}
	}
	if r.schedule != nil {
		if w.at < r.end.Load() {
			in.Rate = r.schedule.rate(time.Duration((w.at+to)/2 - r.begin))
		}
		if s.late.Count() > 0 {
			in.LateP99NS = int64(s.late.At(.99))
		}
	}
	return in
}
