//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// maxFlaky is how many tests of a run may fail by a deadline and pass when they run again.
const maxFlaky = 3

// runAgain runs the tests that failed by a deadline again, with nothing beside them. If
// there are more than maxFlaky, the run fails anyway, and they don't.
func (r *runner) runAgain(ctx context.Context) {
	var owe []*step
	n := 0
	for _, s := range r.steps {
		if s.owes() {
			owe, n = append(owe, s), n+s.tests()
		}
	}
	end := time.Now().Add(r.again)
	for _, s := range owe {
		if n <= maxFlaky {
			began := time.Now()
			s.why = r.stepAgain(ctx, s, end)
			s.wall += time.Since(began)
			s.flaky = s.why == ""
		} else {
			s.why = fmt.Sprintf("%d tests of the run failed by a deadline, at most %d run again", n, maxFlaky)
		}
		r.printVerdict(s)
	}
}

// stepAgain runs what a step owes. It returns "" if all of it passes, else why not.
func (r *runner) stepAgain(ctx context.Context, s *step, end time.Time) string {
	var ledger []string
	for _, run := range s.late {
		for _, pkg := range packagesOf(run.tests) {
			left := time.Until(end)
			if needs := time.Minute + time.Duration(pkg.seconds*float64(time.Second)); needs > left {
				return "no time to run it again"
			}
			r.printf("=== %s: again, alone: %s %s\n", s.name, pkg.name, strings.Join(pkg.tests, " "))
			if why := r.testsAgain(ctx, s, run, pkg, left); why != "" {
				return "failed again: " + why
			}
		}
		for _, f := range run.tests {
			ledger = append(ledger, fmt.Sprintf("%s %s (beside %s)", s.name, f, strings.Join(s.beside, ", ")))
		}
	}
	r.ledger = append(r.ledger, ledger...)
	return ""
}

// testsAgain runs tests of one package, whose output it keeps.
func (r *runner) testsAgain(ctx context.Context, s *step, run lateRun, pkg packageTests, left time.Duration) string {
	file, err := os.CreateTemp(filepath.Join(r.work, "tests", s.name), run.Name+".*.again")
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	why := run.again(ctx, left, pkg, r.mark(s.name), file)
	text, err := os.ReadFile(file.Name())
	if err == nil {
		err = os.WriteFile(file.Name()+".txt", []byte(plain(string(text))), 0o644)
	}
	if err != nil && why == "" {
		why = err.Error()
	}
	if why != "" {
		r.printf("%s", clip(plain(string(text))))
	}
	return why
}

// packageTests are tests of one package.
type packageTests struct {
	name    string
	tests   []string
	seconds float64
}

func packagesOf(late []failure) []packageTests {
	var all []packageTests
	for _, f := range late {
		if last := len(all) - 1; last < 0 || all[last].name != f.pkg {
			all = append(all, packageTests{name: f.pkg})
		}
		p := &all[len(all)-1]
		p.tests, p.seconds = append(p.tests, f.test), p.seconds+f.seconds
	}
	return all
}
