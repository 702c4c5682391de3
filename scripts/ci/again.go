//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// timesAgain is how often a test that failed may run again until it passes.
const timesAgain = 2

// runAgain runs what failed again, with nothing beside it.
func (r *runner) runAgain(ctx context.Context) {
	for _, s := range r.steps {
		if !s.owes() {
			continue
		}
		began := time.Now()
		for _, run := range s.owed {
			for _, f := range run.failed {
				if why := r.failureAgain(ctx, s, run, f); why != "" {
					f.why += "; " + why
					s.wrong = append(s.wrong, f)
				} else {
					s.flaky = append(s.flaky, f)
				}
			}
		}
		s.wall += time.Since(began)
		r.printVerdict(s)
	}
}

// failureAgain runs a test, or a package, until it passes. It returns "" if it does, else why not.
func (r *runner) failureAgain(ctx context.Context, s *step, run failedRun, f failure) (why string) {
	for range timesAgain {
		if ctx.Err() != nil || time.Since(r.began) > r.again {
			return why + "no time to run it again"
		}
		r.printf("=== %s: again, alone: %s %s\n", s.name, f.pkg, f.test)
		j := r.once(ctx, s, run, f)
		if j.passed() {
			return ""
		}
		if len(j.wrong) > 0 {
			return "again: " + j.wrong[0].why
		}
		why = "again: " + j.failed[0].why + "; "
	}
	return why + "it failed each time"
}

// once runs a test, or a package, and keeps the output.
func (r *runner) once(ctx context.Context, s *step, run failedRun, f failure) judgement {
	file, err := os.CreateTemp(filepath.Join(r.work, "tests", s.name), run.Name+".*.again")
	if err != nil {
		return judgement{wrong: []failure{{pkg: f.pkg, test: f.test, why: err.Error()}}}
	}
	defer file.Close()
	j := run.testRun.again(ctx, f, r.mark(s.name), file)
	if text, err := os.ReadFile(file.Name()); err == nil {
		_ = os.WriteFile(file.Name()+".txt", []byte(plain(string(text))), 0o644)
		if !j.passed() {
			r.printf("%s", indented("  ", clip(plain(string(text)))))
		}
	}
	return j
}

// ledger lists the flaky tests of all steps, each with its first failure.
func (r *runner) ledger() (all []string) {
	for _, s := range r.steps {
		for _, f := range s.flaky {
			all = append(all, fmt.Sprintf("%s %s\n%s", s.name, f, indented("  ", f.excerpt)))
		}
	}
	return all
}
