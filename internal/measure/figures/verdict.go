package figures

import (
	"fmt"
	"math"
)

// Thresholds of Judge. The reasons are those of a run on one or two cores, the hardest case.
const (
	// busyLimit is the share of its time that a loop of the generator works at most if it
	// isn't the limit. A loop that waits for less than a tenth of its time reads most
	// responses late, because they come in bursts.
	busyLimit = 0.90
	// heldLimit is the share of its time that a loop neither waits for events, nor for a
	// core, nor runs. It is 0 unless the generator sleeps or waits for a lock. The CPU time
	// includes what isn't the loop's, so the share is rather too small. Time of interrupts, up
	// to a tenth on loopback, counts as held up.
	heldLimit = 0.20
	// serverFull is the share of its cores from which on a server has none left. The rest
	// are the moments in which its last thread waits for the next request.
	serverFull = 0.95
	// serverIdle is the share of its cores below which the text says that the server
	// wasn't short of CPU time.
	serverIdle = 0.70
	// coresFull is the share of the cores of both sides from which on they were in each
	// other's way. Time of interrupts, up to a tenth on loopback, isn't in it.
	coresFull = 0.85
	// generatorPart is the share of the common cores from which on the generator takes
	// away enough from the server to change the result.
	generatorPart = 0.10
	// delayLimit is the share of the time that threads wait for a core from which on they
	// are in others' way.
	delayLimit = 0.10
	// rateHeld is the share of an open loop's starts from which on its rate was held.
	rateHeld = 0.99
	// fewFailures is the share of attempts without a good response up to which failures
	// leave the verdict alone.
	fewFailures = 0.01
	// keptUp is the share of the intended rate that the responses of the second half reach
	// if no requests pile up. One interval's worth of latency is allowed for.
	keptUp = 0.97
	// ownLate is the lateness of the generator's own starts, at p99, from which on it
	// spoils latencies, if it is lateShare of their p99 as well.
	ownLate   = 1e6
	lateShare = 0.2
	// ownLateHalf is likewise at p50: half of the starts were later. A timer of the kernel
	// makes a start 20 to 30 us late. heldPerStart is the share of the lateness at p50 that
	// the loops were held up for each start if that is its reason.
	ownLateHalf  = 50e3
	heldPerStart = 0.5

	// shortestRun is the time in seconds from which on a closed loop says something about its
	// sides. The system counts CPU time in steps of 10 ms.
	shortestRun = 0.25

	// noiseOthers is the share of the machine from which on other processes spoil a run, if
	// cores are scarce. noiseStolen is the hypervisor's, which is always in the way.
	noiseOthers = 0.10
	noiseStolen = 0.05
	// noiseSpread is the standard deviation of the intervals' rates, without trend and
	// chance, in a closed loop, from which on a run is noisy if others are active, and
	// noiseSpreadAlone if it isn't known whether they are.
	noiseSpread      = 0.10
	noiseSpreadAlone = 0.25
	someOthers       = 0.05
	someStolen       = 0.01
)

// ExitCode returns the code with which gale bench ends for v.
func (v Verdict) ExitCode() int {
	switch v.Limit {
	case LimitNone, LimitServer:
		return 0
	case LimitGenerator, LimitShared:
		return 3
	case LimitRate:
		return 4
	case LimitNoise:
		return 5
	case LimitErrors:
		return 6
	}
	return 1
}

// Judge says what limited the run, by the other fields of its document.
func Judge(run *Run) Verdict {
	f := newFacts(run)
	v := Verdict{Warnings: f.warnings()}
	v.Limit, v.Text = f.limit()
	if f.ended() {
		v.Text = "The server's process ended during the run. " + v.Text
	}
	return v
}

// limit decides what limited the run.
func (f *facts) limit() (Limit, string) {
	switch {
	case f.run.Requests.Good == 0:
		return LimitErrors, f.noneGood()
	case f.hasFailed():
		return LimitErrors, f.failureText()
	case f.open:
		return f.limitOfRate()
	}
	return f.limitOfLoop()
}

// limitOfLoop decides for a closed loop.
func (f *facts) limitOfLoop() (Limit, string) {
	noise := f.noise()
	switch {
	case f.run.Seconds < shortestRun:
		return LimitNoise, fmt.Sprintf("Too noisy to tell: the run took only %s. Send more requests (-n), or for longer (-d).", seconds(f.run.Seconds))
	case f.isHeldUp():
		return LimitGenerator, f.heldUpText()
	case noise != "":
		return LimitNoise, "Too noisy to tell: " + noise + ". Repeat the run on a quiet machine, or with pinned cores."
	case f.server >= serverFull:
		return LimitServer, f.serverFullText()
	case f.isShared():
		return LimitShared, f.sharedText()
	case f.loop >= busyLimit:
		return LimitGenerator, f.generatorText()
	}
	return LimitServer, f.serverText()
}

