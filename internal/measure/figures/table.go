package figures

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/galehttp/gale/internal/bytesconv"
)

const (
	tableWidth = 80
	labelWidth = 13
)

// WriteTable writes run for people, in lines of at most 80 columns: the verdict, the rate,
// percentiles, what went wrong, and what both sides used.
func WriteTable(w io.Writer, run *Run) error {
	t := &table{run: run}
	t.verdict()
	t.responses()
	t.percentiles()
	t.targets()
	t.steps()
	t.sides()
	_, err := io.WriteString(w, t.b.String())
	return err
}

// table builds the text of a run.
type table struct {
	run *Run
	b   strings.Builder
}

func (t *table) blank() { t.b.WriteByte('\n') }

// text writes a paragraph, whose first line begins with first and the others with rest.
func (t *table) text(first, rest, s string) {
	for line := range strings.Lines(wrap(s, tableWidth-utf8.RuneCountInString(first))) {
		t.b.WriteString(strings.TrimRight(first+strings.TrimSuffix(line, "\n"), " ") + "\n")
		first = rest
	}
}

// row writes a label and a value.
func (t *table) row(label, format string, args ...any) {
	t.text(fmt.Sprintf("%-*s", labelWidth, label), strings.Repeat(" ", labelWidth), fmt.Sprintf(format, args...))
}

