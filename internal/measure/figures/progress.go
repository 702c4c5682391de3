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
	// a terminal; then there are whole lines: one a second in short runs, while connections
	// are opened and while the last responses are missing, otherwise one in 5 s.
	Columns     func() int
	Connections int // that are opened before the run
	WarmUp      time.Duration
	Duration    time.Duration // of the counted time, or 0
	Count       int64         // of requests, or 0
}

const (
	plainEvery = 5 * time.Second  // between lines that aren't on a terminal
	plainShort = 15 * time.Second // runs up to this have a line per second
	barWidth   = 20
)

// Progress shows how a run goes on. It is not safe for concurrent use.
type Progress struct {
	w     io.Writer
	o     ProgressOptions
	sum   Interval // what is not shown yet
	done  int64    // requests of the counted time
	last  int      // columns of the line on the terminal
	shown bool     // there was a line about an interval

	silent, most float64 // seconds without a good response: until now, and the most of what is not shown yet
}

// NewProgress returns a Progress that writes to w. Errors of w are ignored.
func NewProgress(w io.Writer, o ProgressOptions) *Progress { return &Progress{w: w, o: o} }

// ShowOpening says how many connections are open, before the run begins.
func (p *Progress) ShowOpening(open int) {
	p.write(fmt.Sprintf("opening connections, %s of %s", FormatCount(int64(open)), FormatCount(int64(p.o.Connections))))
}

// Show adds an interval that has ended.
func (p *Progress) Show(in *Interval) {
	if in.AtNS >= 0 {
		p.done += in.Good + in.Bad
	}
	if p.phase(in) != p.phase(&p.sum) {
		p.sum, p.most = Interval{}, 0
	}
	p.listen(in)
	p.sum.AtNS = in.AtNS
	p.sum.Seconds += in.Seconds
	p.sum.Good += in.Good
	p.sum.Bad += in.Bad + in.NotConnected
	p.sum.P99NS = max(p.sum.P99NS, in.P99NS)
	end := time.Duration(in.AtNS) + time.Duration(in.Seconds*float64(time.Second))
	if p.o.Columns == nil && p.sum.Seconds < nearly*p.pause(end).Seconds() {
		return
	}
	p.shown = true
	p.write(p.line(end))
	p.sum, p.most = Interval{AtNS: in.AtNS}, 0
}

// listen notes for how long no good response has come.
func (p *Progress) listen(in *Interval) {
	if in.Good > 0 {
		p.silent = 0
		return
	}
	p.silent += in.Seconds
	p.most = max(p.most, p.silent)
}

// Phases of a run.
const (
	warming = iota
	running
	waiting // for the last responses of an open loop
)

func (p *Progress) phase(in *Interval) int {
	switch {
	case in.AtNS < 0:
		return warming
	case p.o.Duration > 0 && in.AtNS > int64(p.o.Duration-time.Millisecond):
		return waiting
	}
	return running
}

// pause returns how much time a line stands for that is not on a terminal, if the last
// interval has ended at end.
func (p *Progress) pause(end time.Duration) time.Duration {
	isShort := p.o.Duration > 0 && p.o.Duration <= plainShort
	switch {
	case isShort && p.phase(&p.sum) == running && end > p.o.Duration-time.Millisecond:
		return 0 // it was the last one
	case isShort, !p.shown, p.phase(&p.sum) == waiting:
		return time.Second
	}
	return plainEvery
}

// write writes a line, on a terminal in place of the one before.
func (p *Progress) write(line string) {
	if p.o.Columns != nil {
		p.rewrite(line)
		return
	}
	fmt.Fprintln(p.w, line)
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

// line describes what is not shown yet, which ended at end.
func (p *Progress) line(end time.Duration) string {
	s := &p.sum
	p99 := "-"
	if s.P99NS > 0 {
		p99 = FormatDuration(s.P99NS)
	}
	what := fmt.Sprintf("%s/s  p99 %s", FormatRate(ratio(float64(s.Good), s.Seconds)), p99)
	isSilent := p.most >= nearly
	if s.Bad > 0 || !isSilent {
		what += "  errors " + FormatCount(s.Bad)
	}
	if isSilent {
		what += "  no good response for " + seconds(time.Duration(p.most*1e9).Round(100*time.Millisecond).Seconds())
	}
	at := seconds(end.Round(100 * time.Millisecond).Seconds())
	switch p.phase(s) {
	case warming:
		return fmt.Sprintf("warm-up, %s left  %s", seconds(max(-end, 0).Round(100*time.Millisecond).Seconds()), what)
	case waiting:
		return fmt.Sprintf("%s, waiting for the last responses  %s", at, what)
	}
	part, of := 0.0, ""
	switch {
	case p.o.Count > 0:
		part, of = share(p.done, p.o.Count), fmt.Sprintf("%s of %s requests, %s", FormatCount(p.done), FormatCount(p.o.Count), at)
	case p.o.Duration > 0:
		part, of = end.Seconds()/p.o.Duration.Seconds(), fmt.Sprintf("%s of %s", at, seconds(p.o.Duration.Seconds()))
	default:
		return at + "  " + what
	}
	if p.o.Columns == nil {
		return of + "  " + what
	}
	full := int(min(max(part, 0), 1) * barWidth)
	return fmt.Sprintf("[%s%s]  %s  %s", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), of, what)
}
