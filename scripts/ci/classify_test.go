//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
	timeout = "    a_test.go:7: read tcp 127.0.0.1:1->127.0.0.1:2: i/o timeout"
	// ended is what a package prints that ends by itself.
	ended = "p|FAIL"
)

func TestClassify(t *testing.T) {
	log := func(lines ...string) string { return jsonLog(append(lines, ended, "p|FAIL\tp\t1.0s", "fail p")...) }
	for _, tt := range []struct {
		name, log string
		passed    bool
		late      []string
		wrong     []string
	}{
		{name: "passes", log: jsonLog("run TestA", "pass TestA", "p|PASS", "p|ok  \tp\t0.1s", "pass p"), passed: true},
		{name: "no test files", log: jsonLog("p|?   \tp\t[no test files]", "skip p"), passed: true},
		{name: "nothing", passed: true, wrong: []string{"go test: it ran nothing"}},
		{name: "the go command fails", log: "go: no such tool\nmore\n", wrong: []string{"go test: it failed: go: no such tool"}},
		{
			name: "deadline", log: log("run TestA", "TestA|"+timeout, "fail TestA", "run TestB", "pass TestB"),
			late: []string{"p TestA: read tcp 127.0.0.1:1->127.0.0.1:2: i/o timeout"},
		},
		{
			name: "wrong", log: log("run TestA", "TestA|    a_test.go:7: got 1, want 2", "fail TestA"),
			wrong: []string{"p TestA: got 1, want 2"},
		},
		{
			name: "a deadline and a wrong answer", log: log("run TestA", "TestA|"+timeout, "TestA|    a_test.go:8: got 1", "fail TestA"),
			wrong: []string{"p TestA: got 1"},
		},
		{
			name: "a test by a deadline, another wrong", log: log("run TestA", "TestA|"+timeout, "fail TestA", "run TestB", "TestB|    a_test.go:8: no", "fail TestB"),
			wrong: []string{"p TestB: no"},
		},
		{name: "no message", log: log("run TestA", "fail TestA"), wrong: []string{"p TestA: "}},
		{
			name: "subtests", log: log("run TestA", "run TestA/x", "TestA/x|"+timeout, "run TestA/y", "TestA/y|    a_test.go:9: gave up after 1m0s: the end", "fail TestA/x", "fail TestA/y", "fail TestA"),
			late: []string{"p TestA: read tcp 127.0.0.1:1->127.0.0.1:2: i/o timeout"},
		},
		{
			name: "a subtest without a message", log: log("run TestA", "run TestA/x", "TestA/x|"+timeout, "run TestA/y", "fail TestA/x", "fail TestA/y", "fail TestA"),
			wrong: []string{"p TestA/y: "},
		},
		{
			name: "a subtest by a deadline, its test wrong", log: log("run TestA", "run TestA/x", "TestA/x|"+timeout, "fail TestA/x", "TestA|    a_test.go:9: 3 are left", "fail TestA"),
			wrong: []string{"p TestA: 3 are left"},
		},
		{
			name: "parallel tests", log: log("run TestA", "run TestB", "run TestA/x", "run TestB/x", "TestA/x|"+timeout, "TestB/x|    a_test.go:3: context deadline exceeded", "TestA/x|"+timeout, "fail TestB/x", "fail TestB", "fail TestA/x", "fail TestA"),
			late: []string{"p TestA: read tcp 127.0.0.1:1->127.0.0.1:2: i/o timeout", "p TestB: context deadline exceeded"},
		},
		{
			name: "output before a message", log: log("run TestA", "TestA|2026/01/02 log: a line", "TestA|no newline"+timeout, "TestA|2026/01/02 log: another", "fail TestA"),
			late: []string{"p TestA: read tcp 127.0.0.1:1->127.0.0.1:2: i/o timeout"},
		},
		{
			name: "race", log: log("run TestA", "TestA|WARNING: DATA RACE", "TestA|"+timeout, "TestA|    testing.go:1712: race detected during execution of test", "fail TestA"),
			wrong: []string{"p: data race", "p TestA: race detected during execution of test"},
		},
		{
			name: "race of a test that passes", log: log("run TestA", "TestA|xWARNING: DATA RACE", "pass TestA", "run TestB", "TestB|"+timeout, "fail TestB"),
			wrong: []string{"p: data race"},
		},
		{
			name: "panic", log: jsonLog("run TestA", "TestA|"+timeout, "fail TestA", "run TestB", "TestB|panic: boom", "TestB|", "TestB|goroutine 1 [running]:", "p|FAIL\tp\t1s", "fail p"),
			wrong: []string{"p: panic", "p TestB: it didn't end"},
		},
		{
			name: "fatal error", log: jsonLog("run TestA", "TestA|fatal error: all goroutines are asleep - deadlock!", "p|FAIL\tp\t1s", "fail p"),
			wrong: []string{"p: fatal error", "p TestA: it didn't end"},
		},
		{
			name: "the test's limit", log: jsonLog("run TestA", "TestA|panic: test timed out after 30m0s", "p|FAIL\tp\t1800s", "fail p"),
			wrong: []string{"p: timed out", "p: panic", "p TestA: it didn't end"},
		},
		{
			name: "os.Exit", log: jsonLog("run TestA", "TestA|"+timeout, "fail TestA", "run TestB", "p|FAIL\tp\t1s", "fail p"),
			wrong: []string{"p TestB: it didn't end"},
		},
		{
			name: "killed after the tests have failed", log: jsonLog("run TestA", "TestA|"+timeout, "fail TestA", "p|FAIL", "p|signal: segmentation fault", "p|FAIL\tp\t1s", "fail p"),
			wrong: []string{"p: crash"},
		},
		{
			name: "race detector's exit status", log: jsonLog("run TestA", "TestA|"+timeout, "fail TestA", "p|FAIL", "p|exit status 66", "p|FAIL\tp\t1s", "fail p"),
			wrong: []string{"p: crash"},
		},
		{
			name: "late use in a test that passes", log: log("run TestA", "TestA|"+timeout, "fail TestA", "run TestB", "TestB|--- late use", "pass TestB"),
			wrong: []string{"p: report of the guard"},
		},
		{
			name: "late use after all tests", log: log("run TestA", "TestA|"+timeout, "fail TestA", "p|FAIL: there were late uses, see above"),
			wrong: []string{"p: report of the guard"},
		},
		{
			name: "a message that is cut in two", log: log("run TestA", "TestA|"+timeout, "TestA|2026/01/02 log: a line", "TestA|        the body differs", "fail TestA"),
			wrong: []string{"p TestA: read tcp 127.0.0.1:1->127.0.0.1:2: i/o timeout"},
		},
		{
			name: "killed after the tests", log: jsonLog("run TestA", "TestA|"+timeout, "fail TestA", "p|signal: killed", "p|FAIL\tp\t1s", "fail p"),
			wrong: []string{"p: crash"},
		},
		{
			name: "cut off", log: jsonLog("run TestA", "TestA|"+timeout, "fail TestA") + `{"Action":"out`,
			wrong: []string{"p: it didn't end by itself: "},
		},
		{name: "the package alone", log: log("run TestA", "pass TestA"), wrong: []string{"p: it failed, and none of its tests"}},
		{
			name: "build", log: `{"ImportPath":"p","Action":"build-output","Output":"a.go:1: no\n"}` + "\n" + jsonLog("start p", "p|FAIL\tp [build failed]", "fail p"),
			wrong: []string{"p: it didn't end by itself: FAIL\tp [build failed]"},
		},
		{
			name: "guard", log: log("run TestA", "TestA|gale: Request.Body used after ReleaseRequest, by main.go:3", "TestA|"+timeout, "fail TestA"),
			wrong: []string{"p TestA: report of the guard"},
		},
		{
			name: "fuzz", log: log("run FuzzA", "FuzzA|--- FAIL: FuzzA (0.1s)", "FuzzA|"+timeout, "fail FuzzA"),
			wrong: []string{"p: fuzz crasher"},
		},
		{
			name: "allocation", log: log("run TestA", "TestA|    a_test.go:1: 1 allocation", "fail TestA"),
			wrong: []string{"p TestA: 1 allocation"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := classify(tt.log, tt.passed)
			if got := texts(j.late); !slices.Equal(got, tt.late) {
				t.Errorf("by a deadline: %q, want %q", got, tt.late)
			}
			if got := texts(j.wrong); !slices.Equal(got, tt.wrong) {
				t.Errorf("wrong: %q, want %q", got, tt.wrong)
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

func TestOfDeadline(t *testing.T) {
	for _, tt := range []struct {
		message string
		want    bool
	}{
		{"i/o timeout", true},
		{"response: read: i/o timeout", true},
		{"dial: context deadline exceeded (Client.Timeout exceeded)", true},
		{"got i/o timeout, want EOF", true},
		{"read: i/o timeout\nwrite: i/o timeout\n", true},
		{"read: i/o timeout\nthe body differs", false},
		{"i/o timeout\n\ngoroutine 7 [running]:\nmain.f()", true},
		{"gave up after 1m0s: the server to end\n\ngoroutine 7 [running]:", true},
		{"gave up after two requests", false},
		{"gave up after 1m0s: the child\n panic: boom\nthe body differs", false},
		{"gave up after 1m0s: got 1, want 2", false},
		{"gave up after 1m0s: 3 goroutines are left", false},
		{"waiting for the reply: EOF", false},
		{`read "HTTP/1.1 200 OK", i/o timeout; want the end of the connection`, false},
		{`read "", i/o timeout; want the end of the connection`, true},
		{`Get "http://127.0.0.1:1/": context deadline exceeded`, true},
		{"5 allocations, context deadline exceeded", false},
		{"user 3 has token-of-7 in it, i/o timeout", false},
		{"error <nil>, want i/o timeout", false},
		{"expected context deadline exceeded: EOF", false},
		{"foreign bytes in the body: i/o timeout", false},
		{"EOF", false},
		{"", false},
	} {
		if got := ofDeadline(tt.message); got != tt.want {
			t.Errorf("%q: %v", tt.message, got)
		}
	}
}

// What go test writes is read right, not only what the table has.
func TestClassifyReal(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "go.mod", "module p\n\ngo 1.26\n")
	write(t, dir, "p_test.go", `package p

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
	}
}
`)
	for name, want := range map[string]struct{ late, wrong []string }{
		"late":      {late: []string{"p TestA: read: i/o timeout"}},
		"error":     {wrong: []string{"p TestB: a line"}},
		"exit":      {wrong: []string{"p TestB: it didn't end"}},
		"panic":     {wrong: []string{"p: panic"}},
		"goroutine": {wrong: []string{"p: panic"}},
		"hang":      {wrong: []string{"p: timed out", "p: panic"}},
	} {
		limit := "10m"
		if name == "hang" {
			limit = "1s"
		}
		cmd := exec.Command("go", "test", "-json", "-vet=off", "-timeout="+limit, ".")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "CASE="+name, "GOFLAGS=", "GOWORK=off")
		out, err := cmd.CombinedOutput()
		j := classify(string(out), err == nil)
		late, wrong := texts(j.late), texts(j.wrong)
		if !slices.Equal(late, want.late) || len(wrong) < len(want.wrong) || !slices.Equal(wrong[:len(want.wrong)], want.wrong) {
			t.Errorf("%s: by a deadline %q, wrong %q, want %q; go test wrote\n%s", name, late, wrong, want, plain(string(out)))
		}
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
