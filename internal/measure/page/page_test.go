package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/galehttp/gale/internal/measure/figures"
)

func written(t *testing.T, run *figures.Run) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, run); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// writtenSample returns the report of a sample, which is made once.
func writtenSample(t *testing.T, name string) []byte {
	t.Helper()
	if pages[name] == nil {
		pages[name] = written(t, samples[name]())
	}
	return pages[name]
}

var pages = map[string][]byte{}

func writtenDocument(t *testing.T, doc *Document) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteDocument(&b, doc); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// tree is a page as a browser reads it.
type tree struct {
	t    *testing.T
	root *html.Node
}

func parsed(t *testing.T, page []byte) tree {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return tree{t, root}
}

// all returns the elements with one of the names, or all elements, in their order.
func (p tree) all(names ...string) []*html.Node {
	var found []*html.Node
	for n := range p.root.Descendants() {
		if n.Type == html.ElementNode && (len(names) == 0 || slices.Contains(names, n.Data)) {
			found = append(found, n)
		}
	}
	return found
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func (p tree) byID(id string) *html.Node {
	p.t.Helper()
	for _, n := range p.all() {
		if attr(n, "id") == id {
			return n
		}
	}
	p.t.Fatalf("no element has the id %q", id)
	return nil
}

func text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.TrimSpace(b.String())
}

// eachSample runs a test for each sample.
func eachSample(t *testing.T, test func(t *testing.T, page []byte)) {
	for name := range samples {
		t.Run(name, func(t *testing.T) { test(t, writtenSample(t, name)) })
	}
	t.Run("document", func(t *testing.T) { test(t, writtenDocument(t, sampleDocument(t))) })
}

func TestOutline(t *testing.T) {
	for _, test := range []struct{ name, want string }{
		{"plain", `
h1 Load test of http://127.0.0.1:8080/hello
h2 The server was the limit
h2 Latency
h3 Distribution
h2 Over time
h3 Latency over time
h3 Throughput over time
h3 Errors over time
h2 CPU and memory
h3 CPU over time
h3 Server memory over time
h3 Goroutines of the server over time
h3 The generator
h3 The server
h2 URLs
h2 Responses and errors
h3 Expectations
h3 Statuses
h3 Connections
h2 Settings
h3 To repeat this run
h3 The run
h3 The generator's machine`},
		{"ramp", `
h1 Load test of http://127.0.0.1:8080/hello
h2 The rate was not held
h2 Latency
h3 Distribution
h3 Distribution by step
h2 Over time
h3 Latency over time
h3 Throughput over time
h3 Errors over time
h3 Late starts
h2 CPU and memory
h3 CPU over time
h3 Server memory over time
h3 Goroutines of the server over time
h3 The generator
h3 The server
h2 Steps of the ramp
h2 URLs
h2 Responses and errors
h3 Expectations
h3 Errors
h3 Statuses
h3 Connections
h2 Settings
h3 To repeat this run
h3 The run
h3 The generator's machine`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := ""
			for _, n := range parsed(t, writtenSample(t, test.name)).all("h1", "h2", "h3") {
				got += "\n" + n.Data + " " + text(n)
			}
			if got != test.want {
				t.Errorf("got%s\nwant%s", got, test.want)
			}
		})
	}
}

// What the page's policy and its readers need of each element.
func TestElements(t *testing.T) {
	eachSample(t, func(t *testing.T, page []byte) {
		if !utf8.Valid(page) {
			t.Error("the page isn't valid UTF-8")
		}
		p, ids := parsed(t, page), map[string]bool{}
		for _, n := range p.all() {
			if id := attr(n, "id"); id != "" {
				if ids[id] {
					t.Errorf("two elements have the id %q", id)
				}
				ids[id] = true
			}
		}
		for _, n := range p.all() {
			if n.Namespace == "" && slices.Contains([]string{"img", "link", "iframe", "object", "embed", "form", "base", "audio", "video"}, n.Data) && attr(n, "rel") != "icon" {
				t.Errorf("there is an element <%s>", n.Data)
			}
			for _, a := range n.Attr {
				switch {
				case a.Key == "style" || strings.HasPrefix(a.Key, "on"):
					t.Errorf("<%s> has the attribute %s, which the policy forbids", n.Data, a.Key)
				case a.Key == "aria-labelledby" && !ids[a.Val], a.Key == "href" && a.Val[0] == '#' && !ids[a.Val[1:]]:
					t.Errorf("<%s %s=%q> refers to nothing", n.Data, a.Key, a.Val)
				case a.Key == "href" && a.Val[0] != '#' && !strings.HasPrefix(a.Val, "data:image/svg+xml,"), a.Key == "src", a.Key == "srcset", a.Key == "data" && n.Data == "object":
					t.Errorf("<%s %s=%q> is a request", n.Data, a.Key, a.Val)
				}
			}
		}
		if n := len(p.all("h1")); n != 1 {
			t.Errorf("%d elements <h1>", n)
		}
	})
}

