package page

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/galehttp/gale/internal/measure/figures"
)

func (r *report) latency() (Section, error) {
	run := r.run
	s := Section{Title: "Latency"}
	if run.Schedule != nil {
		s.Text = append(s.Text, "Latency counts from the intended start of each request, so it includes the time that a request had to wait to be sent.")
	} else {
		s.Text = append(s.Text, "Latency counts from the first byte sent. In a closed loop, a server that stops answering also stops the requests that would have shown it: use --rate to see such stalls.")
	}
	all, err := Percentiles("Distribution", "At p99, one request of 100 was slower than the line shows, at p99.9 one of 1,000. A steep rise at the right end means that a few requests waited much longer than the others.",
		[]Named{{"All requests", run.Latency}})
	if err != nil {
		return s, err
	}
	s.Parts = append(s.Parts, all)
	var targets, steps []Named
	origin := commonOrigin(run.Targets)
	for _, t := range run.Targets {
		targets = append(targets, Named{clean(t.Method+" "+strings.TrimPrefix(t.URL, origin), 60), t.Latency})
	}
	for _, t := range run.Steps {
		steps = append(steps, Named{number(t.Rate) + " a second", t.Latency})
	}
	for _, more := range []struct {
		title, tip string
		named      []Named
	}{
		{"Distribution by URL", "The lower a line, the faster the server answers this URL.", targets},
		{"Distribution by step", "Each line is a step of the ramp. Where a line lies far above those of the slower steps, requests had to wait.", steps},
	} {
		if len(more.named) < 2 {
			continue
		}
		if len(more.named) > runLines {
			more.tip += " The chart has the first, the last and some between them. The table further down has more."
			more.named = spread(more.named, runLines)
		}
		c, err := Percentiles(more.title, more.tip, more.named)
		if err != nil {
			return s, err
		}
		s.Parts = append(s.Parts, c)
	}
	return s, nil
}

// commonOrigin returns the scheme and the host of all URLs, or "" if they differ.
func commonOrigin(targets []figures.Target) string {
	if len(targets) == 0 {
		return ""
	}
	first := targets[0].URL
	scheme, rest, _ := strings.Cut(first, "://")
	host, _, ok := strings.Cut(rest, "/")
	if !ok {
		return ""
	}
	origin := scheme + "://" + host
	for _, t := range targets {
		if !strings.HasPrefix(t.URL, origin+"/") {
			return ""
		}
	}
	return origin
}

// runLines is the largest number of lines in a chart of a run.
const runLines = 8

// spread returns n of the values: the first, the last, and some between them.
func spread[T any](values []T, n int) []T {
	out := make([]T, 0, n)
	for i := range n {
		out = append(out, values[i*(len(values)-1)/(n-1)])
	}
	return out
}

func (r *report) overTime() Section {
	s := Section{Title: "Over time"}
	if len(r.intervals) == 0 {
		return s
	}
	if r.merged > 1 {
		s.Text = append(s.Text, "The run is long: each point stands for "+plural(int64(r.merged), "interval")+". Percentiles are the highest of them, rates their averages.")
	}
	s.Text = append(s.Text, r.intervalTexts()...)
	if len(r.outages()) > 0 {
		s.Text = append(s.Text, "In the red parts, "+seconds(r.run.Outages.Seconds)+" together, no good response came.")
	}
	if r.intervals[0].AtNS < 0 {
		s.Text = append(s.Text, "The shaded part before 0 s is the warm-up. It isn't counted elsewhere.")
	}
	s.Parts = append(s.Parts, r.latencyChart(), r.rateChart(), r.errorsChart())
	if r.run.Schedule != nil {
		c := r.chart("Late starts", "How long after their intended start requests were sent. If this rises, no connection was free, or the generator was busy.", Nanoseconds,
			r.line("p99", true, func(i *figures.Interval) float64 { return float64(i.LateP99NS) }))
		c.Log, c.Empty = true, "No start was late."
		s.Parts = append(s.Parts, c)
	}
	return s
}

