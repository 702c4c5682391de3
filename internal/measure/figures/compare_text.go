package figures

import (
	"fmt"
	"io"
	"strings"
)

// WriteComparison writes c for people, in lines of at most 80 columns.
func WriteComparison(w io.Writer, c *Comparison) error {
	t := &table{}
	t.text("", "", c.text())
	for _, s := range c.Settings {
		t.text("- ", "  ", "Not the same: "+s+".")
	}
	for _, s := range c.Warnings {
		t.text("- ", "  ", s)
	}
	if len(c.Rows) > 0 {
		t.rows(c)
	}
	_, err := io.WriteString(w, t.b.String())
	return err
}

// rows writes a row for each figure.
func (t *table) rows(c *Comparison) {
	t.blank()
	fmt.Fprintf(&t.b, "%-14s%12s%12s%10s   %s\n", "", runsName("A", c.RunsA), runsName("B", c.RunsB), "change", "95 % interval")
	for i := range c.Rows {
		d := &c.Rows[i]
		fmt.Fprintf(&t.b, "%-14s%12s%12s%10s", d.Name, d.Format(d.A), d.Format(d.B), formatChange(d.Change))
		if d.Judged {
			fmt.Fprintf(&t.b, "   %s to %s", formatChange(d.Low), formatChange(d.High))
		}
		if d.Told() {
			t.b.WriteString(map[bool]string{true: "  better", false: "  worse"}[d.Better()])
		}
		t.blank()
	}
}

func runsName(name string, runs int) string {
	if runs == 1 {
		return name
	}
	return fmt.Sprintf("%s (%d runs)", name, runs)
}

// text says what is told apart, in a sentence.
func (c *Comparison) text() string {
	var better, worse []string
	for i := range c.Rows {
		d := &c.Rows[i]
		if !d.Told() {
			continue
		}
		what := d.Name + " " + formatChange(d.Change)
		if d.Better() {
			better = append(better, what)
		} else {
			worse = append(worse, what)
		}
	}
	switch {
	case len(c.Rows) == 0:
		return "A and B can't be compared: they have no figure in common."
	case better == nil && worse == nil:
		return "No difference can be told between A and B."
	case worse == nil:
		return "B is better than A: " + strings.Join(better, ", ") + "."
	case better == nil:
		return "B is worse than A: " + strings.Join(worse, ", ") + "."
	}
	return "B is better than A in some figures: " + strings.Join(better, ", ") + "; and worse in others: " + strings.Join(worse, ", ") + "."
}

// formatChange writes a change as percent with its sign.
func formatChange(change float64) string {
	p := change * 100
	switch {
	case p > 999:
		return fmt.Sprintf("%.1fx", change+1)
	case p > -9.95 && p < 9.95:
		return fmt.Sprintf("%+.1f %%", p)
	}
	return fmt.Sprintf("%+.0f %%", p)
}