func TestPolicy(t *testing.T) {
	eachSample(t, func(t *testing.T, page []byte) {
		p, policy, first := parsed(t, page), "", true
		for _, n := range p.all("meta", "style", "script", "link") {
			if attr(n, "http-equiv") == "Content-Security-Policy" {
				policy = attr(n, "content")
			} else if policy == "" && n.Data != "meta" {
				first = false
			}
		}
		if !first {
			t.Error("the policy comes too late")
		}
		if !strings.HasPrefix(policy, "default-src 'none';") || strings.Contains(policy, "unsafe") {
			t.Errorf("policy %q", policy)
		}
		found := map[string]int{}
		for _, n := range p.all("style", "script") {
			if attr(n, "type") == "application/json" {
				continue
			}
			found[n.Data]++
			content := ""
			if n.FirstChild != nil {
				content = n.FirstChild.Data
			}
			_, directive, _ := strings.Cut(policy, n.Data+"-src ")
			directive, _, _ = strings.Cut(directive, ";")
			if !slices.Contains(strings.Fields(directive), hashSource(content)) {
				t.Errorf("the policy doesn't allow a <%s> of %d bytes", n.Data, len(content))
			}
			for _, request := range []string{"url(", "@import", "fetch(", "XMLHttpRequest", "sendBeacon", "WebSocket", "importScripts"} {
				if strings.Contains(content, request) {
					t.Errorf("<%s> has %q", n.Data, request)
				}
			}
		}
		if found["style"] != 2 || found["script"] != 2 {
			t.Errorf("elements: %v", found)
		}
	})
}

func TestLicence(t *testing.T) {
	page := writtenSample(t, "plain")
	if !bytes.Contains(page, []byte("Permission is hereby granted")) || !bytes.Contains(page, []byte("Leon Sorokin")) {
		t.Error("the licence of uPlot isn't in the page")
	}
}

func TestSize(t *testing.T) {
	for name := range samples {
		if n := len(writtenSample(t, name)); n >= maxPage {
			t.Errorf("%s: %d bytes", name, n)
		}
	}
}

// Each chart has data for the script and a table.
func TestCharts(t *testing.T) {
	eachSample(t, func(t *testing.T, page []byte) {
		p := parsed(t, page)
		var charts []struct {
			ID    string
			X     []float64
			Lines []struct {
				Name   string
				Values []*float64
			}
		}
		if err := json.Unmarshal([]byte(text(p.byID("charts"))), &charts); err != nil {
			t.Fatal(err)
		}
		places := 0
		for _, n := range p.all("div") {
			if attr(n, "class") == "plot" {
				places++
			}
		}
		if len(charts) == 0 || places != len(charts) {
			t.Errorf("%d charts, and places for %d", len(charts), places)
		}
		for _, c := range charts {
			figure := p.byID(c.ID)
			for figure.Data != "figure" {
				figure = figure.Parent
			}
			if n := len((tree{t, figure}).all("th")); n < 2+len(c.Lines) {
				t.Errorf("%s: the table has %d headers for %d lines", c.ID, n, len(c.Lines))
			}
			if len(c.X) == 0 || len(c.X) > maxPoints {
				t.Errorf("%s: %d points", c.ID, len(c.X))
			}
			for _, l := range c.Lines {
				if len(l.Values) != len(c.X) {
					t.Errorf("%s: %q has %d values for %d points", c.ID, l.Name, len(l.Values), len(c.X))
				}
			}
		}
	})
}

