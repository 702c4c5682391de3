package figures

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Merge returns one document of several runs with equal settings: counts and times are
// sums, histograms are merged without loss, and the intervals follow one another. It judges
// the whole again. The documents aren't changed.
func Merge(runs []*Run) (*Run, error) {
	if len(runs) == 0 {
		return nil, errors.New("there are no runs to merge")
	}
	m := *runs[0]
	m.Runs = max(m.Runs, 1)
	m.copyLists()
	for _, r := range runs[1:] {
		if d := differences(&m, r, false); len(d) > 0 {
			return nil, fmt.Errorf("runs with different settings can't be merged: %s", strings.Join(d, ", "))
		}
		if err := m.add(r); err != nil {
			return nil, err
		}
	}
	m.Verdict = Judge(&m)
	return &m, nil
}

// copyLists gives r lists, maps and parts of its own.
func (r *Run) copyLists() {
	r.Errors = append([]ErrorCount{}, r.Errors...)
	r.Outages.List = append([]Outage{}, r.Outages.List...)
	r.Targets = append([]Target{}, r.Targets...)
	r.Steps = append([]Step(nil), r.Steps...)
	r.Intervals = append([]Interval{}, r.Intervals...)
	statuses := map[string]int64{}
	for k, n := range r.Statuses {
		statuses[k] = n
	}
	r.Statuses = statuses
	if r.Schedule != nil {
		s := *r.Schedule
		r.Schedule = &s
	}
	if r.Server != nil {
		s := *r.Server
		r.Server = &s
	}
}

// add adds o, which has the same settings.
func (r *Run) add(o *Run) error {
	r.addIntervals(o)
	r.addOutages(&o.Outages)
	responses := r.responses()
	r.Runs += max(o.Runs, 1)
	r.Interrupted = r.Interrupted || o.Interrupted
	before := r.Seconds
	r.Seconds += o.Seconds
	r.Requests.add(o.Requests)
	r.RequestsPerSecond = ratio(float64(r.Requests.Good), r.Seconds)
	r.addErrors(o.Errors)
	for k, n := range o.Statuses {
		r.Statuses[k] += n
	}
	r.Bytes.Read += o.Bytes.Read
	r.Bytes.Written += o.Bytes.Written
	r.Connections.Opened += o.Connections.Opened
	r.Connections.Reopened += o.Connections.Reopened
	r.Connections.Resumed += o.Connections.Resumed
	r.Connections.Resent += o.Connections.Resent
	r.addGenerator(o, before)
	r.addServer(o, before, responses)
	return errors.Join(
		r.Latency.merge(&o.Latency),
		r.Connections.Connect.merge(&o.Connections.Connect),
		r.Connections.TLS.merge(&o.Connections.TLS),
		r.addSchedule(o.Schedule),
		r.addTargets(o.Targets),
		r.addSteps(o.Steps),
	)
}

// responses returns how many complete responses there were.
func (r *Run) responses() int64 { return r.Requests.Good + r.Requests.Unexpected }

func (r *Requests) add(o Requests) {
	r.Sent += o.Sent
	r.Good += o.Good
	r.Unexpected += o.Unexpected
	r.Failed += o.Failed
	r.Unanswered += o.Unanswered
	r.NotConnected += o.NotConnected
}

// addOutages appends o's outages, with the time of the runs before.
func (r *Run) addOutages(o *Outages) {
	all := &r.Outages
	all.Count += o.Count
	all.Seconds += o.Seconds
	all.LongestSeconds = max(all.LongestSeconds, o.LongestSeconds)
	for _, one := range o.List {
		if len(all.List) >= MaxOutages {
			break
		}
		one.AtNS += int64(r.Seconds * float64(time.Second))
		all.List = append(all.List, one)
	}
}

// addIntervals appends o's intervals, with the time of the runs before. A warm-up in the
// middle is of no use. What came after the end of a run is in its last interval.
func (r *Run) addIntervals(o *Run) {
	r.Intervals = r.withoutWait()
	shift := int64(r.Seconds * float64(time.Second))
	for _, in := range o.withoutWait() {
		if in.AtNS < 0 {
			continue
		}
		in.AtNS += shift
		r.Intervals = append(r.Intervals, in)
	}
}

// withoutWait returns the intervals, of which the last one has the responses that came
// after the counted time.
func (r *Run) withoutWait() []Interval {
	end := slices.IndexFunc(r.Intervals, func(in Interval) bool { return r.isAfter(&in) })
	if end <= 0 {
		return r.Intervals
	}
	all := append([]Interval{}, r.Intervals[:end]...)
	last := &all[end-1]
	histogram := last.Histogram
	for i := range r.Intervals[end:] {
		last.JoinResponses(&r.Intervals[end+i])
	}
	last.Histogram = histogram
	return all
}