// intervalTexts says how much time a point stands for, if that isn't a second, and that
// some are after the counted time.
func (r *report) intervalTexts() (texts []string) {
	counted := slices.IndexFunc(r.intervals, func(i figures.Interval) bool { return i.AtNS >= 0 })
	if counted < 0 {
		return nil
	}
	if each := r.intervals[counted].Seconds; r.merged == 1 && math.Abs(each-1) > 0.01 {
		text := seconds(each)
		if each < 1 {
			text = duration(each * 1e9)
		}
		texts = append(texts, "Each point stands for "+text+".")
	}
	if r.end() > 0 {
		texts = append(texts, "In the shaded part after "+seconds(r.end())+", no more requests were sent: the command waited for the last responses.")
	}
	return texts
}

// end returns when the counted time ends, if there are intervals after it, else 0.
func (r *report) end() float64 {
	last := &r.intervals[len(r.intervals)-1]
	if r.run.Schedule == nil || last.Rate != 0 || float64(last.AtNS) < (r.run.Seconds-0.001)*1e9 {
		return 0
	}
	return r.run.Seconds
}

func (r *report) latencyChart() *Chart {
	c := r.chart("Latency over time", "Each point is an interval. Level lines mean a steady server. A max that stands out alone is a single pause.", Nanoseconds,
		r.line("p50", true, func(i *figures.Interval) float64 { return float64(i.P50NS) }),
		r.line("p90", true, func(i *figures.Interval) float64 { return float64(i.P90NS) }),
		r.line("p99", true, func(i *figures.Interval) float64 { return float64(i.P99NS) }),
		r.line("max", true, func(i *figures.Interval) float64 { return float64(i.MaxNS) }))
	c.Log, c.Empty = true, "There was no response, so there is no latency."
	return c
}

func (r *report) rateChart() *Chart {
	tip := "Good responses of each second. A dip together with higher latency points to the server. A dip without it points to the generator or the network."
	lines := []Line{r.line("good responses", false, func(i *figures.Interval) float64 { return perSecond(i, i.Good) })}
	if r.run.Schedule != nil {
		tip = "Good responses of each second beside the intended rate. Where the line of the responses stays below the dashed one, the server doesn't keep up."
		intended := r.line("intended rate", false, func(i *figures.Interval) float64 { return i.Rate })
		intended.Dashed = true
		lines = append(lines, intended)
	}
	return r.chart("Throughput over time", tip, PerSecond, lines...)
}

func perSecond(i *figures.Interval, n int64) float64 {
	if i.Seconds <= 0 {
		return math.NaN()
	}
	return float64(n) / i.Seconds
}

func (r *report) errorsChart() *Chart {
	totals := map[string]int64{}
	bad := int64(0)
	for _, i := range r.intervals {
		bad += i.Bad + i.NotConnected
		for kind, n := range i.Errors {
			totals[kind] += n
		}
	}
	kinds := sorted(totals)
	rest := []counted(nil)
	if len(kinds) > runLines {
		kinds, rest = kinds[:runLines-1], kinds[runLines-1:]
	}
	c := r.chart("Errors over time", "Errors of each second, by kind. Errors that begin when latency rises point to a server with too much to do.", PerSecond)
	c.Empty = "There were no errors."
	if bad == 0 && len(kinds) == 0 {
		c.Tip = ""
		return c
	}
	for _, kind := range kinds {
		c.Lines = append(c.Lines, r.line(clean(kind.name, 60), false, func(i *figures.Interval) float64 { return perSecond(i, i.Errors[kind.name]) }))
	}
	if len(rest) > 0 {
		c.Lines = append(c.Lines, r.line("other kinds", false, func(i *figures.Interval) float64 {
			n := int64(0)
			for _, kind := range rest {
				n += i.Errors[kind.name]
			}
			return perSecond(i, n)
		}))
	}
	if len(kinds) == 0 {
		c.Lines = append(c.Lines, r.line("all kinds", false, func(i *figures.Interval) float64 { return perSecond(i, i.Bad+i.NotConnected) }))
	}
	return c
}

// counted is a name and how often it came.
type counted struct {
	name string
	n    int64
}

// sorted returns the most frequent first.
func sorted(counts map[string]int64) []counted {
	var all []counted
	for name, n := range counts {
		all = append(all, counted{name, n})
	}
	slices.SortFunc(all, func(a, b counted) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.name, b.name)) })
	return all
}

