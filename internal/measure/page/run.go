package page

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/galehttp/gale/internal/measure/figures"
)

// The bounds of a run's report. What is above them is counted in a sentence.
const (
	maxIntervals = 600     // longer runs have several intervals merged into one
	maxText      = 500     // bytes of a URL or of an error's text
	maxCommand   = 4000    // bytes
	maxPage      = 500_000 // bytes of the page
)

// limits bound the parts of a report whose number isn't bounded by this package.
type limits struct {
	rows int // of a table
	data int // bytes of the JSON document in the page
}

// tighter are the limits to try, one after the other, until the page is small enough.
var tighter = []limits{{200, 200_000}, {50, 100_000}, {10, 50_000}}

// Write writes the report of one run: a file of less than 500 kB. Of a long run it shows
// several intervals as one, and of long lists the beginning.
func Write(w io.Writer, run *figures.Run) error {
	var page bytes.Buffer
	for _, l := range tighter {
		doc, err := document(run, l)
		if err != nil {
			return err
		}
		page.Reset()
		if err := WriteDocument(&page, doc); err != nil {
			return err
		}
		if page.Len() < maxPage {
			break
		}
	}
	_, err := w.Write(page.Bytes())
	return err
}

// report makes the parts of a run's document.
type report struct {
	limits
	run       *figures.Run
	intervals []figures.Interval // at most maxIntervals
	merged    int                // so many of the run's are one of them
}

func document(run *figures.Run, l limits) (*Document, error) {
	r := &report{limits: l, run: run}
	r.intervals, r.merged = mergeIntervals(run.Intervals, maxIntervals)
	latency, err := r.latency()
	if err != nil {
		return nil, err
	}
	data, note, err := r.data()
	if err != nil {
		return nil, err
	}
	doc := &Document{
		Title:    r.title(),
		Lead:     r.lead(),
		Verdict:  r.verdict(),
		Numbers:  r.numbers(),
		Sections: []Section{latency},
		DataName: "gale-bench-" + run.Began.UTC().Format("2006-01-02-150405") + ".json",
		DataNote: note,
	}
	if data != nil {
		doc.Data = data
	}
	for _, section := range []Section{r.overTime(), r.processors(), r.steps(), r.targets(), r.responses(), r.settings()} {
		if len(section.Parts) > 0 {
			doc.Sections = append(doc.Sections, section)
		}
	}
	return doc, nil
}

func (r *report) title() string {
	switch n := len(r.run.Targets); n {
	case 0:
		return "Load test"
	case 1:
		return "Load test of " + clean(r.run.Targets[0].URL, 120)
	default:
		return "Load test of " + strconv.Itoa(n) + " URLs"
	}
}

func (r *report) lead() string {
	parts := []string{r.run.Began.UTC().Format("2 January 2006, 15:04:05 UTC"), seconds(r.run.Seconds)}
	s := &r.run.Settings
	parts = append(parts, plural(int64(s.Connections), "connection"))
	if s.Rate != "" {
		parts = append(parts, "open loop at "+clean(s.Rate, 60)+" a second")
	} else {
		parts = append(parts, "closed loop")
	}
	parts = append(parts, clean(s.Protocol, 40)+tlsNote(s))
	if r.run.Runs > 1 {
		parts = append(parts, plural(int64(r.run.Runs), "run")+" together")
	}
	if r.run.Interrupted {
		parts = append(parts, "ended early by the user")
	}
	return strings.Join(parts, " · ")
}

func tlsNote(s *figures.Settings) string {
	if s.TLS {
		return " over TLS"
	}
	return ""
}

// verdicts are the words for each limit.
var verdicts = map[figures.Limit]Verdict{
	figures.LimitNone:      {Tone: Good, Word: "The rate was held"},
	figures.LimitServer:    {Tone: Good, Word: "The server was the limit"},
	figures.LimitGenerator: {Tone: Bad, Word: "The generator was the limit"},
	figures.LimitShared:    {Tone: Caution, Word: "The generator and the server wanted the same cores"},
	figures.LimitRate:      {Tone: Caution, Word: "The rate was not held"},
	figures.LimitNoise:     {Tone: Caution, Word: "Too noisy to tell"},
	figures.LimitErrors:    {Tone: Bad, Word: "Too many errors"},
}

