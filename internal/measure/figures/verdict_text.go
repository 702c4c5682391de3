package figures

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// failureText says what went wrong in a run that had some good responses.
func (f *facts) failureText() string {
	var parts []string
	add := func(when bool, text string) {
		if when {
			parts = append(parts, text)
		}
	}
	add(f.run.Outages.Count > 0, f.outageText())
	add(f.hasManyFailures(), f.shareText())
	e, ok := mostFrequent(f.run.Errors)
	add(ok, errorText(&e))
	add(!ok && f.run.Outages.Count > 0 && f.run.Requests.Unanswered > 0, plural(float64(f.run.Requests.Unanswered), "request", "requests")+" waited for a response until the end.")
	if f.open {
		at, ok := f.lastHeld()
		add(ok, at)
	}
	return strings.Join(parts, " ")
}

// outageText says for how long no good response came.
func (f *facts) outageText() string {
	o := &f.run.Outages
	var last Outage
	if n := len(o.List); n > 0 { // a document may come from somewhere else
		last = o.List[n-1]
	}
	at := time.Duration(last.AtNS).Seconds()
	toTheEnd := o.Count == int64(len(o.List)) && at+last.Seconds >= nearly*f.run.Seconds
	switch {
	case toTheEnd && o.Count == 1 && last.AtNS == 0: // some came after the counted time
		return "The server didn't answer: no good response came in " + seconds(f.run.Seconds) + "."
	case toTheEnd && o.Count == 1:
		return fmt.Sprintf("The server stopped answering after %s: no good response came in the last %s.", seconds(at), seconds(last.Seconds))
	case toTheEnd:
		return fmt.Sprintf("The server stopped answering %s, for %s of %s; after %s no good response came any more.", plural(float64(o.Count), "time", "times"), seconds(o.Seconds), seconds(f.run.Seconds), seconds(at))
	case o.Count == 1:
		from := seconds(at)
		if last.AtNS == 0 {
			from = "the start"
		}
		return fmt.Sprintf("The server stopped answering for %s of %s: no good response came from %s on.", seconds(o.Seconds), seconds(f.run.Seconds), from)
	}
	return fmt.Sprintf("The server stopped answering %s, for %s of %s, the longest time for %s.", plural(float64(o.Count), "time", "times"), seconds(o.Seconds), seconds(f.run.Seconds), seconds(o.LongestSeconds))
}

// shareText says how many attempts had no good response.
func (f *facts) shareText() string {
	r := &f.run.Requests
	if r.NotConnected == 0 {
		return fmt.Sprintf("%s of %s requests had no good response (%s).", FormatCount(r.Failures()), FormatCount(r.Attempts()), FormatShare(r.FailedShare()))
	}
	return fmt.Sprintf("%s of %s attempts had no good response (%s): %s, and %s to connect.", FormatCount(r.Failures()), FormatCount(r.Attempts()), FormatShare(r.FailedShare()),
		plural(float64(r.Unexpected+r.Failed), "request", "requests"), plural(float64(r.NotConnected), "attempt", "attempts"))
}

// errorText says which error came most often.
func errorText(e *ErrorCount) string {
	return fmt.Sprintf("The most frequent error was %s, %s: %s.", printable(e.Kind, 40), plural(float64(e.Count), "time", "times"), strings.TrimSuffix(printable(e.Example, 200), "."))
}

// noneGood says that no response was good, with the most frequent reason.
func (f *facts) noneGood() string {
	r := f.run.Requests
	if r.Sent == 0 && len(f.run.Errors) == 0 {
		return "No request was counted."
	}
	text := fmt.Sprintf("None of %s requests had a good response.", FormatCount(r.Sent))
	if r.Sent == 0 {
		text = "No request could be sent."
	}
	e, ok := mostFrequent(f.run.Errors)
	switch {
	case ok:
		text += " " + errorText(&e)
	case r.Sent > 0:
		text = fmt.Sprintf("None of %s requests had a good response: within %s there was no complete one.", FormatCount(r.Sent), seconds(f.run.Seconds))
	}
	return text
}

func mostFrequent(errors []ErrorCount) (most ErrorCount, ok bool) {
	for _, e := range errors {
		if !ok || e.Count > most.Count {
			most, ok = e, true
		}
	}
	return most, ok
}

// serverCores says how much of its cores the server used.
func (f *facts) serverCores() string {
	s := f.run.Server
	return fmt.Sprintf("%s of its %s", digits(ratio(s.CPUSeconds, f.run.Seconds)), plural(s.Allowed, "core", "cores"))
}

func plural(n float64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	if n == math.Trunc(n) && math.Abs(n) < 1e15 {
		return FormatCount(int64(n)) + " " + many
	}
	return digits(n) + " " + many
}

// waiting says how much the generator's busiest loop waited.
func (f *facts) waiting() string {
	return fmt.Sprintf("the generator's busiest loop waited %s of the time", FormatShare(max(1-f.loop, 0)))
}

func (f *facts) serverFullText() string {
	s := f.run.Server
	used := "it used " + f.serverCores()
	if s.Busy < serverFull {
		used = "its busiest thread ran " + FormatShare(s.BusiestThread) + " of the time"
	}
	return fmt.Sprintf("The server was the limit: %s, while %s.", used, f.waiting())
}

