package results

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/galehttp/gale/internal/measure/figures"
	"github.com/galehttp/gale/internal/measure/page"
)

// Claims tells what a scenario is for, in a line.
type Claims func(scenario string) string

// Report makes the report of a folder.
func (f *Folder) Report(claims Claims) *page.Document {
	tables := f.Tables()
	doc := &page.Document{
		Title:   "Lab: HTTP servers on one machine",
		Lead:    f.lead(),
		Verdict: f.verdict(tables),
	}
	doc.Sections = append(doc.Sections, f.howToRead())
	for from := 0; from < len(tables); {
		to := from
		for to < len(tables) && tables[to].Case.Scenario == tables[from].Case.Scenario {
			to++
		}
		doc.Sections = append(doc.Sections, scenarioSection(tables[from:to], claims))
		from = to
	}
	doc.Sections = append(doc.Sections, f.leftOut(), f.setting())
	return doc
}

func (f *Folder) lead() string {
	m := f.Index.Machine
	return fmt.Sprintf("%s, %s, %d CPUs, %s/%s, %s", f.Index.Began.Format(time.DateOnly), m.CPU, m.CPUs, m.OS, m.Arch, m.GoVersion)
}

func (f *Folder) verdict(tables []Table) page.Verdict {
	var ranked, all int
	for _, t := range tables {
		for _, r := range t.Rows {
			all++
			if r.Rank > 0 {
				ranked++
			}
		}
	}
	v := page.Verdict{
		Tone: page.Plain,
		Word: fmt.Sprintf("%d of %d results are ranked", ranked, all),
		Text: "The others describe the generator, or differ too much from round to round. They are marked with the reason.",
	}
	if ranked == all {
		v.Text = "In each, the server was the limit, or the rate was held."
	}
	if f.Index.Ended.IsZero() {
		v.Notes = append(v.Notes, "The run was interrupted: some cases or rounds are missing.")
	}
	v.Notes = append(v.Notes, f.Index.Notes...)
	return v
}

func (f *Folder) howToRead() page.Section {
	return page.Section{Title: "How to read this", Text: []string{
		"CPU is the time that the server's process ran for a request, in user and kernel mode. It suffers least from what else the machine does. It ranks the servers.",
		fmt.Sprintf("Each figure is the median of %d rounds. In a round every server runs once, for %s after a warm-up of %s. Ratios compare with %s in the same round: above 1 the server is better, which is less CPU time or more requests. The range over the rounds is in parentheses.",
			f.Index.Rounds, time.Duration(f.Index.RoundNS), time.Duration(f.Index.WarmUpNS), f.Index.Baseline),
		"Servers whose ranges overlap have the same rank. A dash instead of a rank means not ranked. A ~ before a ratio of CPU time means that the rounds differ by more than " + figures.FormatShare(Steady) + ".",
		"Pinned: " + f.Index.Pinning,
	}}
}

func scenarioSection(tables []Table, claims Claims) page.Section {
	name := tables[0].Case.Scenario
	s := page.Section{Title: name, Text: []string{"What it settles: " + claims(name)}}
	for i := range tables {
		t := &tables[i]
		if t.Text != "" {
			s.Parts = append(s.Parts, &page.Command{Title: t.title(), Text: t.Text})
			continue
		}
		s.Parts = append(s.Parts, t.part())
		if bars := t.bars(); len(bars.Rows) > 1 {
			s.Parts = append(s.Parts, bars)
		}
	}
	return s
}

func (t *Table) title() string {
	title := t.Case.Scenario + " " + t.Case.Case
	if t.Case.Mode != Pinned {
		title += ", " + t.Case.Mode
	}
	return title
}

// part is the table as a part of the page. Columns that no server has are left out.
func (t *Table) part() *page.Table {
	type column struct {
		title  string
		left   bool
		value  func(*Row) string
		closed bool // of closed loops: in an open one all servers have the same rate
	}
	columns := []column{
		{title: "Server", left: true, value: func(r *Row) string { return r.Server }},
		{title: "Rank", value: rankText},
		{title: "CPU per request", value: func(r *Row) string { return duration(r.CPU) }},
		{title: "against " + t.Baseline, value: func(r *Row) string { return mark(r.CPURatio) + ratio(r.CPURatio) }},
		{title: "Requests/s", value: func(r *Row) string { return show(r.Rate, figures.FormatRate) }, closed: true},
		{title: "against " + t.Baseline, value: func(r *Row) string { return ratio(r.RateRatio) }, closed: true},
		{title: "p50", value: func(r *Row) string { return duration(r.P50) }},
		{title: "p99", value: func(r *Row) string { return duration(r.P99) }},
		{title: "Memory", value: func(r *Row) string { return bytesText(r.Memory) }},
		{title: "a connection", value: func(r *Row) string { return bytesText(r.PerConn) }},
		{title: "Allocations", value: func(r *Row) string { return show(r.Allocs, decimal) }},
	}
	columns = slices.DeleteFunc(columns, func(c column) bool {
		return c.closed && t.Rate != "" || !slices.ContainsFunc(t.Rows, func(r Row) bool { return c.value(&r) != "" })
	})
	part := &page.Table{Title: t.title()}
	for _, c := range columns {
		part.Columns = append(part.Columns, page.Column{Title: c.title, Left: c.left})
	}
	for i := range t.Rows {
		r := &t.Rows[i]
		row := page.Row{}
		if r.Why != "" {
			row.Mark = "not ranked: " + r.Why
		}
		for _, c := range columns {
			row.Cells = append(row.Cells, page.Cell{Text: c.value(r)})
		}
		part.Rows = append(part.Rows, row)
	}
	return part
}

