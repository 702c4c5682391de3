//go:build unix

package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"
)

// plain returns the output of go test -json as go test -v would print it.
func plain(log string) string {
	var b strings.Builder
	packages, other := parseLog(log)
	b.WriteString(other)
	for _, p := range packages {
		b.WriteString(p.output.String())
	}
	return b.String()
}

var (
	frame   = regexp.MustCompile(`(?m)^ *(=== (RUN|PAUSE|CONT|NAME|ATTR)|--- (PASS|SKIP)).*\n`)
	results = regexp.MustCompile(`(?m)^((ok|FAIL)[ \t].*|FAIL)\n`)
)

// report writes what a step says about a run of go test: of each failure the output and
// what it is, then the packages and counts. If all that failed may run again, no line begins
// with FAIL, because the step has not failed yet.
func report(w io.Writer, log string, j judgement) {
	packages, other := parseLog(log)
	if len(j.wrong) > 0 {
		fmt.Fprint(w, clip(other))
	}
	counts := map[string]int{}
	for _, p := range packages {
		p.report(w, j, counts)
	}
	for _, f := range j.wrong {
		fmt.Fprintln(w, "wrong:", f)
	}
	for _, f := range j.failed {
		fmt.Fprintln(w, "runs again:", f)
	}
	for _, name := range j.known {
		fmt.Fprint(w, saysKnown(name))
	}
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n", counts["pass"], counts["fail"]+counts[""], counts["skip"])
}

// report writes one package, and counts its tests by their results.
func (p *packageLog) report(w io.Writer, j judgement, counts map[string]int) {
	indent := ""
	if len(j.wrong) == 0 && len(j.failed)+len(j.known) > 0 {
		indent = "  "
	}
	for _, t := range p.tests {
		counts[t.result]++
	}
	if p.result == "fail" || p.result == "" {
		for _, t := range append(p.failed(), &p.rest) {
			fmt.Fprint(w, indented(indent, clip(results.ReplaceAllString(t.output.String(), ""))))
		}
		for _, f := range j.wrong { // it may be in the output of a test that passed
			if f.pkg == p.name {
				fmt.Fprint(w, f.excerpt)
			}
		}
	}
	for _, line := range results.FindAllString(p.rest.output.String(), -1) {
		if line != "FAIL\n" && !strings.Contains(line, "no test files") {
			fmt.Fprint(w, indented(indent, line))
		}
	}
}

func indented(indent, s string) string {
	if s == "" || indent == "" {
		return s
	}
	return indent + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n"+indent) + "\n"
}

// clip returns the begin and the end of s, without the lines that say when tests run.
func clip(s string) string {
	const first, last = 60, 60
	lines := strings.SplitAfter(frame.ReplaceAllString(s, ""), "\n")
	if len(lines) <= first+last {
		s = strings.Join(lines, "")
	} else {
		s = strings.Join(lines[:first], "") + "...\n" + strings.Join(lines[len(lines)-last:], "")
	}
	return ended(s)
}
