//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

var comment = regexp.MustCompile("#")

// leftOut is the exit status of a step that has nothing to do here, and says so.
const leftOut = 77

var saysLeftOut = regexp.MustCompile(`(?m)^LEFT OUT: the whole step`)

// step is a script in .ci/steps, and how it ended.
type step struct {
	name     string
	programs bool // it needs what .ci/prepare.sh installs

	began     time.Time
	wall, cpu time.Duration
	exit      int
	beside    []string // the steps that ran at some moment while it ran
	late      []lateRun
	wrong     []failure
	flaky     bool
	why       string // why its tests didn't run again, or what was wrong then
}

// owes reports whether the step has not failed, but has tests that may run again.
func (s *step) owes() bool {
	return s.exit == 0 && len(s.wrong) == 0 && len(s.late) > 0 && !s.flaky && s.why == ""
}

func (s *step) failed() bool {
	return s.exit != 0 && s.exit != leftOut || len(s.wrong) > 0 || len(s.late) > 0 && !s.flaky
}

// tests returns how many tests of the step failed by a deadline.
func (s *step) tests() int {
	n := 0
	for _, run := range s.late {
		n += len(run.tests)
	}
	return n
}

// meets notes that s and other ran at the same time.
func (s *step) meets(other *step) {
	if !slices.Contains(s.beside, other.name) {
		s.beside = append(s.beside, other.name)
	}
}

// verdict says how the step ended and what it cost.
func (s *step) verdict() string {
	word := "ok"
	switch {
	case s.exit == leftOut:
		return "LEFT OUT"
	case s.owes():
		word = fmt.Sprintf("%d failed by a deadline", s.tests())
	case s.failed():
		word = "FAILED"
	case s.flaky:
		word = "passed, flaky"
	}
	cost := fmt.Sprintf("%s, %.0f s, CPU %.0f s", word, s.wall.Seconds(), s.cpu.Seconds())
	if s.why != "" {
		cost += ", " + s.why
	}
	return cost
}

// readSteps reads a list of steps: a name in each line, and "programs" after it if the step
// needs these. Each must have a script in the folder, and the other way round.
func readSteps(list, folder string) ([]*step, error) {
	text, err := os.ReadFile(list)
	if err != nil {
		return nil, err
	}
	var steps []*step
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(before(comment, line))
		if len(words) == 0 {
			continue
		}
		s := &step{name: words[0], programs: slices.Equal(words[1:], []string{"programs"})}
		if len(words) > 1 && !s.programs {
			return nil, fmt.Errorf("%s: %q", list, line)
		}
		if _, err := os.Stat(filepath.Join(folder, s.name+".sh")); err != nil {
			return nil, err
		}
		steps = append(steps, s)
	}
	scripts, err := filepath.Glob(filepath.Join(folder, "*.sh"))
	if err == nil && len(scripts) != len(steps) {
		err = fmt.Errorf("%s has %d steps, %s has %d scripts", list, len(steps), folder, len(scripts))
	}
	return steps, err
}

// choose returns the steps with these names, all if there is none.
func choose(steps []*step, names []string) ([]*step, error) {
	if len(names) == 0 {
		return steps, nil
	}
	var chosen []*step
	for _, name := range names {
		i := slices.IndexFunc(steps, func(s *step) bool { return s.name == name })
		if i < 0 {
			all := make([]string, len(steps))
			for i, s := range steps {
				all[i] = s.name
			}
			return nil, fmt.Errorf("no step %s; there are: %s", name, strings.Join(all, " "))
		}
		if slices.Contains(chosen, steps[i]) {
			return nil, fmt.Errorf("step %s is named twice", name)
		}
		chosen = append(chosen, steps[i])
	}
	return chosen, nil
}
