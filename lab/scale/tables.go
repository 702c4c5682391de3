package scale

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// tables writes Markdown.
type tables struct {
	out io.Writer
	err error
}

func (t *tables) printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.out, format, args...)
	}
}

// head begins a table with a column for each measurement.
func (t *tables) head(first string, ms []measurement, last string) {
	t.printf("| %s |", first)
	for _, m := range ms {
		t.printf(" %s |", loopsOf(m.Loops))
	}
	t.printf(" %s |\n|---|%s---|\n", last, strings.Repeat("---:|", len(ms)))
}

// least is the smallest number, for each request or connection, that gets a row.
const least = 0.005

// shared writes the rows of words that several parties write or read in turn.
func (t *tables) shared(title string, ms []measurement, rows func(*measurement) []row) {
	t.printf("### %s\n\nWrites of words that several loops write / writes by another loop than the one before / reads of what another loop has written.\n\n", title)
	t.head("word", ms, "why")
	type line struct {
		cells map[int]row
		most  float64
	}
	lines := map[string]*line{}
	sums := make([]row, len(ms))
	for i := range ms {
		for _, r := range rows(&ms[i]) {
			if r.Shared < least && r.Transfers < least && r.ReadTransfers < least {
				continue
			}
			l := lines[r.Word]
			if l == nil {
				l = &line{cells: map[int]row{}}
				lines[r.Word] = l
			}
			l.cells[i] = r
			l.most = max(l.most, r.Shared, r.Transfers, r.ReadTransfers)
			sums[i].Shared += r.Shared
			sums[i].Transfers += r.Transfers
			sums[i].ReadTransfers += r.ReadTransfers
		}
		for _, r := range rows(&ms[i]) {
			sums[i].Outside += r.Outside
		}
	}
	words := make([]string, 0, len(lines))
	for word := range lines {
		words = append(words, word)
	}
	slices.SortFunc(words, func(a, b string) int {
		return cmp.Or(cmp.Compare(lines[b].most, lines[a].most), strings.Compare(a, b))
	})
	for _, word := range words {
		t.printf("| `%s` |", word)
		for i := range ms {
			t.cell(lines[word].cells[i])
		}
		t.printf(" %s |\n", why(word))
	}
	t.printf("| **all** |")
	for i := range ms {
		t.cell(sums[i])
	}
	t.printf(" |\n| writes by timers and other goroutines of no loop |")
	for _, s := range sums {
		t.printf(" %.2f |", s.Outside)
	}
	t.printf(" |\n\n")
}

func (t *tables) cell(r row) {
	if r.Shared < least && r.Transfers < least && r.ReadTransfers < least {
		t.printf(" 0 |")
		return
	}
	t.printf(" %.2f / %.2f / %.2f |", r.Shared, r.Transfers, r.ReadTransfers)
}

// runtime writes what the runtime and the system counted.
func (t *tables) runtime(title string, ms []measurement, counts func(*measurement) *runtimeCounts) {
	t.printf("### %s\n\n", title)
	t.head("what", ms, "")
	line := func(name string, value func(*runtimeCounts) float64) {
		t.printf("| %s |", name)
		for i := range ms {
			t.printf(" %.3f |", value(counts(&ms[i])))
		}
		t.printf(" |\n")
	}
	line("polls", func(c *runtimeCounts) float64 { return c.Polls })
	line("polls that waited", func(c *runtimeCounts) float64 { return c.Wakeups })
	for _, name := range []string{"voluntary_ctxt_switches", "nonvoluntary_ctxt_switches", "se.nr_migrations"} {
		line(name, func(c *runtimeCounts) float64 { return c.Switches[name] })
	}
	var places []string
	for i := range ms {
		for place, n := range counts(&ms[i]).Contended {
			if n >= least && !slices.Contains(places, place) {
				places = append(places, place)
			}
		}
	}
	slices.Sort(places)
	for _, place := range places {
		line(place, func(c *runtimeCounts) float64 { return c.Contended[place] })
	}
	t.printf("\n")
}

// syscalls writes the system calls for each request, if they were counted.
func (t *tables) syscalls(ms []measurement) {
	var names []string
	for _, m := range ms {
		for name, n := range m.Syscalls {
			if n >= least && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	t.printf("### System calls, each request\n\n")
	t.head("call", ms, "")
	for _, name := range names {
		t.printf("| %s |", name)
		for _, m := range ms {
			t.printf(" %.2f |", m.Syscalls[name])
		}
		t.printf(" |\n")
	}
	t.printf("\n")
}
