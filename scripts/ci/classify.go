//go:build unix

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/galehttp/gale/tests/harness/gate"
)

// failure is a test, without its subtests' names, or a package if test is empty.
type failure struct {
	pkg, test string
	why       string // the first message of a test, or what is wrong
	excerpt   string // lines around that
}

func (f failure) String() string { return strings.TrimSpace(f.pkg+" "+f.test) + ": " + f.why }

// judgement is what a log says. If failed and wrong are empty, all tests have passed, except
// those known to fail.
type judgement struct {
	failed []failure // tests that may run again. If test is empty, all of the package must
	wrong  []failure // what is never forgiven
	known  []string  // tests that failed, as .ci/known.txt says
}

func (j judgement) passed() bool { return len(j.failed)+len(j.wrong) == 0 }

// The race detector's report, which no test can keep from the output, and those of package gate.
var never = []struct {
	is string
	at *regexp.Regexp
}{
	{"data race", regexp.MustCompile(`(?m)^WARNING: DATA RACE$|^ +testing\.go:\d+: race detected (during|outside)`)},
	{"not forgiven", regexp.MustCompile(regexp.QuoteMeta(gate.Mark) + ".*")},
}

var (
	timedOut = regexp.MustCompile(`(?m)^panic: test timed out after .*`)
	// What the go command says of a test binary that ended by a signal or by another status
	// than that of failed tests.
	crashed = regexp.MustCompile(`(?m)^(signal: .*|exit status ([2-9]|\d\d+))$`)
	begins  = regexp.MustCompile(`(?m)^\t?(panic: |fatal error: |SIG[A-Z]+: |unexpected fault address).*`)
)

// classify judges the output of go test -json. Passed says whether go test succeeded, known names
// the tests that may fail.
func classify(log string, passed bool, known []string) judgement {
	var j judgement
	packages, other := parseLog(log)
	for _, p := range packages {
		if p.result != "pass" && p.result != "skip" {
			j.judge(p, known)
		}
	}
	if !passed && j.passed() && len(j.known) == 0 {
		j.wrong = []failure{{pkg: "go test", why: "it failed: " + firstLine(other), excerpt: clip(other)}}
	}
	if passed && len(packages) == 0 {
		j.wrong = []failure{{pkg: "go test", why: "it ran nothing"}}
	}
	return j
}

// judge adds a package that has not passed.
func (j *judgement) judge(p *packageLog, known []string) {
	all := p.output.String()
	for _, n := range never {
		if at := n.at.FindStringIndex(all); at != nil {
			why := n.is
			if strings.HasPrefix(all[at[0]:], gate.Mark) {
				why = firstLine(all[at[0]:at[1]])
			}
			j.wrong = append(j.wrong, failure{pkg: p.name, why: why, excerpt: around(all, at[0])})
			return
		}
	}
	switch {
	case p.endedByItself():
		unknown, asKnown := splitKnown(p.failed(), known)
		if len(unknown)+len(asKnown) == 0 {
			j.wrong = append(j.wrong, failure{pkg: p.name, why: "it failed, and none of its tests", excerpt: clip(p.rest.output.String())})
		}
		j.failed = append(j.failed, p.withoutParts(unknown)...)
		j.known = append(j.known, asKnown...)
	case timedOut.MatchString(all):
		at := timedOut.FindStringIndex(all)
		j.failed = append(j.failed, failure{pkg: p.name, why: firstLine(all[at[0]:]) + p.unended(), excerpt: around(all, at[0])})
	default:
		why, at := firstLine(p.rest.output.String()), begins.FindStringIndex(all)
		if at == nil {
			at = []int{len(all)}
		} else {
			why = firstLine(all[at[0]:])
		}
		j.wrong = append(j.wrong, failure{pkg: p.name, why: "it ended before its tests" + p.unended() + ": " + why, excerpt: around(all, at[0])})
	}
}

// endedByItself reports whether the binary of a package that failed has run all its tests.
func (p *packageLog) endedByItself() bool {
	rest := p.rest.output.String()
	return strings.Contains("\n"+rest, "\nFAIL\n") && !crashed.MatchString(rest) && p.unended() == ""
}

// unended names the tests that have begun and not ended, without their parts.
func (p *packageLog) unended() string {
	var names []string
	for _, t := range p.tests {
		if t.result == "" && !strings.Contains(t.name, "/") {
			names = append(names, t.name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// withoutParts returns the failures of tests of p, one for a test and its parts.
func (p *packageLog) withoutParts(failed []*testLog) []failure {
	var all []failure
	for _, t := range failed {
		name, _, _ := strings.Cut(t.name, "/")
		i := slices.IndexFunc(all, func(f failure) bool { return f.test == name })
		if i < 0 {
			i = len(all)
			all = append(all, failure{pkg: p.name, test: name})
		}
		if f := &all[i]; f.why == "" {
			f.why, f.excerpt = t.said()
		}
	}
	return all
}

var messageBegins = regexp.MustCompile(`(?m) {4}[\w.-]+\.go:\d+: (.*)$`)

// said returns the first message of a test, and the lines around it. A program's output may
// stand before a message in its line.
func (t *testLog) said() (message, excerpt string) {
	s := t.output.String()
	at := messageBegins.FindStringSubmatchIndex(s)
	if at == nil {
		return "", ""
	}
	return firstLine(s[at[2]:at[3]]), around(s, at[0])
}

// around returns some 40 lines of s, around a place of it.
func around(s string, at int) string {
	const before, after = 15, 25
	from := at
	for range before + 1 {
		if from = strings.LastIndexByte(s[:max(from, 0)], '\n'); from < 0 {
			break
		}
	}
	to := at
	for range after {
		i := strings.IndexByte(s[to:], '\n')
		if i < 0 {
			to = len(s)
			break
		}
		to += i + 1
	}
	return ended(s[from+1 : to])
}

// ended returns s with a newline at its end, if there is anything.
func ended(s string) string {
	if s != "" && !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	return s
}

// firstLine returns the first line of s that isn't empty, for a list.
func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if len(s) > 200 {
		s = fmt.Sprintf("%.200s...", s)
	}
	return s
}
