package load

import (
	"math"
	"time"

	"github.com/galehttp/gale/internal/measure/figures"
)

// tally is what one loop has counted in the counted time.
type tally struct {
	steps    []stepTally   // one in a closed loop
	targets  []targetTally // empty if there is only one
	statuses [1000]int64
	errors   errorCounts
	bytes    figures.Bytes

	opened, reopened, resumed int64
	resent                    int64 // requests
	connect, handshake        *figures.Histogram

	waits  *figures.Histogram // of bytes for their read
	late   *figures.Histogram // starts that the loop itself was late for
	waited int64              // time in poll
	queued int64              // starts that had to wait for a connection
	last   int64              // when the last counted request ended

	fewStreams int // that a server allows at a time, if they are fewer than those asked for

	slice *slice // the current interval
}

type stepTally struct {
	requests      figures.Requests
	notSent       int64
	latency, late *figures.Histogram
}

type targetTally struct {
	requests figures.Requests
	latency  *figures.Histogram
}

// slice is what one loop has counted in an interval, the warm-up included.
type slice struct {
	good, bad    int64
	notConnected int64 // attempts
	first, last  int64 // when good responses came, if there were any

	stillFrom, stillTo int64 // when a loop didn't run; 0: it did all the time

	errors        errorCounts
	latency, late *figures.Histogram
}

func newSlice(open bool) *slice {
	s := &slice{errors: errorCounts{}, latency: figures.NewHistogram()}
	if open {
		s.late = figures.NewHistogram()
	}
	return s
}

func (s *slice) empty() {
	s.good, s.bad, s.notConnected = 0, 0, 0
	s.stillFrom, s.stillTo = 0, 0
	s.latency.Reset()
	if s.late != nil {
		s.late.Reset()
	}
	clear(s.errors)
}

func newTally(p *Plan) *tally {
	open := len(p.Schedule) > 0
	t := &tally{
		steps: make([]stepTally, max(len(p.Schedule), 1)), errors: errorCounts{},
		connect: figures.NewHistogram(), handshake: figures.NewHistogram(),
		waits: figures.NewHistogram(), late: figures.NewHistogram(),
		slice: newSlice(open), fewStreams: math.MaxInt,
	}
	for i := range t.steps {
		t.steps[i].latency = figures.NewHistogram()
		if open {
			t.steps[i].late = figures.NewHistogram()
		}
	}
	if len(p.Targets) > 1 {
		t.targets = make([]targetTally, len(p.Targets))
		for i := range t.targets {
			t.targets[i].latency = figures.NewHistogram()
		}
	}
	return t
}

// outcome is what became of a request.
type outcome uint8

const (
	good outcome = iota
	unexpected
	failed
	unanswered
)

// count counts what became of a counted request. latency says whether d is in the
// distribution.
func (t *tally) count(e *exchange, o outcome, d int64, latency bool) {
	s := &t.steps[e.step]
	s.requests.Sent++
	add(&s.requests, o)
	if latency {
		s.latency.Add(time.Duration(d))
	}
	if t.targets == nil {
		return
	}
	g := &t.targets[e.target]
	g.requests.Sent++
	add(&g.requests, o)
	if latency {
		g.latency.Add(time.Duration(d))
	}
}

func add(r *figures.Requests, o outcome) {
	switch o {
	case good:
		r.Good++
	case unexpected:
		r.Unexpected++
	case failed:
		r.Failed++
	case unanswered:
		r.Unanswered++
	}
}

// errorCounts are errors by kind, at most maxKinds.
type errorCounts map[string]*figures.ErrorCount

const (
	maxKinds   = 64
	maxExample = 200 // bytes
)

func (m errorCounts) add(kind, text string, n int64) {
	e := m[kind]
	if e == nil && len(m) >= maxKinds {
		kind = "other"
		e = m[kind]
	}
	if e == nil {
		if len(text) > maxExample {
			text = text[:maxExample]
		}
		e = &figures.ErrorCount{Kind: kind, Example: text}
		m[kind] = e
	}
	e.Count += n
}

func (m errorCounts) merge(o errorCounts) {
	for kind, e := range o {
		m.add(kind, e.Example, e.Count)
	}
}