// wrap breaks s between words into lines of at most width columns. A longer word is cut. What a
// terminal would obey is escaped: a document may come from somewhere else.
func wrap(s string, width int) string {
	var b strings.Builder
	column := 0
	for word := range strings.FieldsSeq(s) {
		word = bytesconv.Visible(word)
		n := utf8.RuneCountInString(word)
		switch {
		case column == 0:
		case column+1+n > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		if n > width {
			word, n = printable(word, width), width
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}

func (t *table) verdict() {
	v := t.run.Verdict
	if v.Text != "" {
		t.text("", "", v.Text)
	}
	for _, w := range v.Warnings {
		t.text("- ", "  ", w)
	}
	t.blank()
}

func (t *table) responses() {
	run, r := t.run, t.run.Requests
	rate := FormatRate(run.RequestsPerSecond) + " requests/s"
	if s := run.Schedule; s != nil && run.Seconds > 0 {
		rate += fmt.Sprintf(" of %s intended", FormatRate(float64(s.Intended)/run.Seconds))
	}
	t.row("Rate", "%s", rate)
	t.row("Requests", "%s in %s: %s", FormatCount(r.Sent), seconds(run.Seconds), outcomes(r))
	if o := &run.Outages; o.Count > 0 {
		t.row("Outages", "%s in %s, the longest %s: no good response came", seconds(o.Seconds), plural(float64(o.Count), "stretch", "stretches"), seconds(o.LongestSeconds))
	}
	if len(run.Statuses) > 0 {
		t.row("Statuses", "%s", statuses(run))
	}
	label := "Errors"
	for i, e := range run.Errors {
		if i == maxErrors {
			t.row("", "%d more kinds", len(run.Errors)-i)
			break
		}
		text := fmt.Sprintf("%s %s", FormatCount(e.Count), printable(e.Kind, 40))
		if e.Example != "" {
			text += ", such as: " + printable(e.Example, 200)
		}
		t.row(label, "%s", text)
		label = ""
	}
	t.row("Bytes", "%s read (%s/s), %s written", FormatBytes(run.Bytes.Read), FormatBytes(perSecond(run.Bytes.Read, run.Seconds)), FormatBytes(run.Bytes.Written))
	t.connections()
	t.blank()
}

// maxErrors is how many kinds of errors a table shows.
const maxErrors = 10

func perSecond(n int64, seconds float64) int64 {
	if seconds <= 0 {
		return 0
	}
	return int64(float64(n) / seconds)
}

// outcomes says what became of requests, leaving out what is 0.
func outcomes(r Requests) string {
	parts := []string{FormatCount(r.Good) + " good"}
	for _, p := range []struct {
		n    int64
		what string
	}{{r.Unexpected, "unexpected"}, {r.Failed, "failed"}, {r.Unanswered, "in flight at the end"}} {
		if p.n > 0 {
			parts = append(parts, FormatCount(p.n)+" "+p.what)
		}
	}
	return strings.Join(parts, ", ")
}

func (t *table) connections() {
	s, c := t.run.Settings, t.run.Connections
	text := fmt.Sprintf("%s opened for %s at a time", FormatCount(c.Opened), FormatCount(int64(s.Connections)))
	if c.Reopened > 0 {
		text += fmt.Sprintf(", %s in place of ended ones", FormatCount(c.Reopened))
	}
	if n := t.run.Requests.NotConnected; n > 0 {
		text += fmt.Sprintf(", %s failed", plural(float64(n), "attempt", "attempts"))
	}
	if c.Resumed > 0 {
		text += fmt.Sprintf(", %s TLS sessions resumed", FormatCount(c.Resumed))
	}
	if c.Resent > 0 {
		text += fmt.Sprintf(", %s requests sent again", FormatCount(c.Resent))
	}
	t.row("Connections", "%s", text)
}

// percentiles writes the distributions, one row each.
func (t *table) percentiles() {
	run := t.run
	fmt.Fprintf(&t.b, "%-*s", labelWidth, "")
	for _, p := range []string{"p50", "p75", "p90", "p99", "p99.9", "p99.99", "max"} {
		fmt.Fprintf(&t.b, "%9s", p)
	}
	t.blank()
	t.distribution("Latency", &run.Latency)
	if s := run.Schedule; s != nil {
		t.distribution("Late starts", &s.Late)
		t.distribution("Own lateness", &run.Generator.Late)
	}
	t.distribution("Connect", &run.Connections.Connect)
	t.distribution("Handshake", &run.Connections.TLS)
	if run.Latency.Count == 0 {
		t.row("Latency", "none: there was no complete response")
	}
	t.blank()
}

func (t *table) distribution(label string, d *Distribution) {
	if d.Count == 0 {
		return
	}
	fmt.Fprintf(&t.b, "%-*s", labelWidth, label)
	for _, ns := range []int64{d.P50NS, d.P75NS, d.P90NS, d.P99NS, d.P999NS, d.P9999NS, d.MaxNS} {
		fmt.Fprintf(&t.b, "%9s", FormatDuration(ns))
	}
	t.blank()
}

// targets writes a row for each URL if there are several.
func (t *table) targets() {
	if len(t.run.Targets) < 2 {
		return
	}
	fmt.Fprintf(&t.b, "%-36s%10s%8s%9s%9s\n", "URL", "good", "bad", "p50", "p99")
	for i, g := range t.run.Targets {
		if i == maxTargets {
			fmt.Fprintf(&t.b, "%d more\n", len(t.run.Targets)-i)
			break
		}
		p50, p99 := "-", "-"
		if g.Latency.Count > 0 {
			p50, p99 = FormatDuration(g.Latency.P50NS), FormatDuration(g.Latency.P99NS)
		}
		name := printable(g.Method+" "+g.URL, 34)
		fmt.Fprintf(&t.b, "%-36s%10s%8s%9s%9s\n", name, FormatCount(g.Requests.Good), FormatCount(g.Requests.Failures()), p50, p99)
	}
	t.blank()
}

// maxTargets and maxSteps bound the rows of a table.
const (
	maxTargets = 50
	maxSteps   = 100
)

func (t *table) steps() {
	if len(t.run.Steps) < 2 {
		return
	}
	fmt.Fprintf(&t.b, "%-13s%11s%12s%9s%9s%9s%10s\n", "Step", "intended/s", "good/s", "bad", "p50", "p99", "late p99")
	for i, s := range t.run.Steps {
		if i == maxSteps {
			fmt.Fprintf(&t.b, "%d more\n", len(t.run.Steps)-i)
			break
		}
		rate := 0.0
		if s.Seconds > 0 {
			rate = float64(s.Requests.Good) / s.Seconds
		}
		fmt.Fprintf(&t.b, "%-13s%11s%12s%9s%9s%9s%10s\n", "at "+seconds(float64(s.AtNS)/1e9), FormatRate(s.Rate), FormatRate(rate),
			FormatCount(s.Requests.Failures()), FormatDuration(s.Latency.P50NS), FormatDuration(s.Latency.P99NS), FormatDuration(s.Late.P99NS))
	}
	t.blank()
}

// sides writes what the server, the generator and the machine did.
func (t *table) sides() {
	run := t.run
	label := "Server"
	if s := run.Server; s.isWatched() {
		t.row(label, "%s%s of %s", perRequest(s.CPUPerRequest), digits(ratio(s.CPUSeconds, run.Seconds)), plural(s.Allowed, "core", "cores"))
		t.row("", "%s resident, %s, %s", FormatBytes(s.MemoryByte), plural(float64(s.Threads), "thread", "threads"),
			plural(float64(max(s.Processes, 1)), "process", "processes"))
		t.row("", "pid %d: %s", s.PID, printable(s.Command, 200))
		label = ""
	}
	if s := run.Server; s != nil && s.GoURL != "" {
		t.row(label, "%s", goText(s))
	}
	g := &run.Generator
	t.row("Generator", "%s%s cores, busy %s of the time", perRequest(g.CPUPerRequest), digits(ratio(g.CPUSeconds, run.Seconds)), FormatShare(g.Busy))
	t.row("Machine", "%s", machineText(run))
}

func perRequest(ns int64) string {
	if ns == 0 {
		return ""
	}
	return FormatDuration(ns) + " of CPU per request, "
}

func goText(s *Server) string {
	text := "Go: heap of " + FormatBytes(s.HeapByte)
	if s.Goroutines > 0 { // package expvar doesn't tell
		text = fmt.Sprintf("Go: %s goroutines, heap of %s", FormatCount(int64(s.Goroutines)), FormatBytes(s.HeapByte))
	}
	if s.AllocsPerRequest > 0 || s.Collections > 0 {
		text += fmt.Sprintf(", %s allocations and %s per request, %s collections", digits(s.AllocsPerRequest), FormatBytes(int64(s.AllocatedPerRequest)), FormatCount(s.Collections))
	}
	return text
}

func machineText(run *Run) string {
	m := run.Machine
	text := fmt.Sprintf("%s of %s", FormatCount(int64(m.Allowed)), plural(float64(m.CPUs), "CPU", "CPUs"))
	if m.CPU != "" {
		text += " (" + printable(m.CPU, 60) + ")"
	}
	text += ", " + m.OS + " " + m.Arch
	if g := run.Generator; g.Others >= 0 {
		who := "others"
		if !run.Server.isWatched() && run.Settings.Local {
			who = "others, with the server,"
		}
		text += fmt.Sprintf("; %s used %s of it", who, FormatShare(g.Others))
	}
	return text
}
