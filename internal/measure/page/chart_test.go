package page

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/measure/figures"
)

func TestMergeIntervals(t *testing.T) {
	given := []figures.Interval{
		{AtNS: -1e9, Seconds: 1, Good: 1, P50NS: 10, P99NS: 100, ServerCPU: -1, GeneratorCPU: 1, Rate: 10},
		{AtNS: 0, Seconds: 3, Good: 2, Bad: 3, Errors: map[string]int64{"a": 1, "b": 2}, P50NS: 9, P99NS: 300, ServerCPU: 1, GeneratorCPU: 2, Rate: 20, ServerMemory: 5},
		{AtNS: 3e9, Seconds: 2, Bad: 1, Errors: map[string]int64{"b": 1}, MaxNS: 7, ServerCPU: 0.5},
	}
	merged, n := mergeIntervals(given, 2)
	if n != 2 || len(merged) != 2 {
		t.Fatalf("%d intervals of %d", len(merged), n)
	}
	m := merged[0]
	if m.AtNS != -1e9 || m.Seconds != 4 || m.Good != 3 || m.Bad != 3 || m.Errors["a"] != 1 || m.Errors["b"] != 2 ||
		m.P50NS != 10 || m.P99NS != 300 || m.ServerCPU != 1 || m.GeneratorCPU != 1.75 || m.Rate != 17.5 || m.ServerMemory != 5 {
		t.Errorf("%+v", m)
	}
	if last := merged[1]; last.MaxNS != 7 || last.Errors["b"] != 1 {
		t.Errorf("%+v", last)
	}
	if given[1].Errors["b"] != 2 || given[0].Errors != nil {
		t.Error("the given intervals changed")
	}
	if same, n := mergeIntervals(given, 3); n != 1 || len(same) != 3 {
		t.Errorf("%d intervals of %d", len(same), n)
	}
}

func TestThin(t *testing.T) {
	c := &Chart{Axis: OverTime, X: []float64{0, 1, 2, 3, 4}, Lines: []Line{
		{Values: []float64{1, 3, math.NaN(), 5, 7}},
		{Values: []float64{1, 3, math.NaN(), math.NaN(), 7}, Highest: true},
	}}
	thin, n := c.thin(3)
	if n != 2 || !slices.Equal(thin.X, []float64{0.5, 2.5, 4}) || !slices.Equal(thin.Lines[0].Values, []float64{2, 5, 7}) {
		t.Errorf("%d: %+v", n, thin)
	}
	if v := thin.Lines[1].Values; v[0] != 3 || !math.IsNaN(v[1]) || v[2] != 7 {
		t.Errorf("highest: %v", v)
	}
	if same, n := c.thin(5); same != c || n != 1 {
		t.Error("a chart with few points changed")
	}
}

func TestPercentiles(t *testing.T) {
	h := figures.NewHistogram()
	for i := range 1000 {
		h.Add(time.Duration(i+1) * time.Microsecond)
	}
	whole, err := h.Distribution(true)
	if err != nil {
		t.Fatal(err)
	}
	short := whole
	short.Histogram = ""
	c, err := Percentiles("title", "tip", []Named{{"whole", whole}, {"short", short}, {"none", figures.Distribution{}}})
	if err != nil {
		t.Fatal(err)
	}
	if c.X[0] != 2 || c.X[len(c.X)-1] != 1000 || !slices.IsSorted(c.X) {
		t.Fatalf("X is %v", c.X)
	}
	for i, x := range c.X {
		got := c.Lines[0].Values[i] / 1000
		if want := 1000 * (1 - 1/x); math.Abs(got-want) > 2 && x < 1000 {
			t.Errorf("one of %v: %v µs, want %v", x, got, want)
		}
		if n := c.Lines[1].Values[i]; !math.IsNaN(n) && math.Abs(n-c.Lines[0].Values[i]) > 1000 {
			t.Errorf("one of %v: %v without the histogram", x, n)
		}
		if !math.IsNaN(c.Lines[2].Values[i]) {
			t.Errorf("one of %v: a value of nothing", x)
		}
	}
	if last := c.Lines[0].Values[len(c.X)-1]; last != float64(whole.MaxNS) {
		t.Errorf("the last is %v, and the maximum %v", last, whole.MaxNS)
	}
	table, _ := c.table()
	var names []string
	for _, row := range table.Rows {
		names = append(names, row.Cells[0].Text+" "+row.Cells[1].Text)
	}
	if want := []string{"p50 500 µs", "p75 750 µs", "p90 900 µs", "p99 990 µs", "p99.9 1.00 ms", "max 1.00 ms"}; !slices.Equal(names, want) {
		t.Errorf("rows %q, want %q", names, want)
	}
	if _, err := Percentiles("", "", nil); err != nil {
		t.Error(err)
	}
}

