//go:build unix

package main

import (
	"encoding/json"
	"slices"
	"strings"
)

// event is a line of go test -json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // in seconds
}

// testLog is what go test said about one test. Name is empty for what no test said.
type testLog struct {
	name    string
	result  string // pass, fail or skip. Empty if the process ended before the test
	output  strings.Builder
	seconds float64
}

// packageLog is what go test said about a package.
type packageLog struct {
	name   string
	result string
	tests  []*testLog // in the order of their beginning
	rest   testLog    // what belongs to no test
	output strings.Builder
}

// parseLog reads the output of go test -json. Other is what is not about a package that
// ran: messages of the compiler and of the go command. Lines may be cut off.
func parseLog(text string) (packages []*packageLog, other string) {
	var rest strings.Builder
	for line := range strings.Lines(text) {
		var e event
		if json.Unmarshal([]byte(line), &e) != nil {
			rest.WriteString(line)
			continue
		}
		if e.Package == "" {
			rest.WriteString(e.Output)
			continue
		}
		i := slices.IndexFunc(packages, func(p *packageLog) bool { return p.name == e.Package })
		if i < 0 {
			i = len(packages)
			packages = append(packages, &packageLog{name: e.Package})
		}
		packages[i].add(e)
	}
	return packages, rest.String()
}

func (p *packageLog) add(e event) {
	t := p.test(e.Test)
	t.output.WriteString(e.Output)
	p.output.WriteString(e.Output)
	switch e.Action {
	case "pass", "fail", "skip":
		t.result, t.seconds = e.Action, e.Elapsed
		p.result = p.rest.result
	}
}

// test returns the test of that name, and makes it if it is new.
func (p *packageLog) test(name string) *testLog {
	if name == "" {
		return &p.rest
	}
	for i := len(p.tests) - 1; i >= 0; i-- { // the latest one, mostly
		if p.tests[i].name == name {
			return p.tests[i]
		}
	}
	p.tests = append(p.tests, &testLog{name: name})
	return p.tests[len(p.tests)-1]
}

// failed returns the tests that failed or did not end.
func (p *packageLog) failed() []*testLog {
	var failed []*testLog
	for _, t := range p.tests {
		if t.result == "fail" || t.result == "" {
			failed = append(failed, t)
		}
	}
	return failed
}
