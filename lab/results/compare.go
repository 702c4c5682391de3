package results

import (
	"fmt"
	"strings"

	"github.com/galehttp/gale/internal/measure/page"
)

// Compare makes a table of two folders: for each server and case of both, whether its CPU
// time per request changed. Where both folders have the baseline, its ratios are compared,
// so that a machine that became slower as a whole changes nothing.
func Compare(old, now *Folder) *page.Document {
	before := map[string]Row{}
	for _, t := range old.Tables() {
		for _, r := range t.Rows {
			before[t.key(r.Server)] = r
		}
	}
	section := page.Section{Title: "CPU time per request", Text: []string{
		"Better and worse mean that the ranges over the rounds don't overlap. Servers that aren't ranked in one of the folders are not compared.",
	}}
	for _, t := range now.Tables() {
		part := &page.Table{Title: t.title(), Columns: []page.Column{
			{Title: "Server", Left: true}, {Title: "before"}, {Title: "now"}, {Title: "ratio before"}, {Title: "ratio now"}, {Title: "Change", Left: true},
		}}
		for _, r := range t.Rows {
			if b, ok := before[t.key(r.Server)]; ok {
				part.Rows = append(part.Rows, compareRow(&b, &r, r.Server == t.Baseline))
			}
		}
		if len(part.Rows) > 0 {
			section.Parts = append(section.Parts, part)
		}
	}
	doc := &page.Document{
		Title: "Lab: two runs compared", Lead: fmt.Sprintf("%s and %s", old.Dir, now.Dir),
		Verdict:  page.Verdict{Word: fmt.Sprintf("%d cases are in both", len(section.Parts)), Text: "Ratios compare with " + now.Index.Baseline + " in the same round."},
		Sections: []page.Section{section},
	}
	if old.Index.Machine.CPU != now.Index.Machine.CPU || old.Index.Machine.CPUs != now.Index.Machine.CPUs {
		doc.Verdict.Notes = append(doc.Verdict.Notes, fmt.Sprintf("The machines differ: %s and %s.", old.Index.Machine.CPU, now.Index.Machine.CPU))
	}
	return doc
}

func (t *Table) key(server string) string {
	return strings.Join([]string{t.Case.Scenario, t.Case.Case, t.Case.Mode, server}, " ")
}

func compareRow(old, now *Row, baseline bool) page.Row {
	row := page.Row{Cells: []page.Cell{
		{Text: now.Server}, {Text: duration(old.CPU)}, {Text: duration(now.CPU)}, {Text: ratio(old.CPURatio)}, {Text: ratio(now.CPURatio)}, {},
	}}
	change := &row.Cells[len(row.Cells)-1]
	o, n := old.CPURatio, now.CPURatio // higher is better
	switch {
	case old.Rank == 0 || now.Rank == 0:
		change.Text = "not compared"
	case baseline:
		change.Text = "the baseline"
	case o.N == 0 || n.N == 0:
		change.Text = "not compared"
	case n.Low > o.High:
		change.Text, change.Tone = "better", page.Good
	case n.High < o.Low:
		change.Text, change.Tone = "worse", page.Bad
	default:
		change.Text = "no difference"
	}
	return row
}
