package page

import (
	"fmt"
	"math"
)

// Document is a report. All its strings are plain text of any origin: they are escaped, and
// what isn't UTF-8 in them is replaced.
type Document struct {
	Title    string
	Lead     string // a line below the title
	Verdict  Verdict
	Numbers  []Number // the main figures
	Sections []Section

	// Data, if it isn't nil, is put into the page as JSON. The reader can save it as a file
	// named DataName. DataNote says what the file lacks, if anything.
	Data     any
	DataName string
	DataNote string
}

// Tone is whether a text is good news. The text must say so as well: colours alone don't.
type Tone string

// The values of Tone.
const (
	Plain   Tone = ""
	Good    Tone = "good"
	Caution Tone = "caution"
	Bad     Tone = "bad"
)

// Verdict is the result in words, at the top of the page.
type Verdict struct {
	Tone  Tone
	Word  string   // the result in a few words
	Text  string   // what it means
	Notes []string // more to know
}

// Number is one of the main figures.
type Number struct {
	Name, Value, Note string
	Tone              Tone
}

// Section is a part of a document with a heading.
type Section struct {
	Title string
	Text  []string // paragraphs
	Parts []Part
}

// Part is a *Table, *Facts, *Bars, *Chart or *Command.
type Part interface{ part() }

// Table has a header row. Each row has a cell for each column. Cells of columns that aren't
// Left are aligned to the right.
type Table struct {
	Title   string // may be empty
	Tip     string // how to read it, may be empty
	Columns []Column
	Rows    []Row
}

// Column is the head of a column.
type Column struct {
	Title string
	Left  bool
}

// Row is a row of a table. The first cell names it.
type Row struct {
	Cells []Cell
	Mark  string // why the row doesn't count, such as "not ranked: the generator was the limit"
}

// Cell is a cell of a table.
type Cell struct {
	Text string
	Note string // below the text, smaller
	Tone Tone
	Code bool // Text is code, such as a URL
}

// Facts are names with values.
type Facts struct {
	Title string
	Pairs [][2]string
}

// Command is a command that the reader can copy.
type Command struct {
	Title string
	Text  string
}

// Bars compares values, each with its range. Bars begin at 0.
type Bars struct {
	Title        string
	Tip          string // how to read it
	Unit         Unit
	Baseline     float64 // a line at this value, 0: none
	BaselineName string
	Rows         []Bar
}

// Bar is a value with its range. Low and High are equal if there is no range.
type Bar struct {
	Name             string
	Value, Low, High float64
	Mark             string // why the bar doesn't count. It is drawn without its colour
}

// Chart shows lines.
type Chart struct {
	Title string
	Tip   string // how to read it
	Axis  Axis
	X     []float64 // ascending
	Lines []Line    // at most MaxLines
	Unit  Unit      // of the lines
	Log   bool      // of the vertical axis. Values that aren't positive are left out
	Empty string    // what to say if no line has a value
	End   float64   // over time: when the counted time ends, if there is more after it
	Marks []Span    // over time: stretches that are marked
}

// Span is a stretch of time in a chart, in seconds.
type Span struct{ From, To float64 }

// MaxLines is the largest number of lines that a chart can show.
const MaxLines = 16

// Axis is the horizontal axis of a chart.
type Axis string

// The values of Axis.
const (
	// OverTime has seconds since the counted time began. What is below 0 is the warm-up.
	OverTime Axis = "time"
	// OverPercentiles has numbers n of at least 2: the values are those that one of n
	// exceeds. 2 stands for p50, and 100 for p99.
	OverPercentiles Axis = "percentiles"
)

// Line is a line of a chart. It has a value for each of X, NaN for none.
type Line struct {
	Name   string
	Values []float64
	Dashed bool
	// Highest says how several values become one if there are too many: true for the
	// highest, false for their average.
	Highest bool
}

// Unit is the unit of values.
type Unit string

// The values of Unit.
const (
	Nanoseconds Unit = "ns" // shown as a duration
	PerSecond   Unit = "rate"
	Cores       Unit = "cores"
	Bytes       Unit = "bytes"
	Count       Unit = "count"
	Ratio       Unit = "ratio" // shown as 1.25×
)

func (*Table) part()   {}
func (*Facts) part()   {}
func (*Command) part() {}
func (*Bars) part()    {}
func (*Chart) part()   {}

func (t *Table) check() error {
	for i, row := range t.Rows {
		if len(row.Cells) != len(t.Columns) {
			return fmt.Errorf("page: row %d of the table %q has %d cells for %d columns", i+1, t.Title, len(row.Cells), len(t.Columns))
		}
	}
	return nil
}

// empty reports whether no line has a value that can be shown.
func (c *Chart) empty() bool {
	for _, l := range c.Lines {
		for _, v := range l.Values {
			if c.shown(v) {
				return false
			}
		}
	}
	return true
}

func (c *Chart) shown(v float64) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && (v > 0 || !c.Log)
}
