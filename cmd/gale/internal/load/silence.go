package load

import (
	"slices"
	"time"

	"github.com/galehttp/gale/internal/measure/figures"
)

const (
	// leastSilence is the time without a good response from which on it may be an outage.
	leastSilence = int64(time.Second)
	// standstill is the time between two polls from which on a loop didn't run. It polls every
	// maxScan. Whatever came meanwhile was not heard.
	standstill = int64(time.Second / 2)
	// usualSilence is how many times the usual latency a silence takes at most that is none
	// of the server's: with one connection, each response comes after a silence.
	usualSilence = 2
	// missedStarts is how many starts of an open loop fall into a silence at least that isn't
	// one of the schedule's.
	missedStarts = 2
)

// silence is a part of the counted time in which no good response came.
type silence struct{ from, to int64 }

// listener finds the silences of a run. It knows exactly when the first and the last good
// response of each collection came, so it doesn't matter how long intervals are.
type listener struct {
	begin    int64 // when the counted time begins
	heard    int64 // when the last good response came, or a loop ran again
	silences []silence
}

// collect takes what was counted since the last collection. The counted time ends at end.
func (n *listener) collect(s *slice, end int64) {
	stood := s.stillTo > 0
	if stood && (s.good == 0 || s.first > s.stillFrom) {
		n.silentUntil(s.stillFrom, end)
		n.heard = max(n.heard, s.stillTo)
	}
	if s.good > 0 {
		n.silentUntil(s.first, end)
		n.heard = max(n.heard, s.last)
	}
	if stood {
		n.heard = max(n.heard, s.stillTo)
	}
}

// stood notes that a loop didn't run for some time. Two such times of a slice become one.
func (s *slice) stood(from, to int64) {
	if s.stillTo == 0 {
		s.stillFrom = from
	}
	s.stillFrom, s.stillTo = min(s.stillFrom, from), max(s.stillTo, to)
}

// silentUntil notes that no good response came between the last one and to.
func (n *listener) silentUntil(to, end int64) {
	from := max(n.heard, n.begin)
	if to = min(to, end); to-from >= leastSilence {
		n.silences = append(n.silences, silence{from, to})
	}
}

// outages returns the silences in which the server should have answered.
func (r *run) outages(silences []silence, intervals []figures.Interval) (all figures.Outages) {
	patience := usualSilence * (usualLatency(intervals, r.schedule != nil) + int64(r.plan.Think))
	for _, s := range silences {
		at, length := time.Duration(s.from-r.begin), time.Duration(s.to-s.from)
		if int64(length) < patience {
			continue
		}
		if r.schedule != nil && r.schedule.starts(at+length)-r.schedule.starts(at) < missedStarts {
			continue
		}
		all.Add(figures.Outage{AtNS: int64(at), Seconds: length.Seconds()})
	}
	return all
}

// usualLatency returns the median of the intervals' medians, of those with good responses. In an
// open loop it is the lowest of them: the latencies after an outage have the outage in them.
func usualLatency(intervals []figures.Interval, open bool) int64 {
	var medians []int64
	for i := range intervals {
		if in := &intervals[i]; in.Good > 0 && in.AtNS >= 0 {
			medians = append(medians, in.P50NS)
		}
	}
	if len(medians) == 0 {
		return 0
	}
	slices.Sort(medians)
	if open {
		return medians[0]
	}
	return medians[len(medians)/2]
}
