//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// result says which lines of a step's output stand under "results", if it isn't the last.
var result = map[string]*regexp.Regexp{
	"contract":   regexp.MustCompile(`(?m)^(== |MUST|SHOULD|ALL|FAIL MUST).*\n`),
	"test":       regexp.MustCompile(`(?m)^((ok|FAIL)[ \t].*|.*passed,.*)\n`),
	"test_event": regexp.MustCompile(`(?m)^((ok|FAIL)[ \t].*|.*passed,.*)\n`),
}

var leftOutLine = regexp.MustCompile(`(?m)^LEFT OUT.*\n`)

// page prints the end: what each step cost and found, what was left out, the flaky tests, and
// the failures. It returns whether the run passed.
func (r *runner) page() bool {
	r.printf("\n=== steps\n")
	for _, s := range r.steps {
		r.printf("%-12s %s\n", s.name, s.verdict())
	}
	r.printf("\n=== results\n")
	for _, s := range r.steps {
		r.pageResult(s)
	}
	r.pageKnown()
	r.pageLeftOut()
	flaky := r.ledger()
	if len(flaky) > 0 {
		r.printf("\n=== flaky: failed, and passed alone: find the cause before other work\n%s", strings.Join(flaky, ""))
	}
	var broken []string
	for _, s := range r.steps {
		if s.failed() {
			broken = append(broken, s.name)
			r.pageFailed(s)
		}
	}
	if len(broken) > 0 || len(flaky) > 0 {
		r.keep()
	}
	switch {
	case len(broken) > 0:
		r.printf("\nfailed: %s\nFAIL\n", strings.Join(broken, " "))
	case len(flaky) > 0:
		r.printf("\npassed, flaky: %d\nPASS\n", len(flaky))
	default:
		r.printf("\nPASS\n")
	}
	return len(broken) == 0
}

// pageFailed prints each failure of a step, or else the last lines of its output.
func (r *runner) pageFailed(s *step) {
	for _, f := range s.wrong {
		r.printf("\n=== %s failed: %s\n%s", s.name, f, f.excerpt)
	}
	if len(s.wrong) == 0 || s.exit != 0 {
		r.printf("\n=== %s failed; the last lines of its output:\n%s", s.name, lastLines(r.text(s), 40))
	}
}

func (r *runner) pageResult(s *step) {
	text := r.text(s)
	switch lines := result[s.name]; {
	case text == "":
		return
	case lines != nil:
		text = strings.Join(lines.FindAllString(text, -1), "")
	default:
		text = lastLines(text, 1)
	}
	r.printf("--- %s\n%s", s.name, text)
}

// pageKnown says which steps have tests that may fail.
func (r *runner) pageKnown() {
	title := "\n=== known to fail, .ci/known.txt says why\n"
	for _, s := range r.steps {
		if n := len(s.known); n > 0 && s.exit != leftOut {
			r.printf("%s%s: %d\n", title, s.name, n)
			title = ""
		}
	}
}

func (r *runner) pageLeftOut() {
	var all []string
	for _, s := range r.steps {
		if s.exit == leftOut && s.why != "" {
			all = append(all, s.name+": "+s.why+"\n")
		}
		lines := leftOutLine.FindAllString(r.text(s), -1)
		slices.Sort(lines)
		for _, line := range slices.Compact(lines) {
			all = append(all, s.name+strings.TrimPrefix(line, "LEFT OUT"))
		}
	}
	if len(all) > 0 {
		r.printf("\n=== left out\n%s", strings.Join(all, ""))
	}
}

// keep copies the output of all steps to a folder that stays.
func (r *runner) keep() {
	kept, err := os.MkdirTemp("", "gale-ci-failed.")
	if err != nil {
		r.printf("\nthe output is not kept: %v\n", err)
		return
	}
	for _, pattern := range []string{"*.out", "*.txt", "*.log", "tests/*/*.txt"} {
		files, _ := filepath.Glob(filepath.Join(r.work, pattern))
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil {
				_ = os.WriteFile(filepath.Join(kept, filepath.Base(file)), text, 0o644)
			}
		}
	}
	r.printf("\nall output is in %s\n", kept)
}

// text returns the output of a step, which ends with a newline if there is any.
func (r *runner) text(s *step) string {
	b, _ := os.ReadFile(r.output(s))
	return ended(string(b))
}

func (r *runner) printf(format string, args ...any) { fmt.Fprintf(r.out, format, args...) }

// lastLines returns the last n lines of s, which ends with a newline.
func lastLines(s string, n int) string {
	lines := strings.SplitAfter(s, "\n")
	return strings.Join(lines[max(0, len(lines)-1-n):], "")
}
