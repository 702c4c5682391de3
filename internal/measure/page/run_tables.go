package page

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/galehttp/gale/internal/measure/figures"
)

func (r *report) generatorFacts() *Facts {
	g := &r.run.Generator
	f := &Facts{Title: "The generator"}
	f.add("CPU time", duration(g.CPUSeconds*1e9))
	if g.CPUPerRequest > 0 {
		f.add("CPU per request", duration(float64(g.CPUPerRequest)))
	}
	f.add("Busy, the busiest loop", percent(g.Busy))
	if g.DelaySeconds >= 0 {
		f.add("Waited for a core, all threads", duration(g.DelaySeconds*1e9))
	}
	if g.Late.Count > 0 {
		f.add("Own lateness, p50 and p99", duration(float64(g.Late.P50NS))+", "+duration(float64(g.Late.P99NS)))
	}
	if g.Wait.Count > 0 {
		f.add("Responses waited to be read, p99", duration(float64(g.Wait.P99NS)))
	}
	collections := grouped(g.GCPauses)
	if g.GCPauseMaxNS > 0 {
		collections += ", the longest pause " + duration(float64(g.GCPauseMaxNS))
	}
	f.add("Garbage collections", collections)
	if g.Others >= 0 {
		f.add("CPU of other processes", percent(g.Others))
	}
	if g.Stolen >= 0 {
		f.add("CPU taken by the hypervisor", percent(g.Stolen))
	}
	return f
}

func (r *report) serverFacts() *Facts {
	s := r.run.Server
	f := &Facts{Title: "The server"}
	if s.PID != 0 {
		r.addProcess(f)
	}
	if s.GoURL != "" {
		r.addGo(f)
	}
	return f
}

func (r *report) addProcess(f *Facts) {
	s := r.run.Server
	f.add("Process", clean(s.Command, maxText)+", pid "+strconv.Itoa(s.PID))
	f.add("CPU time", duration(s.CPUSeconds*1e9))
	f.add("CPU per request", duration(float64(s.CPUPerRequest)))
	f.add("Busy", percent(s.Busy)+" of "+cores(s.Allowed))
	if s.Cores != "" {
		f.add("Its cores", clean(s.Cores, maxText))
	}
	f.add("Busiest thread", percent(s.BusiestThread)+" of the time")
	if s.DelaySeconds >= 0 {
		f.add("Waited for a core, all threads", duration(s.DelaySeconds*1e9))
	}
	f.add("Memory at the most", size(float64(s.MemoryByte)))
	if s.MemoryBefore > 0 {
		f.add("Memory before the first connection", size(float64(s.MemoryBefore)))
	}
	f.add("Threads at the most", grouped(int64(s.Threads)))
	if s.Processes > 1 {
		f.add("Processes at the most", grouped(int64(s.Processes)))
	}
	if s.Ended {
		f.add("Ended", "during the run")
	}
}

func (r *report) addGo(f *Facts) {
	s := r.run.Server
	if s.Goroutines > 0 {
		f.add("Goroutines at the most", grouped(int64(s.Goroutines)))
	}
	if s.HeapByte > 0 {
		f.add("Go heap at the most", size(float64(s.HeapByte)))
	}
	if s.AllocsPerRequest > 0 || s.AllocatedPerRequest > 0 {
		f.add("Allocations per request", number(s.AllocsPerRequest)+", "+size(s.AllocatedPerRequest))
	}
	f.add("Garbage collections", grouped(s.Collections))
	f.add("Go figures from", clean(s.GoURL, maxText))
}

func (f *Facts) add(name, value string) { f.Pairs = append(f.Pairs, [2]string{name, value}) }

// latencyColumns are the columns that latencyCells fills.
var latencyColumns = []Column{{Title: "p50"}, {Title: "p90"}, {Title: "p99"}, {Title: "p99.9"}, {Title: "max"}}

func latencyCells(d *figures.Distribution) []Cell {
	cells := make([]Cell, 0, len(latencyColumns))
	for _, ns := range []int64{d.P50NS, d.P90NS, d.P99NS, d.P999NS, d.MaxNS} {
		text := "–"
		if d.Count > 0 {
			text = duration(float64(ns))
		}
		cells = append(cells, Cell{Text: text})
	}
	return cells
}