// chart returns a chart over the run's time.
func (r *report) chart(title, tip string, unit Unit, lines ...Line) *Chart {
	c := &Chart{Title: title, Tip: tip, Axis: OverTime, Unit: unit, Lines: lines, Empty: "There is nothing to show.", End: r.end()}
	for _, i := range r.intervals {
		c.X = append(c.X, float64(i.AtNS)/1e9+i.Seconds/2)
	}
	for _, o := range r.outages() {
		from := float64(o.AtNS) / 1e9
		c.Marks = append(c.Marks, Span{from, from + o.Seconds})
	}
	return c
}

// outages returns the outages that charts show. A document may come from somewhere else.
func (r *report) outages() []figures.Outage {
	list := r.run.Outages.List
	return list[:min(len(list), figures.MaxOutages)]
}

func (r *report) line(name string, highest bool, value func(*figures.Interval) float64) Line {
	l := Line{Name: name, Highest: highest}
	for i := range r.intervals {
		l.Values = append(l.Values, value(&r.intervals[i]))
	}
	return l
}

// knownLine is line without the values that aren't above the limit: they are unknown.
func (r *report) knownLine(name string, highest bool, above float64, value func(*figures.Interval) float64) Line {
	return r.line(name, highest, func(i *figures.Interval) float64 {
		if v := value(i); v > above {
			return v
		}
		return math.NaN()
	})
}

// processors shows CPU and memory of both sides.
func (r *report) processors() Section {
	run := r.run
	s := Section{Title: "CPU and memory"}
	if len(r.intervals) > 0 {
		cpu := r.chart("CPU over time", "Cores in use by the generator and by the server. A server whose line reaches the dashed one can't do more. A generator that uses all of its own cores measures itself.", Cores,
			r.line("generator", false, func(i *figures.Interval) float64 { return i.GeneratorCPU }))
		if run.Server != nil {
			cpu.Lines = append(cpu.Lines, r.knownLine("server", false, -0.5, func(i *figures.Interval) float64 { return i.ServerCPU }))
			if run.Server.Allowed > 0 {
				allowed := r.line("cores that the server may use", false, func(*figures.Interval) float64 { return run.Server.Allowed })
				allowed.Dashed = true
				cpu.Lines = append(cpu.Lines, allowed)
			}
		} else {
			cpu.Tip = "Cores in use by the generator. The server wasn't watched: give --pid or --cmd to see its CPU."
		}
		others := "other processes"
		if (run.Server == nil || run.Server.PID == 0) && run.Settings.Local {
			others = "other processes, with the server"
		}
		line := r.knownLine(others, false, -0.5, func(i *figures.Interval) float64 { return i.Others * float64(run.Machine.CPUs) })
		if !math.IsNaN(highest(line.Values)) {
			cpu.Lines = append(cpu.Lines, line)
		}
		s.Parts = append(s.Parts, cpu)
		if run.Server != nil {
			s.Parts = append(s.Parts, r.memoryCharts()...)
		}
	}
	s.Parts = append(s.Parts, r.generatorFacts())
	if run.Server != nil {
		s.Parts = append(s.Parts, r.serverFacts())
	}
	return s
}

func (r *report) memoryCharts() []Part {
	memory := r.chart("Server memory over time", "Memory that the server holds. A line that keeps rising under a steady load may be a leak.", Bytes,
		r.knownLine("resident", true, 0, func(i *figures.Interval) float64 { return float64(i.ServerMemory) }))
	if heap := r.knownLine("Go heap", true, 0, func(i *figures.Interval) float64 { return float64(i.HeapByte) }); !math.IsNaN(highest(heap.Values)) {
		memory.Lines = append(memory.Lines, heap)
	}
	parts := []Part{memory}
	goroutines := r.chart("Goroutines of the server over time", "A number that keeps rising under a steady load may be a leak.", Count,
		r.knownLine("goroutines", true, 0, func(i *figures.Interval) float64 { return float64(i.Goroutines) }))
	if !goroutines.empty() {
		parts = append(parts, goroutines)
	}
	if memory.empty() {
		return parts[1:]
	}
	return parts
}