// The page holds the document.
func TestData(t *testing.T) {
	for _, name := range []string{"plain", "ramp", "urls", "errors", "outage", "short", "unwatched"} {
		run := samples[name]()
		var got figures.Run
		if err := json.Unmarshal([]byte(text(parsed(t, written(t, run)).byID("data"))), &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(&got, roundTrip(t, run)) {
			t.Errorf("%s: the data of the page isn't the document", name)
		}
	}
}

func roundTrip(t *testing.T, run *figures.Run) *figures.Run {
	t.Helper()
	text, err := json.Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	again := new(figures.Run)
	if err := json.Unmarshal(text, again); err != nil {
		t.Fatal(err)
	}
	return again
}

// Text that tries to leave its place stays there.
func TestHostile(t *testing.T) {
	run := sampleRun(3)
	run.Errors = []figures.ErrorCount{{Kind: hostile, Count: 1, Example: hostile}}
	run.Intervals[1].Errors, run.Intervals[1].Bad = map[string]int64{hostile: 1}, 1
	run.Targets[0].URL, run.Tool = hostile, hostile
	run.Command = []string{"gale", hostile}
	page := written(t, run)
	p := parsed(t, page)
	if n := len(p.all("script")); n != 4 {
		t.Errorf("%d scripts", n)
	}
	var got figures.Run
	if err := json.Unmarshal([]byte(text(p.byID("data"))), &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(&got, roundTrip(t, run)) {
		t.Error("the data of the page isn't the document")
	}
	if want := "Load test of " + clean(hostile, 120); text(p.all("h1")[0]) != want {
		t.Errorf("heading %q, want %q", text(p.all("h1")[0]), want)
	}
	shown, _, _ := strings.Cut(string(page), `<script type="application/json" id="data">`)
	for _, bad := range []string{"\u2028", "\u2029", "\u202e", "\x00", "\x1b"} {
		if strings.Contains(shown, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	var charts []struct{ Lines []struct{ Name string } }
	if err := json.Unmarshal([]byte(text(p.byID("charts"))), &charts); err != nil {
		t.Fatal(err)
	}
	if got := charts[3].Lines[0].Name; got != clean(hostile, 60) {
		t.Errorf("line %q", got)
	}
}

// So does text in a document.
func TestHostileDocument(t *testing.T) {
	h := hostile
	doc := &Document{
		Title: h, Lead: h, Verdict: Verdict{Tone(h), h, h, []string{h}}, Numbers: []Number{{h, h, h, Tone(h)}}, Data: h, DataName: h, DataNote: h,
		Sections: []Section{{Title: h, Text: []string{h}, Parts: []Part{
			&Table{Title: h, Tip: h, Columns: []Column{{Title: h}, {Title: h}}, Rows: []Row{{[]Cell{{Text: h}, {h, h, Tone(h), true}}, h}}},
			&Facts{h, [][2]string{{h, h}}}, &Command{h, h},
			&Bars{h, h, Unit(h), 1, h, []Bar{{h, 1, 0, 2, h}}},
			&Chart{Title: h, Tip: h, Axis: Axis(h), X: []float64{1}, Lines: []Line{{Name: h, Values: []float64{1}}}, Unit: Unit(h)},
			&Chart{Title: h, Empty: h},
		}}},
	}
	page := writtenDocument(t, doc)
	p := parsed(t, page)
	if n := len(p.all("script")); n != 4 || !utf8.Valid(page) {
		t.Errorf("%d scripts, valid UTF-8 is %t", n, utf8.Valid(page))
	}
	for _, n := range p.all() {
		for _, a := range n.Attr {
			if n.Data == "img" || strings.HasPrefix(a.Key, "on") {
				t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
			}
		}
	}
	var data string
	if err := json.Unmarshal([]byte(text(p.byID("data"))), &data); err != nil || data != strings.NewReplacer("\xff", "\uFFFD", "\xfe", "\uFFFD").Replace(h) {
		t.Errorf("data %q: %v", data, err)
	}
}

func TestWithoutWord(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"The server was the limit: it used 1.98 of 2 cores.", "It used 1.98 of 2 cores."},
		{"The rate was not held: 80 %. The server was the limit: it used 2.", "The rate was not held: 80 %. It used 2."},
		{"The server was the limit.", ""},
		{"Was The server was the limit: no.", "Was The server was the limit: no."},
		{"Another text.", "Another text."},
	} {
		if got := withoutWord(test.text, "The server was the limit"); got != test.want {
			t.Errorf("%q becomes %q, want %q", test.text, got, test.want)
		}
	}
}

// TestFields proves that what a document has to say of both sides is on the page.
func TestFields(t *testing.T) {
	run := samples["ramp"]()
	run.Interrupted, run.Runs = true, 3
	run.Generator.Late = figures.Distribution{Count: 1, P50NS: 61_000, P99NS: 62_000}
	page := text(parsed(t, written(t, run)).root)
	for _, want := range []string{
		"3 runs together", "ended early by the user", "Own lateness, p50 and p99", "61.0 µs, 62.0 µs", "Waited for a core, all threads", "400 ms", "the longest pause 210 µs",
		"Its cores", "Busiest thread", "62 % of the time", "Memory before the first connection", "12.0 MB", "Processes at the most", "Allocations per request", "1.50, 210 B",
		"Intended, waited for a connection", "51,000", "2, of them 2 allowed: 0-1", "other processes",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page doesn't have %q", want)
		}
	}
}

func TestWriteErrors(t *testing.T) {
	broken := errors.New("broken")
	if err := Write(failing{broken}, sampleRun(1)); !errors.Is(err, broken) {
		t.Errorf("a writer that fails: %v", err)
	}
	run := sampleRun(1)
	run.Latency.Histogram = "no histogram"
	if err := Write(&bytes.Buffer{}, run); err == nil {
		t.Error("no error for a histogram that isn't valid")
	}
	chart := func(x []float64, lines ...Line) Document {
		return Document{Sections: []Section{{Parts: []Part{&Chart{Title: "c", Axis: OverTime, X: x, Lines: lines}}}}}
	}
	for name, doc := range map[string]Document{
		"lines":     chart([]float64{1}, make([]Line, MaxLines+1)...),
		"ascending": chart([]float64{1, 1}, Line{Values: []float64{1, 1}}),
		"length":    chart([]float64{1, 2}, Line{Values: []float64{1}}),
		"data":      {Data: func() {}},
		"cells":     {Sections: []Section{{Parts: []Part{&Table{Columns: []Column{{}}, Rows: []Row{{}}}}}}},
	} {
		if err := WriteDocument(&bytes.Buffer{}, &doc); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

type failing struct{ err error }

func (w failing) Write([]byte) (int, error) { return 0, w.err }

// A run without any figure has a report too.
func TestEmpty(t *testing.T) {
	written(t, &figures.Run{})
	writtenDocument(t, &Document{})
}

// TestOutage shows that a page says for how long no good response came, names that first, marks
// it in each chart over time, and counts attempts to connect in its shares.
func TestOutage(t *testing.T) {
	run := outageRun()
	run.Requests.Good, run.Requests.Unanswered = 1296, 64
	run.Requests.Sent = 1296 + 64 + 64
	page := written(t, run)
	words := text(parsed(t, page).root)
	for _, want := range []string{"The server stopped answering", "Without a good response", "9 s", "2 outages, the longest 8 s",
		"In the red parts, 9 s together, no good response came.", "704 of 2,000, 64 in flight at the end", "35 %", "Attempts to connect that failed"} {
		if !strings.Contains(words, want) {
			t.Errorf("the page doesn't have %q", want)
		}
	}
	if n := strings.Count(string(page), `"marks":[[3,4],[12,20]]`); n < 3 {
		t.Errorf("%d charts are marked", n)
	}
}

// TestShortAndLate shows that a page says how much time a point stands for, and marks what
// came after the counted time.
func TestShortAndLate(t *testing.T) {
	run := rampRun()
	run.Seconds, run.Steps = 2, run.Steps[:1]
	run.Intervals = nil
	for i := range 30 {
		in := figures.Interval{AtNS: int64(i) * 1e8, Seconds: 0.1, Good: 100, P50NS: 1e6, P99NS: 2e6}
		if i < 20 {
			in.Rate = 1000
		}
		run.Intervals = append(run.Intervals, in)
	}
	var b strings.Builder
	if err := Write(&b, run); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Each point stands for 100 ms.", "In the shaded part after 2 s, no more requests were sent", `"end":2,`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page doesn't have %q", want)
		}
	}
	if strings.Contains(b.String(), "Steps of the ramp") {
		t.Error("the page has a table of one step")
	}
	run.Intervals = run.Intervals[:20]
	b.Reset()
	if err := Write(&b, run); err != nil || strings.Contains(b.String(), "In the shaded part after") || strings.Contains(b.String(), `"end":`) {
		t.Errorf("%v, or nothing came after the counted time", err)
	}
}
