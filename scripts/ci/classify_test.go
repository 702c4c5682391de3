//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/galehttp/gale/tests/harness/gate"
)

func TestMain(m *testing.M) {
	if os.Getenv("GALE_CI_MAIN") != "" { // for steps of the tests
		main()
	}
	os.Exit(m.Run())
}

// jsonLog returns the output of go test -json about package p. Each of the lines is an
// action and the name of a test, "p" for the package, or a name, "|", and output.
func jsonLog(lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		e := event{Package: "p"}
		if name, output, ok := strings.Cut(line, "|"); ok {
			e.Action, e.Test, e.Output = "output", name, output+"\n"
		} else {
			e.Action, e.Test, _ = strings.Cut(line, " ")
			e.Elapsed = 2
		}
		if e.Test == "p" {
			e.Test = ""
		}
		text, _ := json.Marshal(e)
		b.Write(append(text, '\n'))
	}
	return b.String()
}

const (
	failure1 = "    a_test.go:7: got 1, want 2"
	// itself is what a package prints that ends by itself.
	itself = "p|FAIL"
	mark   = gate.Mark + "uax1 was seen"
)

func TestClassify(t *testing.T) {
	log := func(lines ...string) string { return jsonLog(append(lines, itself, "p|FAIL\tp\t1.0s", "fail p")...) }
	for _, tt := range []struct {
		name, log string
		passed    bool
		failed    []string
		wrong     []string
		known     []string // of those that may fail
	}{
		{name: "passes", log: jsonLog("run TestA", "pass TestA", "p|PASS", "p|ok  \tp\t0.1s", "pass p"), passed: true},
		{name: "no test files", log: jsonLog("p|?   \tp\t[no test files]", "skip p"), passed: true},
		{name: "nothing", passed: true, wrong: []string{"go test: it ran nothing"}},
		{name: "the go command fails", log: "go: no such tool\nmore\n", wrong: []string{"go test: it failed: go: no such tool"}},
		{
			name: "fails", log: log("run TestA", "TestA|"+failure1, "fail TestA", "run TestB", "pass TestB"),
			failed: []string{"p TestA: got 1, want 2"},
		},
		{name: "no message", log: log("run TestA", "fail TestA"), failed: []string{"p TestA: "}},
		{
			name: "parts", log: log("run TestA", "run TestA/x", "run TestA/y", "TestA/x|"+failure1, "TestA/y|    a_test.go:9: no", "fail TestA/x", "fail TestA/y", "fail TestA"),
			failed: []string{"p TestA: got 1, want 2"},
		},
		{
			name: "parallel tests", log: log("run TestA", "run TestB", "run TestA/x", "run TestB/x", "TestA/x|"+failure1, "TestB/x|    a_test.go:3: EOF", "TestA/x|"+failure1, "fail TestB/x", "fail TestB", "fail TestA/x", "fail TestA"),
			failed: []string{"p TestA: got 1, want 2", "p TestB: EOF"},
		},
		{
			name: "output before a message", log: log("run TestA", "TestA|2026/01/02 log: a line", "TestA|no newline"+failure1, "fail TestA"),
			failed: []string{"p TestA: got 1, want 2"},
		},
		{
			name: "words that prove nothing", log: log("run TestA", "TestA|panic: boom", "TestA|fatal error: no", "TestA|xWARNING: DATA RACE", "TestA|    a_test.go:1: WARNING: DATA RACE", "TestA|exit status 66", "pass TestA", "run TestB", "TestB|"+failure1, "fail TestB"),
			failed: []string{"p TestB: got 1, want 2"},
		},
		{name: "fuzz seed", log: log("run FuzzA", "FuzzA|"+failure1, "fail FuzzA"), failed: []string{"p FuzzA: got 1, want 2"}},
		{
			name: "race", log: log("run TestA", "TestA|==================", "TestA|WARNING: DATA RACE", "TestA|    testing.go:1712: race detected during execution of test", "fail TestA"),
			wrong: []string{"p: data race"},
		},
		{
			name: "race of a test that passes", log: log("run TestA", "TestA|WARNING: DATA RACE", "pass TestA", "run TestB", "TestB|"+failure1, "fail TestB"),
			wrong: []string{"p: data race"},
		},
		{
			name: "race whose report is cut", log: log("run TestA", "TestA|    testing.go:1712: race detected during execution of test", "fail TestA"),
			wrong: []string{"p: data race"},
		},
		{
			name: "race and out of time", log: jsonLog("run TestA", "TestA|WARNING: DATA RACE", "TestA|panic: test timed out after 5m0s", "p|FAIL\tp\t300s", "fail p"),
			wrong: []string{"p: data race"},
		},
		{
			name: "not forgiven", log: log("run TestA", "TestA|    a_test.go:1: "+mark, "fail TestA", "run TestB", "TestB|"+failure1, "fail TestB"),
			wrong: []string{"p: " + mark},
		},
		{
			name: "not forgiven after all tests", log: log("run TestA", "pass TestA", "p|"+mark),
			wrong: []string{"p: " + mark},
		},
		{
			name: "panic", log: jsonLog("run TestA", "TestA|"+failure1, "fail TestA", "run TestB", "TestB|panic: boom", "TestB|", "TestB|goroutine 1 [running]:", "p|FAIL\tp\t1s", "fail p"),
			wrong: []string{"p: it ended before its tests (TestB): panic: boom"},
		},
		{
			name: "fatal error", log: jsonLog("run TestA", "TestA|fatal error: all goroutines are asleep - deadlock!", "p|FAIL\tp\t1s", "fail p"),
			wrong: []string{"p: it ended before its tests (TestA): fatal error: all goroutines are asleep - deadlock!"},
		},
		{
			name: "out of time", log: jsonLog("run TestA", "TestA|"+failure1, "fail TestA", "run TestB", "TestB|panic: test timed out after 5m0s", "p|FAIL\tp\t300s", "fail p"),
			failed: []string{"p: panic: test timed out after 5m0s (TestB)"},
		},
		{
			name: "exit", log: jsonLog("run TestA", "TestA|"+failure1, "fail TestA", "run TestB", "p|FAIL\tp\t1s", "fail p"),
			wrong: []string{"p: it ended before its tests (TestB): FAIL\tp\t1s"},
		},
		{
			name: "killed after the tests have failed", log: jsonLog("run TestA", "TestA|"+failure1, "fail TestA", "p|FAIL", "p|signal: segmentation fault", "p|FAIL\tp\t1s", "fail p"),
			wrong: []string{"p: it ended before its tests: FAIL"},
		},
		{
			name: "race detector's exit status", log: jsonLog("run TestA", "TestA|"+failure1, "fail TestA", "p|FAIL", "p|exit status 66", "p|FAIL\tp\t1s", "fail p"),
			wrong: []string{"p: it ended before its tests: FAIL"},
		},
		{
			name: "cut off", log: jsonLog("run TestA", "TestA|"+failure1, "fail TestA") + `{"Action":"out`,
			wrong: []string{"p: it ended before its tests: "},
		},
		{name: "the package alone", log: log("run TestA", "pass TestA"), wrong: []string{"p: it failed, and none of its tests"}},
		{name: "known", log: log("run TestKnown", "TestKnown|"+failure1, "fail TestKnown"), known: []string{"TestKnown"}},
		{
			name: "known, with parts", log: log("run TestKnown", "run TestKnown/x", "TestKnown/x|"+failure1, "fail TestKnown/x", "fail TestKnown"),
			known: []string{"TestKnown"},
		},
		{
			name: "known, and another", log: log("run TestKnown", "TestKnown|"+failure1, "fail TestKnown", "run TestKnownToo", "TestKnownToo|"+failure1, "fail TestKnownToo"),
			failed: []string{"p TestKnownToo: got 1, want 2"}, known: []string{"TestKnown"},
		},
		{
			name: "known part", log: log("run TestPart", "run TestPart/x", "TestPart/x|"+failure1, "fail TestPart/x", "run TestPart/y", "pass TestPart/y", "fail TestPart"),
			known: []string{"TestPart/x"},
		},
		{
			name: "known part of a part", log: log("run TestDeep", "run TestDeep/x", "run TestDeep/x/y", "fail TestDeep/x/y", "fail TestDeep/x", "fail TestDeep"),
			known: []string{"TestDeep/x/y"},
		},
		{
			name: "known part, and another", log: log("run TestPart", "run TestPart/x", "fail TestPart/x", "run TestPart/x2", "TestPart/x2|"+failure1, "fail TestPart/x2", "fail TestPart"),
			failed: []string{"p TestPart: got 1, want 2"}, known: []string{"TestPart/x"},
		},
		{
			name: "known part, and its test", log: log("run TestPart", "run TestPart/x", "fail TestPart/x", "TestPart|"+failure1, "fail TestPart"),
			failed: []string{"p TestPart: got 1, want 2"}, known: []string{"TestPart/x"},
		},
		{
			name: "known, and a race", log: log("run TestKnown", "TestKnown|WARNING: DATA RACE", "fail TestKnown"),
			wrong: []string{"p: data race"},
		},
		{
			name: "known, and a panic", log: jsonLog("run TestKnown", "TestKnown|panic: boom", "p|FAIL\tp\t1s", "fail p"),
			wrong: []string{"p: it ended before its tests (TestKnown): panic: boom"},
		},
		{
			name: "build", log: `{"ImportPath":"p","Action":"build-output","Output":"a.go:1: no\n"}` + "\n" + jsonLog("start p", "p|FAIL\tp [build failed]", "fail p"),
			wrong: []string{"p: it ended before its tests: FAIL\tp [build failed]"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := classify(tt.log, tt.passed, []string{"TestKnown", "TestPart/x", "TestDeep/x/y"})
			if got := texts(j.failed); !slices.Equal(got, tt.failed) {
				t.Errorf("failed: %q, want %q", got, tt.failed)
			}
			if got := texts(j.wrong); !slices.Equal(got, tt.wrong) {
				t.Errorf("wrong: %q, want %q", got, tt.wrong)
			}
			if !slices.Equal(j.known, tt.known) {
				t.Errorf("known: %q, want %q", j.known, tt.known)
			}
		})
	}
}

