package figures

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// ProgressOptions say how a Progress shows what, and how much there is to do.
type ProgressOptions struct {
	// Columns returns how many columns the terminal has now. It is nil if the output isn't
	// a terminal; then there are whole lines, at most one in 5 s unless the run is short.
	Columns  func() int
	WarmUp   time.Duration
	Duration time.Duration // of the counted time, or 0
	Count    int64         // of requests, or 0
}

const (
	plainEvery = 5 * time.Second  // between lines that aren't on a terminal
	plainShort = 15 * time.Second // runs up to this have a line per interval
	barWidth   = 20
)

// Progress shows how a run goes on. It is not safe for concurrent use.
type Progress struct {
	w    io.Writer
	o    ProgressOptions
	sum  Interval // what is not shown yet
	done int64    // requests of the counted time
	last int      // columns of the line on the terminal
	at   time.Duration
}

// NewProgress returns a Progress that writes to w. Errors of w are ignored.
func NewProgress(w io.Writer, o ProgressOptions) *Progress { return &Progress{w: w, o: o} }

// Show adds an interval that has ended.
func (p *Progress) Show(in *Interval) {
	if in.AtNS >= 0 {
		p.done += in.Good + in.Bad
	}
	if in.AtNS >= 0 && p.sum.AtNS < 0 {
		p.sum = Interval{} // the warm-up has ended
	}
	p.sum.AtNS = in.AtNS
	p.sum.Seconds += in.Seconds
	p.sum.Good += in.Good
	p.sum.Bad += in.Bad
	p.sum.P99NS = max(p.sum.P99NS, in.P99NS)
	end := time.Duration(in.AtNS) + time.Duration(in.Seconds*float64(time.Second))
	if p.o.Columns != nil {
		p.rewrite(p.line(end, true))
		p.sum = Interval{}
		return
	}
	isShort := p.o.Duration > 0 && p.o.Duration <= plainShort
	if !isShort && p.at > 0 && end-p.at < plainEvery {
		return
	}
	p.at = max(end, 1)
	fmt.Fprintln(p.w, p.line(end, false))
	p.sum = Interval{}
}

// Clear removes the line from the terminal, so that other text can follow.
func (p *Progress) Clear() {
	if p.last > 0 {
		fmt.Fprintf(p.w, "\r%s\r", strings.Repeat(" ", p.last))
		p.last = 0
	}
}

// rewrite puts line in place of the one before.
func (p *Progress) rewrite(line string) {
	columns := max(p.o.Columns()-1, 1) // a full line would scroll
	if utf8.RuneCountInString(line) > columns {
		line = printable(line, columns)
	}
	n := utf8.RuneCountInString(line)
	fmt.Fprintf(p.w, "\r%s%s", line, strings.Repeat(" ", min(max(p.last-n, 0), max(columns-n, 0))))
	p.last = n
}

// line describes the last interval, which ended at end.
func (p *Progress) line(end time.Duration, bar bool) string {
	s := &p.sum
	p99 := "-"
	if s.P99NS > 0 {
		p99 = FormatDuration(s.P99NS)
	}
	what := fmt.Sprintf("%s/s  p99 %s  errors %s", FormatRate(ratio(float64(s.Good), s.Seconds)), p99, FormatCount(s.Bad))
	if end <= 0 || s.AtNS < 0 {
		return fmt.Sprintf("warm-up, %s left  %s", seconds(max(-end, 0).Round(100*time.Millisecond).Seconds()), what)
	}
	at := seconds(end.Round(100 * time.Millisecond).Seconds())
	part, of := 0.0, ""
	switch {
	case p.o.Count > 0:
		part, of = share(p.done, p.o.Count), fmt.Sprintf("%s of %s requests, %s", FormatCount(p.done), FormatCount(p.o.Count), at)
	case p.o.Duration > 0:
		part, of = end.Seconds()/p.o.Duration.Seconds(), fmt.Sprintf("%s of %s", at, seconds(p.o.Duration.Seconds()))
	default:
		return at + "  " + what
	}
	if !bar {
		return of + "  " + what
	}
	full := int(min(max(part, 0), 1) * barWidth)
	return fmt.Sprintf("[%s%s]  %s  %s", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), of, what)
}
