package main

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/galehttp/gale/cmd/gale/internal/load"
)

// Limits of -rate.
const (
	maxRate  = 1e7 // requests per second
	maxSteps = 1000
)

// rateFlag is the schedule of an open loop.
type rateFlag struct {
	text  string
	steps []load.Ramp // a Time of 0 is a share of -d
}

func (f *rateFlag) String() string { return f.text }

// Set reads RATE, FROM:TO, and lists of them separated by commas, each with "xDURATION"
// or none with it.
func (f *rateFlag) Set(s string) error {
	*f = rateFlag{text: s}
	timed := 0
	for part := range strings.SplitSeq(s, ",") {
		step, err := parseStep(strings.TrimSpace(part))
		if err != nil {
			return err
		}
		if step.Time > 0 {
			timed++
		}
		f.steps = append(f.steps, step)
	}
	switch {
	case len(f.steps) > maxSteps:
		return errors.New("use at most 1000 steps")
	case timed > 0 && timed < len(f.steps):
		return errors.New("give each step its duration, as in 1000x10s,2000x20s, or none and -d for all of them")
	}
	return nil
}

var errRate = errors.New("write requests per second, as in 5000, 1000:10000, 1000,2000,4000 or 1000x10s,2000x20s")

func parseStep(s string) (step load.Ramp, err error) {
	rates, text, timed := strings.Cut(s, "x")
	if timed {
		if step.Time, err = time.ParseDuration(text); err != nil || step.Time <= 0 {
			return step, errRate
		}
	}
	from, to, ramp := strings.Cut(rates, ":")
	if !ramp {
		to = from
	}
	if step.From, err = parseRate(from); err != nil {
		return step, err
	}
	if step.To, err = parseRate(to); err != nil {
		return step, err
	}
	if step.From == 0 && step.To == 0 {
		return step, errors.New("a rate of 0 sends nothing: give one above 0")
	}
	return step, nil
}

func parseRate(s string) (float64, error) {
	rate, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil || !(rate >= 0): // NaN too
		return 0, errRate
	case rate > maxRate:
		return 0, errors.New("use at most 10000000 requests per second")
	}
	return rate, nil
}

// timed reports whether the steps have their own durations.
func (f *rateFlag) timed() bool { return len(f.steps) > 0 && f.steps[0].Time > 0 }

// changes reports whether the rate isn't the same all the time.
func (f *rateFlag) changes() bool {
	return len(f.steps) > 1 || len(f.steps) == 1 && f.steps[0].From != f.steps[0].To
}

// longest returns how many seconds the schedule takes if that doesn't depend on -d: for n
// requests, or by the durations of its steps.
func (f *rateFlag) longest(n int) (seconds float64) {
	if !f.timed() {
		return float64(n) / f.steps[0].From // with a number there is one rate
	}
	for _, step := range f.steps {
		seconds += step.Time.Seconds()
	}
	return seconds
}

// schedule returns the schedule of a run that takes d, or sends n requests if d is 0.
func (f *rateFlag) schedule(d time.Duration, n int) []load.Ramp {
	if len(f.steps) == 0 || f.timed() {
		return f.steps
	}
	if d == 0 {
		d = time.Duration(math.Ceil(float64(n) / f.steps[0].From * float64(time.Second)))
	}
	each := d / time.Duration(len(f.steps))
	schedule := make([]load.Ramp, len(f.steps))
	for i, step := range f.steps {
		schedule[i] = load.Ramp{From: step.From, To: step.To, Time: each}
	}
	return schedule
}

// time returns how long a schedule takes.
func scheduleTime(schedule []load.Ramp) (d time.Duration) {
	for _, step := range schedule {
		d += step.Time
	}
	return d
}
