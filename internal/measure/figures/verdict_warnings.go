package figures

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Thresholds of warnings.
const (
	tailSamples = 10                     // responses above a percentile that make it worth reading
	longStall   = 100 * time.Millisecond // a response that a closed loop's percentiles may hide
	stallFactor = 5                      // likewise, in times of p99
	shortRun    = 2.0                    // seconds below which start-up is a large part of a run
	memoryGrew  = 1.2                    // from the first interval to the last
	memoryByte  = 10_000_000             // likewise, at least
)

// warnings returns what else a reader must know, one sentence each.
func (f *facts) warnings() []string {
	var w []string
	add := func(when bool, format string, args ...any) {
		if when {
			w = append(w, fmt.Sprintf(format, args...))
		}
	}
	f.warnOfTime(add)
	f.warnOfResponses(add)
	f.warnOfLatency(add)
	f.warnOfServer(add)
	f.warnOfMachine(add)
	return w
}

func (f *facts) warnOfTime(add func(bool, string, ...any)) {
	run := f.run
	asked := time.Duration(run.Settings.DurationNS).Seconds()
	switch {
	case run.Interrupted && asked > 0:
		add(true, "The run was ended early, after %s of %s.", seconds(run.Seconds), seconds(asked))
	case run.Interrupted:
		add(true, "The run was ended early, after %s and %s of %s requests.", seconds(run.Seconds), FormatCount(run.Requests.Sent), FormatCount(run.Settings.Count))
	case asked > 0 && run.Settings.Count == 0 && run.Seconds < 0.95*asked:
		add(true, "Only %s of %s could be counted.", seconds(run.Seconds), seconds(asked))
	case run.Seconds < shortRun && run.Requests.Good > 0 && (f.open || run.Seconds >= shortestRun): // else the verdict says so
		add(true, "The run took only %s: longer ones vary less.", seconds(run.Seconds))
	}
}

func (f *facts) warnOfResponses(add func(bool, string, ...any)) {
	run, r := f.run, f.run.Requests
	if r.Good > 0 && r.Failures() > 0 && !f.hasManyFailures() { // else the verdict says so
		most := "."
		if e, ok := mostFrequent(run.Errors); ok {
			most = ", most of them by: " + printable(e.Kind, 40) + "."
		}
		add(true, "%s%s", strings.TrimSuffix(f.shareText(), "."), most)
	}
	if f.open {
		lost := f.lost()
		add(lost > 0, "%s of the latencies are of requests without a response: they count until these were given up.", FormatCount(lost))
	}
	add(!f.open && r.Failed > 0 && run.Latency.Count > 0, "The percentiles leave out %s failed requests.", FormatCount(r.Failed))
	add(!f.open && r.Good > 0 && share(r.Unanswered, r.Sent) > 0.01, "%s requests had no response yet when the run ended: the percentiles leave them out.", FormatCount(r.Unanswered))
	add(len(run.Statuses) > 1, "The responses had several statuses: %s.", statuses(run))
	c := run.Connections
	add(c.Streams > 0, "The server allows %s at a time on a connection, and %s were asked for.", plural(float64(c.Streams), "stream", "streams"), FormatCount(int64(run.Settings.Streams)))
	add(!f.open && r.Sent < run.Settings.Count && run.Settings.DurationNS == 0 && !run.Interrupted, "Only %s of %s requests were sent: there was no connection anymore.", FormatCount(r.Sent), FormatCount(run.Settings.Count))
	if run.Settings.KeepAlive && run.Settings.RequestsPerConn == 0 && c.Reopened > int64(max(run.Settings.Connections, 1)) {
		add(true, "Connections ended and were reopened %s times, %s.", FormatCount(c.Reopened), howOften(c.Reopened, r.Sent))
	}
}

// lost returns how many latencies of an open loop are of requests without a complete response.
func (f *facts) lost() int64 {
	r := f.run.Requests
	return f.run.Latency.Count - r.Good - r.Unexpected
}