func (r *report) verdict() Verdict {
	given := &r.run.Verdict
	v, ok := verdicts[given.Limit]
	if !ok {
		v = Verdict{Tone: Caution, Word: "Limit: " + clean(string(given.Limit), 40)}
	}
	switch {
	case v.Tone == Good && r.run.Requests.FailedShare() >= 0.01:
		v.Tone = Caution
	case given.Limit != figures.LimitErrors:
	case r.run.Requests.Good == 0:
		v.Word = "There was no good response"
	case r.run.Outages.Count > 0:
		v.Word = "The server stopped answering"
	}
	v.Text = withoutWord(clean(given.Text, 2*maxText), v.Word)
	for _, warning := range given.Warnings[:min(len(given.Warnings), 20)] {
		v.Notes = append(v.Notes, clean(warning, maxText))
	}
	return v
}

// withoutWord returns text without the word that a sentence of it begins with, as in "The
// server was the limit: it used 1.98 of 2 cores."
func withoutWord(text, word string) string {
	if text == word+"." {
		return ""
	}
	before, rest, ok := strings.Cut(text, word+": ")
	if !ok || before != "" && !strings.HasSuffix(before, ". ") {
		return text
	}
	first, n := utf8.DecodeRuneInString(rest)
	return before + string(unicode.ToUpper(first)) + rest[n:]
}

func (r *report) numbers() []Number {
	run := r.run
	rate := Number{Name: "Good responses per second", Value: number(run.RequestsPerSecond)}
	if run.Schedule != nil && run.Seconds > 0 {
		rate.Note = number(float64(run.Schedule.Intended)/run.Seconds) + " intended"
	}
	numbers := []Number{rate}
	if l := &run.Latency; l.Count > 0 {
		numbers = append(numbers,
			Number{Name: "Latency p50", Value: duration(float64(l.P50NS))},
			Number{Name: "Latency p99", Value: duration(float64(l.P99NS))},
			Number{Name: "Latency max", Value: duration(float64(l.MaxNS))})
	}
	numbers = append(numbers, r.errorsNumber())
	if o := &run.Outages; o.Count > 0 {
		numbers = append(numbers, Number{Name: "Without a good response", Value: seconds(o.Seconds), Note: plural(o.Count, "outage") + ", the longest " + seconds(o.LongestSeconds), Tone: Bad})
	}
	if s := run.Server; s != nil && s.CPUPerRequest > 0 {
		numbers = append(numbers, Number{
			Name: "Server CPU per request", Value: duration(float64(s.CPUPerRequest)),
			Note: percent(s.Busy) + " of " + cores(s.Allowed),
		})
	}
	busy := Number{Name: "Generator busy", Value: percent(run.Generator.Busy), Note: "its busiest loop"}
	if run.Verdict.Limit == figures.LimitGenerator {
		busy.Tone = Bad
	}
	numbers = append(numbers, busy)
	if s := run.Schedule; s != nil {
		held := Number{Name: "Rate held", Value: percent(s.RateRatio), Note: "starts late by " + duration(float64(s.Late.P99NS)) + " at p99"}
		if run.Verdict.Limit == figures.LimitRate {
			held.Tone = Caution
		}
		numbers = append(numbers, held)
	}
	return numbers
}

func (r *report) errorsNumber() Number {
	q := &r.run.Requests
	n := Number{Name: "Errors", Value: percent(q.FailedShare()), Note: grouped(q.Failures()) + " of " + grouped(q.Attempts())}
	if share(q.Unanswered, q.Sent) > 0.01 {
		n.Note += ", " + grouped(q.Unanswered) + " in flight at the end"
	}
	if q.Failures() > 0 {
		n.Tone = Bad
	}
	return n
}

func share(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// cores returns "1 core" or "1.5 cores".
func cores(n float64) string {
	if n == 1 {
		return "1 core"
	}
	return number(n) + " cores"
}

func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(n) + " " + noun + "s"
}

// mergeIntervals returns at most limit intervals, and how many of the given are one of
// them. Percentiles of a merged interval are the highest ones.
func mergeIntervals(intervals []figures.Interval, limit int) (merged []figures.Interval, n int) {
	if len(intervals) <= limit {
		return intervals, 1
	}
	n = (len(intervals) + limit - 1) / limit
	for group := range slices.Chunk(intervals, n) {
		merged = append(merged, mergeInterval(group))
	}
	return merged, n
}

func mergeInterval(group []figures.Interval) figures.Interval {
	m := group[0]
	for i := range group[1:] {
		m.Join(&group[1+i])
	}
	return m
}
