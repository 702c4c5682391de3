package figures

import (
	"maps"
	"slices"
	"time"
)

// Join puts o, the interval after in, into in. Counts are sums. Rates, cores and shares are
// averages over the time. Percentiles, lateness and what is held (memory, goroutines) are
// the higher ones. There is no histogram afterwards: a caller that has both can merge them.
func (in *Interval) Join(o *Interval) {
	both := in.Seconds + o.Seconds
	in.Rate = weigh(in, o, in.Rate, o.Rate)
	in.GeneratorCPU = weigh(in, o, in.GeneratorCPU, o.GeneratorCPU)
	in.ServerCPU = weighKnown(in, o, in.ServerCPU, o.ServerCPU)
	in.Others = weighKnown(in, o, in.Others, o.Others)
	in.ServerMemory, in.HeapByte = max(in.ServerMemory, o.ServerMemory), max(in.HeapByte, o.HeapByte)
	in.Goroutines = max(in.Goroutines, o.Goroutines)
	in.JoinResponses(o)
	in.Seconds = both
}

// JoinResponses adds the responses of o to in and leaves the time of in as it is. It is for
// the end of a run: responses that come a moment later belong to the last interval.
func (in *Interval) JoinResponses(o *Interval) {
	in.Good, in.Bad = in.Good+o.Good, in.Bad+o.Bad
	in.NotConnected += o.NotConnected
	in.P50NS, in.P90NS = max(in.P50NS, o.P50NS), max(in.P90NS, o.P90NS)
	in.P99NS, in.MaxNS = max(in.P99NS, o.P99NS), max(in.MaxNS, o.MaxNS)
	in.LateP99NS = max(in.LateP99NS, o.LateP99NS)
	in.Histogram = ""
	if len(o.Errors) == 0 {
		return
	}
	sum := maps.Clone(o.Errors) // in may share its map with a copy
	for kind, n := range in.Errors {
		sum[kind] += n
	}
	in.Errors = sum
}

func weigh(in, o *Interval, a, b float64) float64 {
	if in.Seconds+o.Seconds <= 0 {
		return a
	}
	return (a*in.Seconds + b*o.Seconds) / (in.Seconds + o.Seconds)
}

// weighKnown is weigh for values that are negative if they are unknown.
func weighKnown(in, o *Interval, a, b float64) float64 {
	switch {
	case a < 0:
		return b
	case b < 0:
		return a
	}
	return weigh(in, o, a, b)
}

// joined returns the intervals of a group as one.
func joined(group []Interval) Interval {
	all := group[0]
	for i := range group[1:] {
		all.Join(&group[1+i])
	}
	return all
}

// nearly is the part of a time that counts as all of it: sums of seconds aren't exact.
const nearly = 0.999

// groups returns the intervals of the counted time in groups that take a second or more:
// rates of shorter times vary by themselves. Responses that came after the counted time
// belong to the last group. A last group that is much shorter than the others is left out.
func groups(run *Run) [][]Interval {
	intervals := run.Intervals
	for len(intervals) > 0 && intervals[0].AtNS < 0 {
		intervals = intervals[1:]
	}
	var all [][]Interval
	for len(intervals) > 0 {
		n, seconds := 1, intervals[0].Seconds
		for n < len(intervals) && (seconds < nearly || run.isAfter(&intervals[n])) {
			if !run.isAfter(&intervals[n]) {
				seconds += intervals[n].Seconds
			}
			n++
		}
		all, intervals = append(all, intervals[:n]), intervals[n:]
	}
	if n := len(all); n > 1 && run.secondsOf(all[n-1]) < run.secondsOf(all[0])/2 {
		all = all[:n-1]
	}
	return all
}

// isAfter reports whether in is after the counted time, when an open loop waits for the
// last responses.
func (r *Run) isAfter(in *Interval) bool {
	end := time.Duration(r.Seconds * float64(time.Second))
	return r.Schedule != nil && in.Rate == 0 && in.AtNS > 0 && time.Duration(in.AtNS) > end-time.Millisecond
}

// secondsOf returns how much of the counted time a group takes.
func (r *Run) secondsOf(group []Interval) (seconds float64) {
	for i := range group {
		if !r.isAfter(&group[i]) {
			seconds += group[i].Seconds
		}
	}
	return seconds
}

// counted returns the groups of a run's intervals, each as one interval.
func counted(run *Run) []Interval {
	var all []Interval
	for _, group := range groups(run) {
		all = append(all, run.counted(group))
	}
	return all
}

// counted returns a group as one interval, whose time is that of the counted time only.
func (r *Run) counted(group []Interval) Interval {
	end := slices.IndexFunc(group, func(in Interval) bool { return r.isAfter(&in) })
	if end <= 0 {
		return joined(group)
	}
	all := joined(group[:end])
	for i := range group[end:] {
		all.JoinResponses(&group[end+i])
	}
	return all
}