// errorsCell says how many of the attempts had no good response.
func errorsCell(q *figures.Requests) Cell {
	if q.Failures() == 0 {
		return Cell{Text: "0"}
	}
	return Cell{Text: percent(q.FailedShare()), Note: grouped(q.Failures()), Tone: Bad}
}

func (r *report) steps() Section {
	s := Section{Title: "Steps of the ramp"}
	if len(r.run.Steps) < 2 { // one rate: all other sections are about it
		return s
	}
	t := &Table{
		Tip:     "Each row is a part of the run with a rate of its own. The last row whose good responses equal the intended rate, with a latency that you accept, is what the server can do.",
		Columns: append([]Column{{Title: "Time", Left: true}, {Title: "Intended per second"}, {Title: "Good per second"}, {Title: "Errors"}}, append(latencyColumns, Column{Title: "Late, p99"})...),
	}
	for i := range r.run.Steps[:min(len(r.run.Steps), r.rows)] {
		step := &r.run.Steps[i]
		good, tone := 0.0, Plain
		if step.Seconds > 0 {
			good = float64(step.Requests.Good) / step.Seconds
		}
		if good < 0.99*step.Rate {
			tone = Caution
		}
		row := []Cell{{Text: seconds(float64(step.AtNS)/1e9) + " to " + seconds(float64(step.AtNS)/1e9+step.Seconds)}, {Text: number(step.Rate)}, {Text: number(good), Tone: tone}, errorsCell(&step.Requests)}
		if tone == Caution && step.Rate > 0 {
			row[2].Note = percent(good/step.Rate) + " of the rate"
		}
		row = append(row, latencyCells(&step.Latency)...)
		t.Rows = append(t.Rows, Row{Cells: append(row, Cell{Text: duration(float64(step.Late.P99NS))})})
	}
	t.Tip += r.leftOut(len(r.run.Steps), "steps")
	s.Parts = []Part{t}
	return s
}

// leftOut says that a table doesn't have all rows.
func (r *report) leftOut(n int, what string) string {
	if n <= r.rows {
		return ""
	}
	return fmt.Sprintf(" The first %d of %s %s are listed.", r.rows, grouped(int64(n)), what)
}

func (r *report) targets() Section {
	s := Section{Title: "URLs"}
	if len(r.run.Targets) == 0 {
		return s
	}
	t := &Table{Columns: append([]Column{{Title: "URL", Left: true}, {Title: "Weight"}, {Title: "Sent"}, {Title: "Errors"}}, latencyColumns...)}
	for i := range r.run.Targets[:min(len(r.run.Targets), r.rows)] {
		target := &r.run.Targets[i]
		row := []Cell{
			{Text: clean(target.Method+" "+target.URL, maxText), Code: true},
			{Text: strconv.Itoa(target.Weight)},
			{Text: grouped(target.Requests.Sent)},
			errorsCell(&target.Requests),
		}
		t.Rows = append(t.Rows, Row{Cells: append(row, latencyCells(&target.Latency)...)})
	}
	t.Tip = r.leftOut(len(r.run.Targets), "URLs")
	s.Parts = []Part{t}
	return s
}

func (r *report) responses() Section {
	run := r.run
	s := Section{Title: "Responses and errors"}
	q := &run.Requests
	f := &Facts{}
	f.add("Sent", grouped(q.Sent))
	f.add("Good responses", grouped(q.Good))
	f.add("Responses that weren't as expected", grouped(q.Unexpected))
	f.add("No complete response", grouped(q.Failed))
	f.add("In flight when the run ended", grouped(q.Unanswered))
	f.add("Attempts to connect that failed", grouped(q.NotConnected))
	if run.Schedule != nil {
		f.add("Intended", grouped(run.Schedule.Intended))
		f.add("Intended, waited for a connection", grouped(run.Schedule.Waited))
		f.add("Intended, never sent", grouped(run.Schedule.NotSent))
	}
	f.add("Read", r.traffic(run.Bytes.Read))
	f.add("Written", r.traffic(run.Bytes.Written))
	s.Parts = append(s.Parts, f)
	if len(run.Settings.Expectations) > 0 {
		s.Parts = append(s.Parts, r.expectations())
	}
	if len(run.Errors) > 0 {
		s.Parts = append(s.Parts, r.errors())
	}
	if len(run.Statuses) > 0 {
		s.Parts = append(s.Parts, r.statuses())
	}
	s.Parts = append(s.Parts, r.connections())
	return s
}

