package main

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale/scripts/schedfuzz/delay"
)

// toySession returns a session for package toy, built.
func toySession(t *testing.T, out *strings.Builder) *session {
	t.Helper()
	o, err := parse([]string{"-packages", "scripts/schedfuzz/testdata/toy"})
	if err != nil {
		t.Fatal("parsing flags:", err)
	}
	s := &session{options: o, work: t.TempDir(), out: out}
	if err := s.instrument(); err != nil {
		t.Fatal("writing the overlay:", err)
	}
	if err := s.build(context.Background()); err != nil {
		t.Fatal("building:", err)
	}
	return s
}

// TestToy: a lost wake-up is found by a seed, and surely by a delay of its own; the right order
// passes; operations have the names that the documentation gives them.
func TestToy(t *testing.T) {
	var out strings.Builder
	s := toySession(t, &out)
	t.Run("tests", func(t *testing.T) {
		if want := []string{"TestRight", "TestWrong", "TestBubble", "TestForms"}; !slices.Equal(s.targets[0].tests, want) {
			t.Errorf("tests %q, want %q", s.targets[0].tests, want)
		}
	})
	t.Run("names", func(t *testing.T) { checkNames(t, s.names) })

	for _, r := range []struct {
		name, run, at string
		seeds         []uint64
		timeout       time.Duration
		failed        int
		said          string
	}{
		{"without delays", "Right|Bubble|Forms", "", []uint64{0}, time.Minute, 0, ""},
		{"the right order", "Right|Bubble|Forms", "", []uint64{2, 9}, time.Minute, 0, ""},
		{"a seed finds the wrong order", "Wrong", "", []uint64{2}, time.Second, 1, "HANG scripts/schedfuzz/testdata/toy TestWrong seed=2"},
		{"so does a delay of its own", "Wrong", "toy.go#WaitLate#Store=20000", []uint64{0}, time.Second, 1, "GALE_DELAY_AT='toy.go#WaitLate#Store=20000' go run "},
		{"that doesn't break the right order", "Right", "toy/toy.go#Bell.Wait#Load=50", []uint64{0}, time.Minute, 0, ""},
		{"a test that doesn't reach it", "Right", "toy.go#WaitLate=50", []uint64{0}, time.Minute, 1, "NOT REACHED toy.go#WaitLate:"},
		{"in a bubble", "Bubble", "toy.go#WaitLate=50", []uint64{0}, time.Minute, 1, "NOT REACHED toy.go#WaitLate:"},
	} {
		t.Run(r.name, func(t *testing.T) {
			out.Reset()
			t.Setenv(delay.AtVar, r.at)
			s.seeds, s.timeout, s.options.run = r.seeds, r.timeout, regexp.MustCompile(r.run)
			failed, err := s.run(context.Background())
			if err != nil {
				t.Fatal("running tests:", err)
			}
			if failed != r.failed || !strings.Contains(out.String(), r.said) {
				t.Errorf("%d failures, want %d and %q:\n%s", failed, r.failed, r.said, out.String())
			}
		})
	}
	t.Run("no such operation", func(t *testing.T) {
		t.Setenv(delay.AtVar, "toy.go#WaitLate#Lock=50")
		if _, err := s.run(context.Background()); err == nil || !strings.Contains(err.Error(), "toy.go#WaitLate#Lock") {
			t.Errorf("error %v", err)
		}
	})
}

// checkNames: each form of the syntax is found, once.
func checkNames(t *testing.T, names []string) {
	const dir = "scripts/schedfuzz/testdata/toy/"
	var want []string
	for _, file := range []string{
		"forms.go#counter.note Lock Unlock Store",
		"forms.go#Forms cancel go begin close range send send#2 close#2 receive go#2 begin#2 select" +
			" TryLock CompareAndSwapInt64 cancel#2 Unlock Go begin#3 AddInt64 Wait AfterFunc begin#4 send#3 Load Stop receive#2",
		"toy.go#Bell.Ring Store Load send",
		"toy.go#Bell.Wait Store Load receive",
		"toy.go#Bell.WaitLate Load Store receive",
	} {
		words := strings.Fields(file)
		for _, op := range words[1:] {
			want = append(want, dir+words[0]+"#"+op)
		}
	}
	if !slices.Equal(names, want) {
		t.Errorf("the names are\n%s\nwant\n%s", strings.Join(names, "\n"), strings.Join(want, "\n"))
	}
}

func TestJudge(t *testing.T) {
	failed := errors.New("exit status 1")
	for _, r := range []struct {
		name, log     string
		err           error
		verdict, line string
	}{
		{"pass", "=== RUN   TestA\n--- PASS: TestA (0.01s)\nPASS\n", nil, "", ""},
		{"skip", "--- SKIP: TestA (0.01s)\nPASS\n", nil, "", ""},
		{"another test", "--- PASS: TestAll (0.01s)\nPASS\n", nil, "FAIL", "the test did not run"},
		{"none", "testing: warning: no tests to run\nPASS\n", nil, "FAIL", "the test did not run"},
		{"fail", "=== RUN   TestA\n    a_test.go:7: bad\n--- FAIL: TestA (0.01s)\n", failed, "FAIL", "a_test.go:7: bad"},
		{"hang", "=== RUN   TestA\npanic: test timed out after 1m0s\n", failed, "HANG", "panic: test timed out after 1m0s"},
		{"race", "WARNING: DATA RACE\n--- FAIL: TestA (0.01s)\n", failed, "RACE", "WARNING: DATA RACE"},
		{"panic", "panic: nil\n", failed, "FAIL", "panic: nil"},
		{"killed", "", errors.New("signal: killed"), "FAIL", "signal: killed"},
		{"after the test", "--- PASS: TestA (0.01s)\nPASS\nNOT FORGIVEN: late uses, see above\n", failed, "FAIL", "NOT FORGIVEN: late uses, see above"},
	} {
		if verdict, line := judge("TestA", r.log, r.err); verdict != r.verdict || line != r.line {
			t.Errorf("%s: %q %q, want %q %q", r.name, verdict, line, r.verdict, r.line)
		}
	}
}

func TestFlags(t *testing.T) {
	for _, args := range []string{"-seeds x", "-seeds=", "-packages=", "-engines=", "-j 0", "-count 0", "-timeout 0s", "-run (", "ws"} {
		if _, err := parse(strings.Fields(args)); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
}

func TestLibrary(t *testing.T) {
	const module = "github.com/galehttp/gale"
	for path, want := range map[string]bool{
		module: true, module + "/ws": true, module + "/internal/engine": true, module + "/galetest": true,
		module + "/internal/engine/enginetest": false, module + "/tests/harness": false, module + "/scripts/schedfuzz/delay": false,
		"sync": false, module + "2/ws": false,
	} {
		if isLibrary(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
}
