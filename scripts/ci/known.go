//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// knownVar is the variable that tells a step, and "ci test", which of its tests may fail.
const knownVar = "CI_KNOWN"

// knownTest is a test, or a part of one, that a step has and that fails today.
type knownTest struct{ name, why string }

// readKnown reads a list of tests that fail, and gives each to its step. A line is a step, a
// test, and the reason. Steps of the gate have no such tests.
func readKnown(list string, steps []*step) error {
	text, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' { // names have it, too
			continue
		}
		if err := parseKnown(line, steps); err != nil {
			return fmt.Errorf("%s: %q: %w", list, line, err)
		}
	}
	return nil
}

func parseKnown(line string, steps []*step) error {
	words := strings.Fields(line)
	if len(words) < 3 {
		return errors.New("a line is a step, a test, and the reason")
	}
	i := slices.IndexFunc(steps, func(s *step) bool { return s.name == words[0] })
	if i < 0 || !steps[i].full {
		return fmt.Errorf("%s is no step of the full tier", words[0])
	}
	s := steps[i]
	if slices.Contains(s.knownNames(), words[1]) {
		return errors.New("it is there twice")
	}
	s.known = append(s.known, knownTest{words[1], strings.Join(words[2:], " ")})
	return nil
}

func (s *step) knownNames() []string {
	var names []string
	for _, k := range s.known {
		names = append(names, k.name)
	}
	return names
}

// saysKnown is the line in a step's output that says that a known test has failed.
func saysKnown(name string) string { return "fails, as known: " + name + "\n" }

// stale returns as failures what s has in the list and didn't fail, by the output of s.
func (s *step) stale(output string) []failure {
	var all []failure
	for _, k := range s.known {
		if !strings.Contains("\n"+output, "\n"+saysKnown(k.name)) {
			all = append(all, failure{pkg: s.name, test: k.name, why: "it doesn't fail: take it out of .ci/known.txt"})
		}
	}
	return all
}

// splitKnown splits tests that failed: those that known doesn't name, and the names of known
// that did. If a part of a test is known to fail, and the test has no message of its own, it
// failed because of the part.
func splitKnown(failed []*testLog, known []string) (unknown []*testLog, asKnown []string) {
	for _, t := range failed {
		below := func(name string) bool { return strings.HasPrefix(t.name+"/", name+"/") }
		above := func(name string) bool { return strings.HasPrefix(name, t.name+"/") }
		message, _ := t.said()
		switch {
		case slices.Contains(known, t.name):
			asKnown = append(asKnown, t.name)
		case slices.ContainsFunc(known, below):
		case message == "" && slices.ContainsFunc(known, above):
		default:
			unknown = append(unknown, t)
		}
	}
	return unknown, asKnown
}