func (r *report) traffic(n int64) string {
	if r.run.Seconds <= 0 {
		return size(float64(n))
	}
	return size(float64(n)) + ", " + size(float64(n)/r.run.Seconds) + " a second"
}

func (r *report) expectations() *Table {
	q := &r.run.Requests
	t := &Table{Title: "Expectations", Tip: "Each complete response was checked against all of them.", Columns: []Column{{Title: "Expected", Left: true}}}
	list := r.run.Settings.Expectations
	for _, e := range list[:min(len(list), r.rows)] {
		t.Rows = append(t.Rows, Row{Cells: []Cell{{Text: clean(e, maxText), Code: true}}})
	}
	if q.Unexpected == 0 {
		t.Tip += " All met them."
	} else {
		t.Tip += " " + plural(q.Unexpected, "response") + " didn't meet them, " + percent(share(q.Unexpected, q.Good+q.Unexpected)) + "."
	}
	t.Tip += r.leftOut(len(list), "expectations")
	return t
}

func (r *report) errors() *Table {
	t := &Table{Title: "Errors", Columns: []Column{{Title: "Kind", Left: true}, {Title: "Count"}, {Title: "Of all attempts"}, {Title: "The first", Left: true}}}
	t.Tip = r.leftOut(len(r.run.Errors), "kinds")
	for _, e := range r.run.Errors[:min(len(r.run.Errors), r.rows)] {
		t.Rows = append(t.Rows, Row{Cells: []Cell{
			{Text: clean(e.Kind, 100), Tone: Bad},
			{Text: grouped(e.Count)},
			{Text: percent(share(e.Count, r.run.Requests.Attempts()))},
			{Text: clean(e.Example, maxText), Code: true},
		}})
	}
	return t
}

func (r *report) statuses() *Table {
	t := &Table{Title: "Statuses", Columns: []Column{{Title: "Status", Left: true}, {Title: "Responses"}, {Title: "Of all responses"}}}
	all := int64(0)
	for _, n := range r.run.Statuses {
		all += n
	}
	list := sorted(r.run.Statuses)
	t.Tip = r.leftOut(len(list), "statuses")
	for _, status := range list[:min(len(list), r.rows)] {
		t.Rows = append(t.Rows, Row{Cells: []Cell{{Text: clean(status.name, 20)}, {Text: grouped(status.n)}, {Text: percent(share(status.n, all))}}})
	}
	return t
}

func (r *report) connections() *Facts {
	c := &r.run.Connections
	f := &Facts{Title: "Connections"}
	f.add("Opened", grouped(c.Opened))
	f.add("Opened again", grouped(c.Reopened))
	if c.Connect.Count > 0 {
		f.add("Time to connect, p50 and p99", duration(float64(c.Connect.P50NS))+", "+duration(float64(c.Connect.P99NS)))
	}
	if c.TLS.Count > 0 {
		f.add("TLS handshake, p50 and p99", duration(float64(c.TLS.P50NS))+", "+duration(float64(c.TLS.P99NS)))
		f.add("TLS sessions resumed", grouped(c.Resumed))
	}
	if c.Resent > 0 {
		f.add("Requests sent again", grouped(c.Resent))
	}
	return f
}

func (r *report) settings() Section {
	return Section{Title: "Settings", Parts: []Part{
		&Command{Title: "To repeat this run", Text: r.command()},
		r.settingFacts(),
		r.machineFacts(),
	}}
}

// command returns the command line. It may have several lines.
func (r *report) command() string {
	lines := strings.Split(shell(r.run.Command), "\n")
	for i := range lines {
		lines[i] = clean(lines[i], maxCommand)
	}
	return strings.Join(lines[:min(len(lines), r.rows)], "\n")
}