func texts(all []failure) []string {
	var s []string
	for _, f := range all {
		s = append(s, f.String())
	}
	return s
}

func TestAround(t *testing.T) {
	lines := strings.Repeat("line\n", 50)
	for _, tt := range []struct {
		name, s, at string
		want        int
	}{
		{"begin", "here\n" + lines, "here", 25},
		{"middle", lines + "here\n" + lines, "here", 40},
		{"end", lines + "here", "here", 16},
		{"all", "here", "here", 1},
	} {
		if got := around(tt.s, strings.Index(tt.s, tt.at)); strings.Count(got, "\n") != tt.want || !strings.Contains(got, tt.at+"\n") {
			t.Errorf("%s: %d lines, want %d: %q", tt.name, strings.Count(got, "\n"), tt.want, got)
		}
	}
}

// What go test writes is read right, not only what the table has.
func TestClassifyReal(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "go.mod", "module p\n\ngo 1.26\n")
	write(t, dir, "p_test.go", fmt.Sprintf(`package p

import (
	"fmt"
	"os"
	"testing"
	"time"
)

func TestA(t *testing.T) {
	for _, name := range []string{"x", "y"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fmt.Print("no newline")
			t.Error("read: i/o timeout")
		})
	}
}

func TestB(t *testing.T) {
	switch os.Getenv("CASE") {
	case "exit":
		os.Exit(1)
	case "panic":
		panic("boom")
	case "goroutine":
		go panic("boom")
		select {}
	case "hang":
		time.Sleep(time.Hour)
	case "error":
		t.Error("a line\nand another")
	case "race":
		n := 0
		go func() { n++ }()
		for range 100 {
			n++
			time.Sleep(time.Millisecond)
		}
	case "mark":
		t.Error(%q)
	}
}
`, mark))
	const a = "p TestA: read: i/o timeout"
	for _, tt := range []struct {
		name          string
		flag          string
		failed, wrong []string // the beginnings
	}{
		{name: "one", failed: []string{a}},
		{name: "error", failed: []string{a, "p TestB: a line"}},
		{name: "hang", flag: "-timeout=1s", failed: []string{"p: panic: test timed out after 1s (TestB)"}},
		{name: "exit", wrong: []string{"p: it ended before its tests (TestB): "}},
		{name: "panic", wrong: []string{"p: it ended before its tests: panic: boom"}},
		{name: "goroutine", wrong: []string{"p: it ended before its tests (TestB): panic: boom"}},
		{name: "race", flag: "-race", wrong: []string{"p: data race"}},
		{name: "mark", wrong: []string{"p: " + mark}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.flag == "" {
				tt.flag = "-timeout=10m"
			}
			cmd := exec.Command("go", "test", "-json", "-vet=off", tt.flag, ".")
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "CASE="+tt.name, "GOFLAGS=", "GOWORK=off")
			out, err := cmd.CombinedOutput()
			j := classify(string(out), err == nil, nil)
			begin := func(s, prefix string) bool { return strings.HasPrefix(s, prefix) }
			failed, wrong := texts(j.failed), texts(j.wrong)
			if !slices.EqualFunc(failed, tt.failed, begin) || !slices.EqualFunc(wrong, tt.wrong, begin) {
				t.Errorf("failed %q, wrong %q, want %q, %q; go test wrote\n%s", failed, wrong, tt.failed, tt.wrong, plain(string(out)))
			}
		})
	}
}

// write writes a file below dir.
func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}