func (f *facts) serverText() string {
	switch {
	case f.server < 0:
		return fmt.Sprintf("The server was the limit, or the network: %s. Watch its process with --pid to learn more.", f.waiting())
	case f.server < serverIdle:
		return fmt.Sprintf("The server was the limit, but not by its CPU time: it used %s, while %s. It waited for something itself, or more connections (-c) would give it more to do.", f.serverCores(), f.waiting())
	}
	return fmt.Sprintf("The server was the limit: it used %s, while %s.", f.serverCores(), f.waiting())
}

func (f *facts) heldUpText() string {
	if f.held < heldLimit {
		return fmt.Sprintf("The generator was the limit: it was held up inside for %s for each start. The figures describe the generator, not the server.",
			FormatDuration(int64(f.heldForStart())))
	}
	return fmt.Sprintf("The generator was the limit: its busiest loop worked %s of the time, but used only %s of a core, so it was held up inside. The figures describe the generator, not the server.",
		FormatShare(f.loop), FormatShare(f.loopCPU))
}

func (f *facts) generatorText() string {
	text := fmt.Sprintf("The generator was the limit: its busiest loop worked %s of the time", FormatShare(f.loop))
	if f.server >= 0 {
		text += ", while the server used " + f.serverCores()
	}
	return text + ". The figures describe the generator. Give it more threads and cores of its own."
}

func (f *facts) sharedText() string {
	generator := digits(ratio(f.run.Generator.CPUSeconds, f.run.Seconds))
	if f.server < 0 {
		return fmt.Sprintf("The generator and the server wanted the same cores: %s of all was used, %s cores by the generator. Pin both to cores of their own, or compare the server's CPU time per request with --pid.",
			FormatShare(min(f.used, 1)), generator)
	}
	return fmt.Sprintf("The generator and the server wanted the same cores: %s of them was used, %s cores by the generator and %s by the server. Pin both to cores of their own, or compare the CPU time per request.",
		FormatShare(min(f.used, 1)), generator, digits(ratio(f.run.Server.CPUSeconds, f.run.Seconds)))
}

func (f *facts) rateHeldText() string {
	s := f.run.Schedule
	text := fmt.Sprintf("The rate was held: %s of %s requests were sent, with starts late by %s at p99", FormatCount(f.run.Requests.Sent), FormatCount(s.Intended), FormatDuration(s.Late.P99NS))
	if f.server < 0 {
		return text + "."
	}
	return text + ", and the server used " + f.serverCores() + "."
}

func (f *facts) lateText() string {
	return fmt.Sprintf("the generator's own lateness was %s at p99, and the latencies have %s at p99",
		FormatDuration(f.run.Generator.Late.P99NS), FormatDuration(f.run.Latency.P99NS))
}

func (f *facts) halfLateText() string {
	return fmt.Sprintf("the generator's own lateness was %s or more for half of the requests, and half of the latencies are below %s",
		FormatDuration(f.run.Generator.Late.P50NS), FormatDuration(f.run.Latency.P50NS))
}

// slowText says why the rate wasn't held if the generator had time.
func (f *facts) slowText() string {
	s := f.run.Schedule
	waited := share(f.waited(), s.Intended)
	text := ""
	switch {
	case f.server >= serverFull:
		text = "The server was at its limit: it used " + f.serverCores()
	case waited >= 0.01:
		text = fmt.Sprintf("%s of the starts waited for a connection: the server answered too slowly for %s",
			FormatShare(waited), plural(float64(f.run.Settings.Connections), "connection", "connections"))
	default:
		text = "The server didn't keep up"
	}
	text += ", while " + f.waiting() + "."
	if waited >= 0.01 && f.server < serverFull {
		text += " More connections (-c) may help."
	}
	if at, ok := f.lastHeld(); ok {
		text += " " + at
	}
	return text
}

// lastHeld says up to which step of a ramp the rate was held.
func (f *facts) lastHeld() (string, bool) {
	held := 0.0
	if len(f.run.Steps) < 2 {
		return "", false
	}
	for i, s := range f.run.Steps {
		if share(s.Requests.Good, int64(s.Rate*s.Seconds)) < keptUp {
			if i == 0 {
				return "", false
			}
			return fmt.Sprintf("It was held up to the step of %s requests/s.", FormatRate(held)), true
		}
		held = s.Rate
	}
	return "", false
}

// stallText says how few responses of a closed loop show the longest pause.
func (f *facts) stallText() string {
	l := &f.run.Latency
	few := "few"
	if h, err := l.Decode(); err == nil {
		few = "only " + FormatCount(h.atLeast(time.Duration(l.MaxNS/2))) + " of " + FormatCount(l.Count)
	}
	return fmt.Sprintf("A response took %s, far more than p99. A closed loop sends nothing while it waits, so %s responses took half as long or more. Use --rate to see how many users such a pause would meet.",
		FormatDuration(l.MaxNS), few)
}

// statuses writes how often which status came, the most frequent first.
func statuses(run *Run) string {
	keys := slices.SortedFunc(maps.Keys(run.Statuses), func(a, b string) int {
		if d := run.Statuses[b] - run.Statuses[a]; d != 0 {
			return int(min(max(d, -1), 1))
		}
		return strings.Compare(a, b)
	})
	var parts []string
	for i, k := range keys {
		if i == 8 {
			parts = append(parts, fmt.Sprintf("%d more", len(keys)-i))
			break
		}
		parts = append(parts, printable(k, 10)+": "+FormatCount(run.Statuses[k]))
	}
	return strings.Join(parts, ", ")
}