// limitOfRate decides for an open loop.
func (f *facts) limitOfRate() (Limit, string) {
	missed := f.missed()
	what := "The rate was not held: " + missed
	switch {
	case missed != "":
	case f.isLate():
		what = "The latencies are not the server's: " + f.lateText()
	case f.isHalfLate():
		what = "The latencies are not the server's: " + f.halfLateText()
	default:
		return LimitNone, f.rateHeldText()
	}
	switch {
	case f.isHeldUp():
		return LimitGenerator, what + ". " + f.heldUpText()
	case f.noise() != "":
		return LimitNoise, what + ". It is too noisy to tell why: " + f.noise() + "."
	case f.isShared() && f.server < serverFull:
		return LimitShared, what + ". " + f.sharedText()
	case f.loop >= busyLimit:
		return LimitGenerator, what + ". " + f.generatorText()
	case missed == "" && f.isHalfLate():
		return LimitGenerator, what + ". It was held up, or the system's timers are coarse."
	case missed == "":
		return LimitNoise, what + ", although its loops had time: something else kept it from its cores."
	}
	return LimitRate, what + ". " + f.slowText()
}

// hasFailed reports whether failures or outages say more about the run than its speed does.
func (f *facts) hasFailed() bool { return f.run.Outages.Count > 0 || f.hasManyFailures() }

// hasManyFailures reports whether more attempts had no good response than fewFailures.
func (f *facts) hasManyFailures() bool {
	r := &f.run.Requests
	return float64(r.Failures()) > fewFailures*float64(r.Attempts())
}

// ended reports whether the watched process ended during the run.
func (f *facts) ended() bool { return f.run.Server.isWatched() && f.run.Server.Ended }

// isHeldUp reports whether the generator's busiest loop stood still outside of its poll, for
// a large part of the time, or of an open loop's lateness.
func (f *facts) isHeldUp() bool {
	if f.held >= heldLimit {
		return true
	}
	return f.open && f.isHalfLate() && f.heldForStart() >= heldPerStart*float64(f.run.Generator.Late.P50NS)
}

// heldForStart returns for how many nanoseconds the loops were held up for each start.
func (f *facts) heldForStart() float64 {
	return ratio(f.held*f.loopTime*1e9, float64(f.run.Requests.Sent))
}

// isShared reports whether both sides wanted the same cores and there were no more.
func (f *facts) isShared() bool {
	return f.overlap && f.used >= coresFull && f.generatorUsed >= generatorPart
}

// noise returns why the run is too noisy, or "".
func (f *facts) noise() string {
	scarce := f.used >= coresFull || f.delayed >= delayLimit || f.serverDelayed >= delayLimit
	active := f.others >= someOthers || f.stolen >= someStolen
	switch {
	case f.stolen >= noiseStolen:
		return "the hypervisor took " + FormatShare(f.stolen) + " of the machine's CPU time"
	case f.others >= noiseOthers && scarce:
		return "other processes used " + FormatShare(f.others) + " of the machine, and cores were scarce"
	case f.open:
		return ""
	case f.spread >= noiseSpread && active && (scarce || !f.isPause()):
		return fmt.Sprintf("the rate varied by %s between intervals, while other processes used %s of the machine",
			FormatShare(f.spread), FormatShare(max(f.others, 0)+max(f.stolen, 0)))
	case f.spread >= noiseSpreadAlone && f.others < 0 && f.server < 0 && !f.isPause() && !f.hadCores():
		return fmt.Sprintf("the rate varied by %s between intervals, and what else ran isn't known", FormatShare(f.spread))
	}
	return ""
}

// isPause reports whether the rates of a closed loop vary because a server on this machine
// paused now and then: a response took far longer than half of them, and long enough for it.
func (f *facts) isPause() bool {
	l := &f.run.Latency
	return f.run.Settings.Local && l.MaxNS >= int64(longStall) && l.MaxNS >= stallFactor*l.P50NS && float64(l.MaxNS) >= f.spread*1e9
}

// hadCores reports whether it is known that a server on this machine had cores left while its
// rate was low: then it waited for something else, and no other process was in its way.
func (f *facts) hadCores() bool {
	return f.run.Settings.Local && f.run.Generator.Others >= 0 && f.usedWhenSlow < coresFull
}

// isStalled reports whether a response took so long that a closed loop's percentiles hide it.
func (f *facts) isStalled() bool {
	l := &f.run.Latency
	return !f.open && l.MaxNS >= int64(longStall) && l.MaxNS >= stallFactor*l.P99NS
}

