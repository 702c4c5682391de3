//go:build unix

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// failure is a test, without its subtests' names, or a package if test is empty.
type failure struct {
	pkg, test string
	why       string  // the first message of a test, or what is wrong
	seconds   float64 // how long the test took
}

func (f failure) String() string { return strings.TrimSpace(f.pkg+" "+f.test) + ": " + f.why }

// judgement is what a log says. If both lists are empty, all tests have passed.
type judgement struct {
	late  []failure // tests that failed by a deadline, and by nothing else
	wrong []failure // all other failures: none of them may run again
}

// Defects that are none of a test's messages, or that must not be overlooked among them.
var (
	defects = []struct {
		is string
		at *regexp.Regexp
	}{
		{"data race", regexp.MustCompile(`WARNING: DATA RACE|race detected (during|outside)`)},
		{"timed out", regexp.MustCompile(`(?m)^panic: test timed out after`)},
		{"panic", regexp.MustCompile(`(?m)^\t?panic: `)},
		{"fatal error", regexp.MustCompile(`(?m)^(fatal error: |SIG[A-Z]+: |unexpected fault address)`)},
		{"fuzz crasher", regexp.MustCompile(`(?m)Failing input written to|^--- FAIL: Fuzz`)},
		{"report of the guard", regexp.MustCompile(`(?m)^--- late use|^FAIL: there were late uses`)},
		{"crash", regexp.MustCompile(`(?m)^(signal: |exit status ([2-9]|\d\d))`)},
	}
	lateUse = regexp.MustCompile(`used after (the handler returned|Release\w+)|released twice by Release\w+`)
)

// classify judges the output of go test -json. Passed says whether go test succeeded.
func classify(log string, passed bool) judgement {
	var j judgement
	packages, other := parseLog(log)
	for _, p := range packages {
		if p.result != "pass" && p.result != "skip" {
			j.judge(p)
		}
	}
	if !passed && len(j.late)+len(j.wrong) == 0 {
		j.wrong = []failure{{pkg: "go test", why: "it failed: " + firstLine(other)}}
	}
	if passed && len(packages) == 0 {
		j.wrong = []failure{{pkg: "go test", why: "it ran nothing"}}
	}
	return j
}

// judge adds a package that has not passed.
func (j *judgement) judge(p *packageLog) {
	wrong := func(test, why string) { j.wrong = append(j.wrong, failure{pkg: p.name, test: test, why: why}) }
	before := len(j.wrong)
	for _, d := range defects {
		if d.at.MatchString(p.output.String()) {
			wrong("", d.is)
		}
	}
	late := p.lateTests(wrong)
	switch {
	case len(j.wrong) > before:
		// The tests that failed by a deadline fail with them.
	case !strings.Contains("\n"+p.rest.output.String(), "\nFAIL\n"):
		wrong("", "it didn't end by itself: "+firstLine(p.rest.output.String()))
	case len(late) == 0:
		wrong("", "it failed, and none of its tests")
	default:
		j.late = append(j.late, late...)
	}
}

// lateTests returns the tests of p that failed by a deadline, and calls wrong for those
// that failed otherwise.
func (p *packageLog) lateTests(wrong func(test, why string)) []failure {
	var late []failure
	for _, t := range p.failed() {
		why, isLate := t.judge(p.hasFailedPart(t))
		if !isLate {
			wrong(t.name, why)
			continue
		}
		name, _, isPart := strings.Cut(t.name, "/")
		i := slices.IndexFunc(late, func(f failure) bool { return f.test == name })
		if i < 0 {
			late = append(late, failure{pkg: p.name, test: name, why: why, seconds: t.seconds})
		} else if isPart && late[i].why == "" {
			late[i].why = why
		}
	}
	return late
}

// judge returns the first message of a test that failed, and whether it failed by a
// deadline. Without a message it did so only if one of its subtests failed.
func (t *testLog) judge(hasFailedPart bool) (why string, isLate bool) {
	if t.result == "" {
		return "it didn't end", false
	}
	if lateUse.MatchString(t.output.String()) {
		return "report of the guard", false
	}
	all := messages(t.output.String())
	if len(all) == 0 {
		return "", hasFailedPart
	}
	for _, m := range all {
		if !ofDeadline(m) {
			return firstLine(m), false
		}
	}
	return firstLine(all[0]), true
}

var messageBegins = regexp.MustCompile(` {4}[\w.-]+\.go:\d+: (.*)$`)

// messages returns what a test said by Error, Fatal, Log and Skip. A program's output may
// stand before a message in its line, between two messages, and between lines of one: a line
// that is indented like the rest of a message belongs to the last one.
func messages(output string) []string {
	var all []string
	for line := range strings.Lines(output) {
		line = strings.TrimSuffix(line, "\n")
		rest, more := strings.CutPrefix(line, "        ")
		m := messageBegins.FindStringSubmatch(line)
		switch {
		case more && len(all) > 0:
			all[len(all)-1] += "\n" + rest
		case m != nil:
			all = append(all, m[1])
		}
	}
	return all
}

var (
	// What tests/harness/await says.
	gaveUp   = regexp.MustCompile(`^gave up after \d[\w.]*: [^\n]*$`)
	deadline = regexp.MustCompile(`i/o timeout|context deadline exceeded`)
	wanted   = regexp.MustCompile(`(?i)\b(want|wanted|expected|instead of)\b`)
	stacks   = regexp.MustCompile(`(?m)^goroutine \d+ `)
	// What is more than a deadline: bytes that came, other than the URL in an error, and
	// words about defects.
	url    = regexp.MustCompile(`\b[A-Z][a-z]+ "https?://[^"]*"`)
	defect = regexp.MustCompile(`(?i)"[^"]+"|` + "`[^`]+`" + `|foreign|\b(alloc\w*|leak\w*|left|has|have|differs?|wrong|lost|twice)\b`)
)

// ofDeadline reports whether a message says only that a deadline passed. Stacks after it
// don't matter. Each line must speak of a deadline, before it says what was wanted: a test
// that wants a timeout and gets none has a wrong answer. A line that also says what came
// instead, or what is left, is about that.
func ofDeadline(message string) bool {
	message = strings.TrimSpace(before(stacks, message))
	if gaveUp.MatchString(message) {
		return !wanted.MatchString(message) && !defect.MatchString(message)
	}
	for line := range strings.Lines(message) {
		said := url.ReplaceAllString(before(wanted, line), "")
		if strings.TrimSpace(line) != "" && (!deadline.MatchString(said) || defect.MatchString(said)) {
			return false
		}
	}
	return message != ""
}

// before returns s up to the first match.
func before(r *regexp.Regexp, s string) string {
	if at := r.FindStringIndex(s); at != nil {
		return s[:at[0]]
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
