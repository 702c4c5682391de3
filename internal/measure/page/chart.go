package page

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/galehttp/gale/internal/measure/figures"
)

const (
	maxPoints = 600 // of a line in a chart
	maxRows   = 60  // of a chart's table
)

// value is a value in a chart's data, with four digits. NaN is null.
type value float64

// MarshalJSON implements json.Marshaler.
func (v value) MarshalJSON() ([]byte, error) {
	if f := float64(v); !math.IsNaN(f) && !math.IsInf(f, 0) {
		return strconv.AppendFloat(nil, f, 'g', 4, 64), nil
	}
	return []byte("null"), nil
}

// instant is a value of X, with more digits.
type instant float64

// MarshalJSON implements json.Marshaler.
func (v instant) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(v), 'g', 8, 64), nil
}

// chartData is what the script gets of a chart.
type chartData struct {
	ID    string       `json:"id"`
	Axis  Axis         `json:"axis"`
	Unit  Unit         `json:"unit"`
	Log   bool         `json:"log"`
	End   instant      `json:"end,omitempty"`
	Marks [][2]instant `json:"marks,omitempty"` // from, to
	X     []instant    `json:"x"`
	Lines []lineData   `json:"lines"`
}

type lineData struct {
	Name   string  `json:"name"`
	Dashed bool    `json:"dashed"`
	Values []value `json:"values"`
}

// chartView is what the template gets of a chart.
type chartView struct {
	*Chart
	ID      string
	Nothing bool // there is nothing to draw
	Merged  int  // so many values became one point
	Table   *Table
	Rows    string // says what the rows of Table stand for
}

func newChartView(c *Chart, id string) (*chartView, error) {
	if len(c.Lines) > MaxLines {
		return nil, fmt.Errorf("page: the chart %q has %d lines, and at most %d can be shown", c.Title, len(c.Lines), MaxLines)
	}
	for i, x := range c.X {
		if math.IsNaN(x) || math.IsInf(x, 0) || i > 0 && x <= c.X[i-1] {
			return nil, fmt.Errorf("page: X of the chart %q isn't ascending", c.Title)
		}
	}
	for _, l := range c.Lines {
		if len(l.Values) != len(c.X) {
			return nil, fmt.Errorf("page: the line %q of the chart %q has %d values for %d points", l.Name, c.Title, len(l.Values), len(c.X))
		}
	}
	if c.empty() {
		return &chartView{Chart: c, ID: id, Nothing: true}, nil
	}
	thin, merged := c.thin(maxPoints)
	v := &chartView{Chart: thin, ID: id, Merged: merged}
	v.Table, v.Rows = c.table()
	v.Table.Title = c.Title
	return v, nil
}

func (v *chartView) data() chartData {
	d := chartData{ID: v.ID, Axis: v.Axis, Unit: v.Unit, Log: v.Log, End: instant(v.End)}
	for _, x := range v.X {
		d.X = append(d.X, instant(x))
	}
	for _, m := range v.Marks {
		d.Marks = append(d.Marks, [2]instant{instant(m.From), instant(m.To)})
	}
	for _, l := range v.Lines {
		values := make([]value, len(l.Values))
		for i, f := range l.Values {
			if !v.shown(f) {
				f = math.NaN()
			}
			values[i] = value(f)
		}
		d.Lines = append(d.Lines, lineData{Name: clean(l.Name, 200), Dashed: l.Dashed, Values: values})
	}
	return d
}

// thin returns c with at most limit points, and how many of c's points are one of it.
// Points over percentiles are never merged.
func (c *Chart) thin(limit int) (thin *Chart, merged int) {
	if len(c.X) <= limit || c.Axis == OverPercentiles {
		return c, 1
	}
	merged = (len(c.X) + limit - 1) / limit
	copied := *c
	copied.X = merge(c.X, merged, average)
	copied.Lines = nil
	for _, l := range c.Lines {
		one := average
		if l.Highest {
			one = highest
		}
		l.Values = merge(l.Values, merged, one)
		copied.Lines = append(copied.Lines, l)
	}
	return &copied, merged
}

// merge makes one value of each n.
func merge(values []float64, n int, one func([]float64) float64) []float64 {
	var out []float64
	for len(values) > 0 {
		k := min(n, len(values))
		out = append(out, one(values[:k]))
		values = values[k:]
	}
	return out
}

func average(values []float64) float64 {
	sum, n := 0.0, 0
	for _, v := range values {
		if !math.IsNaN(v) {
			sum, n = sum+v, n+1
		}
	}
	return sum / float64(n) // NaN if there are none
}

func highest(values []float64) float64 {
	most := math.NaN()
	for _, v := range values {
		if math.IsNaN(most) || v > most {
			most = v
		}
	}
	return most
}

// table returns the values of c as a table, and a sentence about its rows.
func (c *Chart) table() (*Table, string) {
	if c.Axis == OverPercentiles {
		return c.percentileTable(), ""
	}
	thin, merged := c.thin(maxRows)
	t := &Table{Columns: []Column{{Title: "Time", Left: true}}}
	for _, l := range thin.Lines {
		t.Columns = append(t.Columns, Column{Title: l.Name})
	}
	for i, x := range thin.X {
		row := Row{Cells: []Cell{{Text: seconds(x)}}}
		for _, l := range thin.Lines {
			row.Cells = append(row.Cells, c.cell(l.Values[i]))
		}
		t.Rows = append(t.Rows, row)
	}
	if merged == 1 {
		return t, ""
	}
	return t, "Each row stands for " + strconv.Itoa(merged) + " points. " + c.mergeNote()
}