func (r *report) settingFacts() *Facts {
	s := &r.run.Settings
	f := &Facts{Title: "The run"}
	f.add("Protocol", clean(s.Protocol, 40)+tlsNote(s))
	f.add("Connections", grouped(int64(s.Connections)))
	f.add("Threads", strconv.Itoa(s.Threads))
	if s.Pipeline > 1 {
		f.add("Requests in flight on a connection", strconv.Itoa(s.Pipeline))
	}
	if s.Streams > 1 {
		f.add("Streams on a connection", strconv.Itoa(s.Streams))
	}
	if s.Rate != "" {
		f.add("Rate", clean(s.Rate, maxText)+" a second, open loop")
	} else {
		f.add("Rate", "as fast as responses come, closed loop")
	}
	f.add("Keep-alive", map[bool]string{true: "yes", false: "no"}[s.KeepAlive])
	if s.RequestsPerConn > 0 {
		f.add("Requests on a connection", grouped(int64(s.RequestsPerConn)))
	}
	for _, d := range []struct {
		name string
		ns   int64
	}{{"Think time", s.ThinkNS}, {"Duration", s.DurationNS}, {"Warm-up", s.WarmUpNS}, {"Timeout", s.TimeoutNS}} {
		if d.ns > 0 {
			f.add(d.name, duration(float64(d.ns)))
		}
	}
	if s.Count > 0 {
		f.add("Requests", grouped(s.Count))
	}
	return f
}

func (r *report) machineFacts() *Facts {
	m := &r.run.Machine
	f := &Facts{Title: "The generator's machine"}
	f.add("System", strings.TrimSpace(clean(m.OS+"/"+m.Arch+" "+m.Kernel, 200)))
	if m.CPU != "" {
		f.add("Processor", clean(m.CPU, 200))
	}
	allowed := fmt.Sprintf("%d, of them %d allowed", m.CPUs, m.Allowed)
	if m.Cores != "" {
		allowed += ": " + clean(m.Cores, maxText)
	}
	f.add("Processors", allowed)
	f.add("GOMAXPROCS", strconv.Itoa(m.GOMAXPROCS))
	if m.MemoryByte > 0 {
		f.add("Memory", size(float64(m.MemoryByte)))
	}
	f.add("Generator", clean(r.run.Tool, 200))
	f.add("Go", clean(m.GoVersion, 40))
	return f
}

// data returns the run for the page's JSON, and a sentence about what was left out so that
// it stays small. It is nil if that isn't enough.
func (r *report) data() (json.RawMessage, string, error) {
	run := *r.run
	run.Intervals = r.intervals
	note := ""
	if r.merged > 1 {
		note = fmt.Sprintf("%d intervals were merged into one. --json has all.", r.merged)
	}
	text, err := json.Marshal(&run)
	if err != nil || len(text) <= r.limits.data {
		return text, note, err
	}
	var merged int
	run.Intervals, merged = mergeIntervals(r.run.Intervals, maxRows)
	run.Targets, run.Steps = withoutHistograms(run.Targets, run.Steps)
	run.Intervals = slices.Clone(run.Intervals)
	for i := range run.Intervals {
		run.Intervals[i].Histogram = ""
	}
	if run.Schedule != nil {
		schedule := *run.Schedule
		schedule.Late.Histogram = ""
		run.Schedule = &schedule
	}
	run.Connections.Connect.Histogram, run.Connections.TLS.Histogram = "", ""
	run.Generator.Wait.Histogram, run.Generator.Late.Histogram = "", ""
	note = fmt.Sprintf("Histograms other than that of all latencies were left out, and %d intervals were merged into one. --json has all.", merged)
	if text, err = json.Marshal(&run); err != nil || len(text) <= r.limits.data {
		return text, note, err
	}
	return nil, "The document of this run is too large to be saved from this page. --json has it.", nil
}

func withoutHistograms(targets []figures.Target, steps []figures.Step) ([]figures.Target, []figures.Step) {
	targets, steps = append([]figures.Target(nil), targets...), append([]figures.Step(nil), steps...)
	for i := range targets {
		targets[i].Latency.Histogram = ""
	}
	for i := range steps {
		steps[i].Latency.Histogram, steps[i].Late.Histogram = "", ""
	}
	return targets, steps
}
