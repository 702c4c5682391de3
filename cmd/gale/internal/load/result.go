package load

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/galehttp/gale/internal/measure/figures"
)

// result adds up what the loops have counted.
func (r *run) result(began time.Time, intervals []figures.Interval, silences []silence) (*figures.Run, error) {
	end := min(r.end.Load(), int64(time.Since(r.base)))
	seconds := time.Duration(max(end-r.begin, 0)).Seconds()
	out := &figures.Run{
		Format: figures.Format, Began: began, Seconds: seconds, Interrupted: r.interrupted,
		Statuses: map[string]int64{}, Intervals: intervals, Outages: r.outages(silences, intervals),
	}
	sum := newTally(r.plan)
	for _, l := range r.loops {
		sum.merge(l.tally)
		if seconds > 0 {
			busy := 1 - time.Duration(l.tally.waited).Seconds()/seconds
			out.Generator.Busy = max(out.Generator.Busy, min(busy, 1))
		}
	}
	all := stepTally{latency: figures.NewHistogram(), late: figures.NewHistogram()}
	for i := range sum.steps {
		all.merge(&sum.steps[i])
	}
	out.Requests = all.requests
	if seconds > 0 {
		out.RequestsPerSecond = float64(all.requests.Good) / seconds
	}
	for status, n := range sum.statuses {
		if n > 0 {
			out.Statuses[strconv.Itoa(status)] = n
		}
	}
	for _, e := range sum.errors {
		out.Errors = append(out.Errors, *e)
	}
	slices.SortFunc(out.Errors, func(a, b figures.ErrorCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Kind, b.Kind))
	})
	out.Bytes = sum.bytes
	out.Connections = figures.Connections{Opened: sum.opened, Reopened: sum.reopened, Resumed: sum.resumed, Resent: sum.resent}
	if sum.fewStreams < math.MaxInt {
		out.Connections.Streams = sum.fewStreams
	}
	return out, r.distributions(out, sum, &all)
}

// distributions sets the distributions of out.
func (r *run) distributions(out *figures.Run, sum *tally, all *stepTally) (err error) {
	set := func(d *figures.Distribution, h *figures.Histogram, whole bool) {
		if err == nil {
			*d, err = h.Distribution(whole)
		}
	}
	set(&out.Latency, all.latency, true)
	set(&out.Connections.Connect, sum.connect, true)
	set(&out.Connections.TLS, sum.handshake, true)
	set(&out.Generator.Wait, sum.waits, true)
	for i, t := range r.targets {
		o := figures.Target{URL: t.URL, Method: t.method, Weight: t.Weight, Requests: all.requests, Latency: out.Latency}
		if sum.targets != nil {
			o.Requests = sum.targets[i].requests
			set(&o.Latency, sum.targets[i].latency, true)
		}
		out.Targets = append(out.Targets, o)
	}
	if r.schedule == nil {
		return err
	}
	set(&out.Generator.Late, sum.late, true)
	out.Schedule = &figures.Schedule{Intended: all.requests.Sent + all.notSent, Waited: sum.queued, NotSent: all.notSent}
	if out.Schedule.Intended > 0 {
		out.Schedule.RateRatio = float64(all.requests.Sent) / float64(out.Schedule.Intended)
	}
	set(&out.Schedule.Late, all.late, true)
	for i := range sum.steps {
		s, ramp := &sum.steps[i], &r.schedule.ramps[i]
		o := figures.Step{
			AtNS: int64(ramp.at), Seconds: ramp.Time.Seconds(), Rate: (ramp.From + ramp.To) / 2, Requests: s.requests,
		}
		set(&o.Latency, s.latency, true)
		set(&o.Late, s.late, true)
		out.Steps = append(out.Steps, o)
	}
	return err
}

func (t *tally) merge(o *tally) {
	for i := range t.steps {
		t.steps[i].merge(&o.steps[i])
	}
	for i := range t.targets {
		addRequests(&t.targets[i].requests, &o.targets[i].requests)
		t.targets[i].latency.Merge(o.targets[i].latency)
	}
	for i, n := range o.statuses {
		t.statuses[i] += n
	}
	t.errors.merge(o.errors)
	t.bytes.Read += o.bytes.Read
	t.bytes.Written += o.bytes.Written
	t.opened += o.opened
	t.reopened += o.reopened
	t.resumed += o.resumed
	t.resent += o.resent
	t.connect.Merge(o.connect)
	t.handshake.Merge(o.handshake)
	t.waits.Merge(o.waits)
	t.late.Merge(o.late)
	t.queued += o.queued
	t.fewStreams = min(t.fewStreams, o.fewStreams)
}

func (s *stepTally) merge(o *stepTally) {
	addRequests(&s.requests, &o.requests)
	s.notSent += o.notSent
	s.latency.Merge(o.latency)
	if o.late != nil {
		s.late.Merge(o.late)
	}
}

func addRequests(a, b *figures.Requests) {
	a.Sent += b.Sent
	a.Good += b.Good
	a.Unexpected += b.Unexpected
	a.Failed += b.Failed
	a.Unanswered += b.Unanswered
	a.NotConnected += b.NotConnected
}

func (s *slice) merge(o *slice) {
	switch {
	case o.good == 0:
	case s.good == 0:
		s.first, s.last = o.first, o.last
	default:
		s.first, s.last = min(s.first, o.first), max(s.last, o.last)
	}
	if o.stillTo > 0 {
		s.stood(o.stillFrom, o.stillTo)
	}
	s.good += o.good
	s.bad += o.bad
	s.notConnected += o.notConnected
	s.errors.merge(o.errors)
	s.latency.Merge(o.latency)
	if o.late != nil {
		s.late.Merge(o.late)
	}
}