// mergeNote says how several values became one.
func (c *Chart) mergeNote() string {
	all, none := true, true
	for _, l := range c.Lines {
		all, none = all && l.Highest, none && !l.Highest
	}
	switch {
	case all:
		return "The values are the highest of them."
	case none:
		return "The values are their averages."
	}
	return "Percentiles are the highest of them, rates their averages."
}

// Note says how the values of a point were merged.
func (v *chartView) Note() string { return v.mergeNote() }

func (c *Chart) cell(v float64) Cell {
	if !c.shown(v) {
		return Cell{Text: "–"}
	}
	return Cell{Text: format(c.Unit, v)}
}

// shares are the percentiles that a table has.
var shares = []struct {
	name  string
	oneOf float64
}{
	{"p50", 2}, {"p75", 4}, {"p90", 10}, {"p99", 100}, {"p99.9", 1e3}, {"p99.99", 1e4}, {"p99.999", 1e5}, {"p99.9999", 1e6},
}

func (c *Chart) percentileTable() *Table {
	t := &Table{Columns: []Column{{Title: "Percentile", Left: true}}}
	for _, l := range c.Lines {
		t.Columns = append(t.Columns, Column{Title: l.Name})
	}
	add := func(name string, at func(l *Line) float64) {
		row := Row{Cells: []Cell{{Text: name}}}
		for i := range c.Lines {
			row.Cells = append(row.Cells, c.cell(at(&c.Lines[i])))
		}
		t.Rows = append(t.Rows, row)
	}
	for _, s := range shares {
		for i, x := range c.X {
			if x == s.oneOf {
				add(s.name, func(l *Line) float64 { return l.Values[i] })
			}
		}
	}
	add("max", func(l *Line) float64 { return highest(l.Values) })
	return t
}

// seconds returns a time of a chart, such as "12.5 s" or "12:30".
func seconds(s float64) string {
	if math.Abs(s) < 120 {
		return number(math.Round(s*1000)/1000) + " s"
	}
	sign := ""
	if s < 0 {
		sign, s = "-", -s
	}
	d := time.Duration(math.Round(s)) * time.Second
	if d < time.Hour {
		return fmt.Sprintf("%s%d:%02d", sign, d/time.Minute, d/time.Second%60)
	}
	return fmt.Sprintf("%s%d:%02d:%02d", sign, d/time.Hour, d/time.Minute%60, d/time.Second%60)
}

// Named is a distribution with a name.
type Named struct {
	Name string
	figures.Distribution
}

// Percentiles returns a chart of durations: a line for each distribution, at most MaxLines.
// Without a histogram, a line has the percentiles that the distribution names.
func Percentiles(title, tip string, named []Named) (*Chart, error) {
	c := &Chart{Title: title, Tip: tip, Axis: OverPercentiles, Unit: Nanoseconds, Log: true, Empty: "There was no response, so there is no distribution."}
	most := int64(0)
	for _, n := range named {
		most = max(most, n.Count)
	}
	c.X = percentileGrid(float64(most))
	for _, n := range named {
		l, err := percentileLine(n, c.X)
		if err != nil {
			return nil, err
		}
		c.Lines = append(c.Lines, l)
	}
	return c, nil
}

// percentileGrid returns the numbers n for which a chart shows what one of n exceeds, up to
// the first that is at least count.
func percentileGrid(count float64) []float64 {
	var grid []float64
	for power := 1.0; power < 1e8; power *= 10 {
		for _, step := range []float64{1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9} {
			if n := power * step; n >= 2 {
				grid = append(grid, n)
				if n >= count {
					return grid
				}
			}
		}
	}
	return grid
}

func percentileLine(n Named, grid []float64) (Line, error) {
	l := Line{Name: n.Name, Values: make([]float64, len(grid))}
	for i := range l.Values {
		l.Values[i] = math.NaN()
	}
	if n.Count == 0 {
		return l, nil
	}
	at := func(oneOf float64) float64 { return n.named(oneOf) }
	if n.Histogram != "" {
		h, err := n.Decode()
		if err != nil {
			return l, fmt.Errorf("page: the histogram of %q: %w", n.Name, err)
		}
		at = func(oneOf float64) float64 { return float64(h.At(1 - 1/oneOf)) }
	}
	for i, oneOf := range grid {
		if oneOf >= float64(n.Count) {
			l.Values[i] = float64(n.MaxNS)
			break
		}
		l.Values[i] = at(oneOf)
	}
	return l, nil
}

// named returns the percentile of that number if the distribution has it, otherwise NaN.
func (n *Named) named(oneOf float64) float64 {
	switch oneOf {
	case 2:
		return float64(n.P50NS)
	case 4:
		return float64(n.P75NS)
	case 10:
		return float64(n.P90NS)
	case 100:
		return float64(n.P99NS)
	case 1e3:
		return float64(n.P999NS)
	case 1e4:
		return float64(n.P9999NS)
	}
	return math.NaN()
}