// isLate reports whether the generator's own lateness spoils the latencies.
func (f *facts) isLate() bool {
	late := f.run.Generator.Late.P99NS
	return late >= ownLate && float64(late) >= lateShare*float64(f.run.Latency.P99NS)
}

// isHalfLate reports likewise whether half of the starts were late.
func (f *facts) isHalfLate() bool {
	late := f.run.Generator.Late.P50NS
	return late > ownLateHalf && float64(late) >= lateShare*float64(f.run.Latency.P50NS)
}

// waited returns how many starts had to wait for a connection.
func (f *facts) waited() int64 { return f.run.Schedule.Waited }

// missed returns what was missing from the intended rate, or "".
func (f *facts) missed() string {
	s, r := f.run.Schedule, f.run.Requests
	switch {
	case s.RateRatio < rateHeld:
		return fmt.Sprintf("%s of %s requests were sent in time to count (%s)", FormatCount(r.Sent), FormatCount(s.Intended), FormatShare(s.RateRatio))
	case f.kept < keptUp:
		return fmt.Sprintf("in the second half of the time only %s of the rate was answered", FormatShare(f.kept))
	}
	return ""
}

func share(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// facts are what Judge derives from a document before it decides.
type facts struct {
	run  *Run
	open bool

	loopTime float64 // seconds of all loops
	loop     float64 // share of the time that the busiest loop didn't wait
	loopCPU  float64 // CPU time of the generator, as a share of its loops' time
	delayed  float64 // share of their time that the loops waited for a core
	held     float64 // share of the time that the busiest loop stood still; 0 if unknown

	server        float64 // share of its cores, or of its busiest thread, that the server used; -1 if unknown
	serverDelayed float64

	overlap       bool    // both may use a common core
	used          float64 // share of all cores of both that was used, by anything that is known
	generatorUsed float64 // likewise, by the generator

	others, stolen float64 // -1 if unknown; the server isn't among the others
	spread         float64 // of the intervals' rates; -1 if unknown
	trend, change  float64 // of the intervals' rates over the run, as shares
	usedWhenSlow   float64 // share of all cores that was used in intervals whose rate was below the average
	kept           float64 // share of the intended rate that was answered in the second half; 1 if unknown
}

func newFacts(run *Run) *facts {
	f := &facts{run: run, open: run.Schedule != nil, server: -1, others: -1, stolen: run.Generator.Stolen, kept: 1}
	g := &run.Generator
	f.loopTime = run.Seconds * float64(max(run.Settings.Threads, 1))
	f.loop = g.Busy
	f.loopCPU = ratio(g.CPUSeconds, f.loopTime)
	f.delayed = min(ratio(max(g.DelaySeconds, 0), f.loopTime), 1)
	if g.DelaySeconds >= 0 {
		cpu := f.loopCPU
		if !f.open && f.loop < busyLimit { // loops may differ: all of it may be the busiest one's
			cpu = ratio(g.CPUSeconds, run.Seconds)
		}
		f.held = f.loop - cpu - f.delayed - max(g.Stolen, 0)
	}
	if s := run.Server; s.isWatched() {
		f.server = max(s.Busy, s.BusiestThread)
		f.serverDelayed = min(ratio(max(s.DelaySeconds, 0), run.Seconds*max(s.Allowed, 1)), 1)
	}
	if run.Server.isWatched() || !run.Settings.Local {
		f.others = g.Others // otherwise the server is one of them
	}
	f.cores()
	intervals := counted(run)
	f.spread, f.trend = spread(intervals)
	f.change = change(intervals)
	f.usedWhenSlow = usedWhenSlow(intervals, float64(max(run.Machine.CPUs, 1)))
	if f.open {
		f.kept = kept(intervals)
	}
	return f
}

// cores finds out which cores the two sides had in common and how busy these were.
func (f *facts) cores() {
	run := f.run
	if run.Seconds <= 0 || !run.Settings.Local {
		return
	}
	cpus := float64(max(run.Machine.CPUs, 1))
	used := run.Generator.CPUSeconds
	union := cpus
	f.overlap = true
	if s := run.Server; s.isWatched() {
		used += s.CPUSeconds
		a, b := ParseCores(run.Machine.Cores), ParseCores(s.Cores)
		if a != nil && b != nil {
			f.overlap = a.overlaps(b)
			a.Add(b)
			union = float64(len(a))
		}
	}
	if union >= cpus { // what the others used was on these cores
		used += max(run.Generator.Others, 0) * cpus * run.Seconds
	}
	f.used = ratio(used, union*run.Seconds)
	f.generatorUsed = ratio(run.Generator.CPUSeconds, union*run.Seconds)
}

func ratio(a, b float64) float64 {
	if b <= 0 || math.IsNaN(a) {
		return 0
	}
	return a / b
}