func (r *Run) addErrors(errors []ErrorCount) {
next:
	for _, e := range errors {
		for i := range r.Errors {
			if r.Errors[i].Kind == e.Kind {
				r.Errors[i].Count += e.Count
				continue next
			}
		}
		r.Errors = append(r.Errors, e)
	}
}

// addGenerator adds what the generator used. Shares of time are averages over the time.
func (r *Run) addGenerator(o *Run, before float64) {
	g, og := &r.Generator, &o.Generator
	g.CPUSeconds += og.CPUSeconds
	g.CPUPerRequest = int64(ratio(g.CPUSeconds*1e9, float64(r.responses())))
	g.Busy = average(g.Busy, before, og.Busy, o.Seconds)
	g.DelaySeconds = sumKnown(g.DelaySeconds, og.DelaySeconds)
	g.GCPauses += og.GCPauses
	g.GCPauseMaxNS = max(g.GCPauseMaxNS, og.GCPauseMaxNS)
	g.Others = average(g.Others, before, og.Others, o.Seconds)
	g.Stolen = average(g.Stolen, before, og.Stolen, o.Seconds)
	if g.Wait.merge(&og.Wait) != nil { // no histogram: no percentiles
		g.Wait = Distribution{}
	}
	if g.Late.merge(&og.Late) != nil {
		g.Late = Distribution{}
	}
}

// addServer adds what the server used. responses are those without o's.
func (r *Run) addServer(o *Run, before float64, responses int64) {
	if r.Server == nil || o.Server == nil {
		r.Server = nil // it was seen in a part of the time only
		return
	}
	s, os := r.Server, o.Server
	n, on := float64(responses), float64(o.responses())
	s.CPUSeconds += os.CPUSeconds
	s.CPUPerRequest = int64(ratio(s.CPUSeconds*1e9, n+on))
	s.DelaySeconds = sumKnown(s.DelaySeconds, os.DelaySeconds)
	s.Busy = average(s.Busy, before, os.Busy, o.Seconds)
	s.BusiestThread = average(s.BusiestThread, before, os.BusiestThread, o.Seconds)
	s.MemoryByte = max(s.MemoryByte, os.MemoryByte)
	s.Threads = max(s.Threads, os.Threads)
	s.Processes = max(s.Processes, os.Processes)
	s.Ended = s.Ended || os.Ended
	s.Goroutines = max(s.Goroutines, os.Goroutines)
	s.HeapByte = max(s.HeapByte, os.HeapByte)
	s.AllocsPerRequest = average(s.AllocsPerRequest, n, os.AllocsPerRequest, on)
	s.AllocatedPerRequest = average(s.AllocatedPerRequest, n, os.AllocatedPerRequest, on)
	s.Collections += os.Collections
}

func (r *Run) addSchedule(o *Schedule) error {
	if r.Schedule == nil || o == nil {
		return nil // both are: the settings are equal
	}
	s := r.Schedule
	s.Intended += o.Intended
	s.NotSent += o.NotSent
	s.RateRatio = share(s.Intended-s.NotSent, s.Intended)
	return s.Late.merge(&o.Late)
}

func (r *Run) addTargets(targets []Target) error {
	if len(targets) != len(r.Targets) {
		return errors.New("the runs have different numbers of URLs")
	}
	for i := range targets {
		r.Targets[i].Requests.add(targets[i].Requests)
		if err := r.Targets[i].Latency.merge(&targets[i].Latency); err != nil {
			return err
		}
	}
	return nil
}

func (r *Run) addSteps(steps []Step) error {
	if len(steps) != len(r.Steps) {
		return errors.New("the runs have different numbers of steps")
	}
	for i := range steps {
		s, o := &r.Steps[i], &steps[i]
		s.Seconds += o.Seconds
		s.Requests.add(o.Requests)
		if err := errors.Join(s.Latency.merge(&o.Latency), s.Late.merge(&o.Late)); err != nil {
			return err
		}
	}
	return nil
}

// merge adds o to d by their histograms.
func (d *Distribution) merge(o *Distribution) error {
	switch {
	case o.Count == 0:
		return nil
	case d.Count == 0:
		*d = *o
		return nil
	}
	a, err := d.Decode()
	if err != nil {
		return err
	}
	b, err := o.Decode()
	if err != nil {
		return err
	}
	a.Merge(b)
	*d, err = a.Distribution(true)
	return err
}

// average weighs two values. It is -1 if one is unknown.
func average(a, weightA, b, weightB float64) float64 {
	if a < 0 || b < 0 {
		return -1
	}
	return ratio(a*weightA+b*weightB, weightA+weightB)
}

func sumKnown(a, b float64) float64 {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}
