package load

import (
	"math"
	"sort"
	"time"
)

// schedule gives the intended start of each request of an open loop, from its number
// alone, so that errors don't add up.
type schedule struct {
	ramps []rampStart
	total int64         // starts
	time  time.Duration // of all ramps
}

// rampStart is a Ramp with what comes before it.
type rampStart struct {
	Ramp
	at    time.Duration // when it begins
	count float64       // the integral of the rate until then
}

func newSchedule(ramps []Ramp) *schedule {
	s := &schedule{}
	var count float64
	for _, r := range ramps {
		s.ramps = append(s.ramps, rampStart{r, s.time, count})
		count += (r.From + r.To) / 2 * r.Time.Seconds()
		s.time += r.Time
	}
	// Request n starts when the integral of the rate reaches n, so the first one starts at
	// once. The small number takes away what rounding added.
	s.total = int64(math.Ceil(count - 1e-6))
	return s
}

// at returns when request n starts, and the index of its ramp. n is below total.
func (s *schedule) at(n int64) (time.Duration, int) {
	x := float64(n)
	i := 0
	if len(s.ramps) > 1 {
		i = sort.Search(len(s.ramps), func(i int) bool { return s.ramps[i].count > x }) - 1
	}
	r := &s.ramps[i]
	x -= r.count
	var t float64 // seconds
	if r.From == r.To {
		t = x / r.From
	} else {
		// x = From*t + (To-From)*t*t/(2*Time), solved for t without subtracting roots.
		t = 2 * x / (r.From + math.Sqrt(max(r.From*r.From+2*(r.To-r.From)*x/r.Time.Seconds(), 0)))
	}
	if x <= 0 {
		t = 0
	}
	return r.at + min(time.Duration(t*1e9), r.Time-1), i
}

// rate returns the intended rate at t.
func (s *schedule) rate(t time.Duration) float64 {
	r := &s.ramps[s.stepAt(t)]
	return r.From + (r.To-r.From)*r.share(t)
}

// starts returns how many requests start until t.
func (s *schedule) starts(t time.Duration) float64 {
	r := &s.ramps[s.stepAt(t)]
	share := r.share(t)
	return min(r.count+(r.From+(r.To-r.From)*share/2)*share*r.Time.Seconds(), float64(s.total))
}

// stepAt returns the index of the ramp at t, of the first or the last one at other times.
func (s *schedule) stepAt(t time.Duration) int {
	for i := range s.ramps {
		if r := &s.ramps[i]; t < r.at+r.Time {
			return i
		}
	}
	return len(s.ramps) - 1
}

// share returns which part of the ramp has passed at t.
func (r *rampStart) share(t time.Duration) float64 {
	return min(max((t-r.at).Seconds()/r.Time.Seconds(), 0), 1)
}
