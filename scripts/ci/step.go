//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// leftOut is the exit status of a step that has nothing to do here, and says so.
const leftOut = 77

var saysLeftOut = regexp.MustCompile(`(?m)^LEFT OUT: the whole step`)

// step is a script in .ci/steps, and how it ended.
type step struct {
	name     string
	usual    time.Duration // what it takes beside nothing
	full     bool          // it runs with FULL=1 only
	always   bool          // it begins even if time is short
	programs bool          // it needs what .ci/prepare.sh installs
	known    []knownTest   // its tests that fail today

	wall, cpu time.Duration
	exit      int
	why       string      // what else was wrong
	owed      []failedRun // what failed and may run again
	wrong     []failure   // what failed for good
	flaky     []failure   // what failed, and passed when it ran again
}

// owes reports whether the step has not failed, but has tests that may run again.
func (s *step) owes() bool {
	return s.exit == 0 && len(s.wrong) == 0 && len(s.owed) > 0 && len(s.flaky) == 0
}

func (s *step) failed() bool {
	return s.exit != 0 && s.exit != leftOut || len(s.wrong) > 0 || s.owes()
}

// limit is how long the step may take until it counts as hanging.
func (s *step) limit() time.Duration {
	return min(max(10*s.usual, 5*time.Minute), 20*time.Minute)
}

func (s *step) tier() string {
	if s.full {
		return "full"
	}
	return "gate"
}

// verdict says how the step ended and what it cost.
func (s *step) verdict() string {
	word := "ok"
	switch {
	case s.exit == leftOut && s.why != "":
		return "LEFT OUT, " + s.why
	case s.exit == leftOut:
		return "LEFT OUT"
	case s.owes():
		word = "has tests that run again"
	case s.failed():
		word = "FAILED"
	case len(s.flaky) > 0:
		word = "passed, flaky"
	}
	cost := fmt.Sprintf("%s, %.0f s, CPU %.0f s", word, s.wall.Seconds(), s.cpu.Seconds())
	if s.why != "" {
		cost += ", " + s.why
	}
	return cost
}

// readSteps reads a list of steps. Each line has a name, the tier, gate or full, the seconds
// that the step takes beside nothing, and words: always and programs. Each step must have a
// script in the folder, and the other way round.
func readSteps(list, folder string) ([]*step, error) {
	text, err := os.ReadFile(list)
	if err != nil {
		return nil, err
	}
	var steps []*step
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		s, err := parseStep(words)
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", list, line, err)
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

func parseStep(words []string) (*step, error) {
	if len(words) < 3 || words[1] != "gate" && words[1] != "full" {
		return nil, errors.New("a line is a name, gate or full, seconds, and words")
	}
	seconds, err := strconv.Atoi(words[2])
	if err != nil {
		return nil, err
	}
	s := &step{name: words[0], full: words[1] == "full", usual: time.Duration(seconds) * time.Second}
	for _, word := range words[3:] {
		switch word {
		case "always":
			s.always = true
		case "programs":
			s.programs = true
		default:
			return nil, fmt.Errorf("no word %s", word)
		}
	}
	return s, nil
}

// choose returns the steps with these names; if there is none, those of the gate, and with
// full all.
func choose(steps []*step, names []string, full bool) ([]*step, error) {
	if len(names) == 0 {
		return slices.DeleteFunc(slices.Clone(steps), func(s *step) bool { return s.full && !full }), nil
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