func howOften(reopened, sent int64) string {
	switch sent / reopened {
	case 0:
		return "more often than there were requests"
	case 1:
		return "once after each request"
	}
	return "once per " + FormatCount(sent/reopened) + " requests"
}

func (f *facts) warnOfLatency(add func(bool, string, ...any)) {
	run, l := f.run, &f.run.Latency
	what := "responses"
	if f.open && f.lost() > 0 {
		what = "requests"
	}
	switch {
	case l.Count == 0:
	case l.Count < tailSamples*100:
		add(true, "%s %s are too few for p99 and above.", FormatCount(l.Count), what)
	case l.Count < tailSamples*1000:
		add(true, "%s %s are too few for p99.9 and above.", FormatCount(l.Count), what)
	}
	add(f.isStalled(), "%s", f.stallText())
	g := &run.Generator
	add(g.Wait.P99NS >= int64(time.Millisecond) && float64(g.Wait.P99NS) >= 0.2*float64(l.P99NS),
		"Responses waited up to %s (p99) until the generator read them.", FormatDuration(g.Wait.P99NS))
	add(g.GCPauseMaxNS >= int64(time.Millisecond), "The generator's garbage collector paused it for up to %s.", FormatDuration(g.GCPauseMaxNS))
	if s := run.Schedule; s != nil {
		add(s.Late.P99NS >= int64(time.Millisecond), "Starts were late by %s at p99, and by %s at most, for whichever reason: the generator's own lateness was %s at p99. Both are part of the latencies.", FormatDuration(s.Late.P99NS), FormatDuration(s.Late.MaxNS), FormatDuration(g.Late.P99NS))
		add(f.isHalfLate(), "The generator's own lateness was %s or more for half of the requests. This is part of the latencies.", FormatDuration(g.Late.P50NS))
		add(share(f.waited(), s.Intended) > 0.001, "%s of %s starts had to wait for a connection.", FormatCount(f.waited()), FormatCount(s.Intended))
	}
}

func (f *facts) warnOfServer(add func(bool, string, ...any)) {
	run, s := f.run, f.run.Server
	if s == nil {
		return
	}
	add(f.server >= serverFull && f.loop >= busyLimit && !f.open, "The generator had little time left as well: its busiest loop waited %s of the time.", FormatShare(max(1-f.loop, 0)))
	in := counted(run)
	if len(in) >= minIntervals {
		first, last := in[0].ServerMemory, in[len(in)-1].ServerMemory
		add(first > 0 && float64(last) > memoryGrew*float64(first) && last-first > memoryByte,
			"The server's memory grew from %s to %s while it was counted.", FormatBytes(first), FormatBytes(last))
	}
}

func (f *facts) warnOfMachine(add func(bool, string, ...any)) {
	run := f.run
	add(f.others >= someOthers, "Other processes used %s of the machine.", FormatShare(f.others))
	add(f.stolen >= someStolen, "The hypervisor took %s of the machine's CPU time.", FormatShare(f.stolen))
	if f.open || run.Outages.Count > 0 { // else the verdict says why the rate changed
		return
	}
	add(f.spread >= noiseSpread, "The rate varied by %s between intervals.", FormatShare(f.spread))
	direction := "rose"
	if f.change < 0 {
		direction = "fell"
	}
	add(f.spread >= 0 && max(f.trend, -f.trend) >= max(noiseSpread, trendChance(run.responses()+run.Requests.Failed)), "The rate %s by %s during the run.", direction, FormatShare(max(f.change, -f.change)))
}

// trendChance returns the trend, as a share of the rate, that n responses have by chance in
// one of 400 runs: three standard deviations, if each response comes at any time.
func trendChance(n int64) float64 {
	if n <= 0 {
		return math.Inf(1)
	}
	return 3 * math.Sqrt(12/float64(n))
}
