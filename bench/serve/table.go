//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// row is a question that all programs get.
type row struct {
	name string
	// ask returns what a program does: yes, no, or a few words. It gets the program, started on
	// dir with the flags for opts.
	ask  func(r *running, f *folders) string
	dir  func(f *folders) string // nil for site
	opts []string
	// alone is like ask, for questions that start the program themselves.
	alone func(p *program, f *folders) string
	// together asks all programs in turns.
	together func(all []*program, f *folders) []string
}

// cell asks one program.
func (w *row) cell(p *program, f *folders) string {
	if w.alone != nil {
		return w.alone(p, f)
	}
	dir := f.site
	if w.dir != nil {
		dir = w.dir(f)
	}
	r, err := p.start(f, dir, w.opts...)
	if err != nil { // it doesn't know the flag: this is how it is without
		if r, err = p.start(f, dir); err != nil {
			return "doesn't start"
		}
	}
	defer r.stop()
	return w.ask(r, f)
}

// yes is the cell for what a program does or doesn't do.
func yes(ok bool) string {
	if ok {
		return "yes"
	}
	return "no"
}

type table struct {
	head  []string
	cells [][]string
}

func newTable(programs []*program) *table {
	t := &table{head: []string{""}}
	for _, p := range programs {
		title := p.title
		if p.version != "" && p.name != "gale" {
			title += " " + p.version
		}
		t.head = append(t.head, title)
	}
	return t
}

func (t *table) add(w row, cells []string) {
	t.cells = append(t.cells, append([]string{w.name}, cells...))
}

func (t *table) markdown() string {
	var b strings.Builder
	line := func(cells []string) {
		for i, c := range cells {
			cells[i] = strings.ReplaceAll(c, "|", `\|`)
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	line(t.head)
	b.WriteString(strings.Repeat("| --- ", len(t.head)) + "|\n")
	for _, c := range t.cells {
		line(c)
	}
	return b.String()
}

// The table stands between these lines.
const (
	markBegin = "<!-- made by: cd bench && go run ./serve -write -->\n"
	markEnd   = "<!-- end of what bench/serve makes -->\n"
)

// writeTo puts the table into a document.
func (t *table) writeTo(name string) error {
	doc, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	before, rest, ok := bytes.Cut(doc, []byte(markBegin))
	_, after, ok2 := bytes.Cut(rest, []byte(markEnd))
	if !ok || !ok2 {
		return fmt.Errorf("%s has no lines %q and %q", name, markBegin, markEnd)
	}
	return os.WriteFile(name, bytes.Join([][]byte{before, []byte(markBegin), []byte("\n" + t.markdown() + "\n"), []byte(markEnd), after}, nil), 0o644)
}