func (t *Table) bars() *page.Bars {
	b := &page.Bars{
		Title: t.title() + ": CPU time per request, compared with " + t.Baseline,
		Tip:   "Longer is better. The line is the range over the rounds.",
		Unit:  page.Ratio, Baseline: 1, BaselineName: t.Baseline,
	}
	for _, r := range t.Rows {
		if r.CPURatio.N == 0 {
			continue
		}
		b.Rows = append(b.Rows, page.Bar{Name: r.Server, Value: r.CPURatio.Median, Low: r.CPURatio.Low, High: r.CPURatio.High, Mark: r.Why})
	}
	return b
}

func rankText(r *Row) string {
	if r.Rank == 0 {
		return "–"
	}
	return strconv.Itoa(r.Rank)
}

func show(v Value, format func(float64) string) string {
	if v.N == 0 {
		return ""
	}
	return format(v.Median)
}

func duration(v Value) string {
	return show(v, func(ns float64) string { return figures.FormatDuration(int64(ns)) })
}

func bytesText(v Value) string {
	return show(v, func(n float64) string { return figures.FormatBytes(int64(n)) })
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

func mark(v Value) string {
	if v.N > 0 && v.Spread() > Steady {
		return "~"
	}
	return ""
}

func ratio(v Value) string {
	switch v.N {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%.2f", v.Median)
	}
	return fmt.Sprintf("%.2f (%.2f–%.2f)", v.Median, v.Low, v.High)
}

func (f *Folder) leftOut() page.Section {
	s := page.Section{Title: "Left out"}
	if len(f.Index.LeftOut) == 0 {
		s.Text = []string{"Nothing."}
		return s
	}
	t := &page.Table{Columns: []page.Column{{Title: "Server", Left: true}, {Title: "Scenario", Left: true}, {Title: "Why", Left: true}}}
	for _, l := range f.LeftOut() {
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{{Text: l.Server}, {Text: l.Scenario}, {Text: l.Why}}})
	}
	s.Parts = []page.Part{t}
	return s
}

// LeftOut returns what was left out, with one entry for each server and reason, whose
// Scenario names all cases.
func (f *Folder) LeftOut() (out []LeftOut) {
	for _, l := range f.Index.LeftOut {
		what := strings.TrimSpace(l.Scenario + " " + l.Case)
		i := slices.IndexFunc(out, func(o LeftOut) bool { return o.Server == l.Server && o.Why == l.Why })
		switch {
		case i < 0:
			out = append(out, LeftOut{Server: l.Server, Scenario: what, Why: l.Why})
		case !slices.Contains(strings.Split(out[i].Scenario, ", "), what):
			out[i].Scenario += ", " + what
		}
	}
	for i := range out {
		if out[i].Server == "" {
			out[i].Server = "all"
		}
		if out[i].Scenario == "" {
			out[i].Scenario = "all"
		}
	}
	return out
}

func (f *Folder) setting() page.Section {
	m := f.Index.Machine
	facts := &page.Facts{Title: "Machine", Pairs: [][2]string{
		{"CPU", fmt.Sprintf("%s, %d of %d", m.CPU, m.Allowed, m.CPUs)},
		{"Memory", figures.FormatBytes(m.MemoryByte)},
		{"System", strings.TrimSpace(m.OS + "/" + m.Arch + " " + m.Kernel)},
		{"Began", f.Index.Began.Format(time.DateTime)},
	}}
	versions := &page.Facts{Title: "Versions"}
	for _, name := range slices.Sorted(maps.Keys(f.Index.Versions)) {
		versions.Pairs = append(versions.Pairs, [2]string{name, f.Index.Versions[name]})
	}
	s := page.Section{Title: "Machine, versions, commands", Parts: []page.Part{
		facts, versions, &page.Command{Title: "To repeat it", Text: "cd lab && " + strings.Join(f.Index.Command, " ")},
	}}
	if len(f.Measurements) > 0 {
		s.Parts = append(s.Parts, &page.Command{Title: "How servers and load were started, in the first case", Text: f.commands()})
	}
	return s
}

// commands lists how servers and the generator were started, for the first round of each
// case of the first scenario.
func (f *Folder) commands() string {
	var b strings.Builder
	for _, m := range f.Measurements {
		if m.Round == 1 && m.Run != nil && len(f.Index.Cases) > 0 && m.Scenario == f.Index.Cases[0].Scenario && m.Case == f.Index.Cases[0].Case && m.Mode == f.Index.Cases[0].Mode {
			fmt.Fprintf(&b, "%s\n    %s\n", strings.Join(m.Command, " "), strings.Join(m.Run.Command, " "))
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