func TestBars(t *testing.T) {
	v := newBarsView(&Bars{Unit: Ratio, Baseline: 1, Rows: []Bar{
		{Value: 1, Low: 1, High: 1}, {Value: 1.5, Low: 1, High: 2}, {Value: 8, Low: 0, High: math.Inf(1), Mark: "not ranked"}, {Value: math.NaN()},
	}})
	if v.BaselineAt != 480 || v.Rows[0].Width != 480 || v.Rows[0].HasRange {
		t.Errorf("%+v", v)
	}
	if r := v.Rows[1]; r.Width != 720 || r.Whisker != "M480 12H960M480 7v10M960 7v10" || r.Range != "1.00× to 2.00×" {
		t.Errorf("%+v", r)
	}
	if r := v.Rows[2]; r.Width != 1000 {
		t.Errorf("a bar that doesn't count: %+v", r)
	}
	if r := v.Rows[3]; r.Width != 0 || r.Text != "–" {
		t.Errorf("a bar without a value: %+v", r)
	}
	newBarsView(&Bars{Rows: []Bar{{}}})
}

func TestCommonOrigin(t *testing.T) {
	for _, test := range []struct {
		urls []string
		want string
	}{
		{nil, ""},
		{[]string{"http://a/", "http://a/b?c"}, "http://a"},
		{[]string{"http://a/", "https://a/"}, ""},
		{[]string{"http://a/", "http://ab/"}, ""},
		{[]string{"http://a", "http://a/"}, ""},
		{[]string{"/a", "/b"}, ""},
	} {
		var targets []figures.Target
		for _, url := range test.urls {
			targets = append(targets, figures.Target{URL: url})
		}
		if got := commonOrigin(targets); got != test.want {
			t.Errorf("%q: %q, want %q", test.urls, got, test.want)
		}
	}
}

// What is left out of a report is said.
func TestLeftOut(t *testing.T) {
	page := string(writtenSample(t, "hostile"))
	for _, want := range []string{"of 400 URLs are listed", "of 400 steps are listed", "of 400 kinds are listed", "of 401 statuses are listed", "each point stands for", "too large to be saved"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
	if long := string(writtenSample(t, "long")); !strings.Contains(long, "7 intervals were merged into one. --json has all.") {
		t.Error("the report of a long run doesn't say that intervals were merged")
	}
	if plain := string(writtenSample(t, "plain")); strings.Contains(plain, "are listed") || strings.Contains(plain, "merged into one") {
		t.Error("the report of a short run says that something was left out")
	}
}

// Requests that wait for a response at the end are no errors and in no share, but a share of 0 %
// alone hides them.
func TestUnanswered(t *testing.T) {
	r := &report{run: &figures.Run{Requests: figures.Requests{Sent: 64, Unanswered: 64}}}
	if got := r.errorsNumber(); got.Note != "0 of 0, 64 in flight at the end" {
		t.Errorf("the note is %q", got.Note)
	}
	if f := r.generatorFacts(); strings.Contains(fmt.Sprint(*f), "CPU per request") {
		t.Errorf("%v has the CPU time of no request", f)
	}
	r.run.Requests = figures.Requests{Sent: 100_000, Good: 99_940, Unanswered: 60}
	if got := r.errorsNumber(); got.Note != "0 of 99,940" {
		t.Errorf("the note is %q", got.Note)
	}
}

func TestVerdict(t *testing.T) {
	for _, test := range []struct {
		limit      figures.Limit
		text       string
		tone       Tone
		word, rest string
	}{
		{figures.LimitServer, "The server was the limit: it used all.", Good, "The server was the limit", "It used all."},
		{figures.LimitServer, "The server was the limit, or the network.", Good, "The server was the limit", "The server was the limit, or the network."},
		{figures.LimitGenerator, "", Bad, "The generator was the limit", ""},
		{figures.LimitErrors, "None.", Bad, "There was no good response", "None."},
		{"new", "text", Caution, "Limit: new", "text"},
	} {
		r := report{run: &figures.Run{Verdict: figures.Verdict{Limit: test.limit, Text: test.text}}}
		if v := r.verdict(); v.Tone != test.tone || v.Word != test.word || v.Text != test.rest {
			t.Errorf("%s: %+v", test.limit, v)
		}
	}
	r := report{run: &figures.Run{Verdict: figures.Verdict{Limit: figures.LimitErrors}, Requests: figures.Requests{Sent: 100, Good: 50, Failed: 50}}}
	if v := r.verdict(); v.Word != "Too many errors" || v.Tone != Bad {
		t.Errorf("half is errors: %+v", v)
	}
	r = report{run: &figures.Run{Verdict: figures.Verdict{Limit: figures.LimitServer}, Requests: figures.Requests{Sent: 100, Good: 99, Failed: 1}}}
	if tone := r.verdict().Tone; tone != Caution {
		t.Errorf("with errors, the tone is %q", tone)
	}
}
