//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/galehttp/gale/tests/harness/gate"
)

// job makes a runner of steps, which are scripts. They find the functions of .ci/lib.sh and
// a module in the folder module.
func job(t *testing.T, scripts ...string) (*runner, *bytes.Buffer) {
	t.Helper()
	dir, work, out := t.TempDir(), t.TempDir(), new(bytes.Buffer)
	t.Setenv("TMPDIR", t.TempDir()) // for what is kept
	t.Setenv("GALE_CI_MAIN", "1")
	t.Setenv("GOFLAGS", "-vet=off -trimpath -ldflags=-w") // programs are compiled once, and linked fast
	t.Setenv("GOWORK", "off")
	lib, err := os.ReadFile("../../.ci/lib.sh")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, ".ci/lib.sh", string(lib))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(work, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(work, "bin/ci")); err != nil {
		t.Fatal(err)
	}
	r := &runner{dir: dir, work: work, jobs: 2, out: out, begin: time.Hour, again: time.Hour, end: time.Hour}
	for i, script := range scripts {
		s := &step{name: string(rune('a' + i)), usual: time.Minute}
		r.steps = append(r.steps, s)
		write(t, dir, ".ci/steps/"+s.name+".sh", ". .ci/lib.sh\n"+script)
	}
	return r, out
}

// runJob runs all steps, and returns whether the page says that they passed.
func runJob(t *testing.T, r *runner) bool {
	t.Helper()
	if err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r.page()
}

// wantLines checks that each of the lines begins a line of out.
func wantLines(t *testing.T, out string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains("\n"+out, "\n"+line) {
			t.Errorf("no line begins with %q:\n%s", line, out)
		}
	}
}

func TestRunner(t *testing.T) {
	r, out := job(t, "echo some; echo last", `left_out "the whole step: no program"; exit 77`, "echo no; exit 3", "kill -9 $$", "left_out half; left_out half", "exit 77")
	if runJob(t, r) {
		t.Error("it passed")
	}
	s := out.String()
	wantLines(t, s, "a            ok, ", "b            LEFT OUT\n", "c            FAILED, ", "d            FAILED, ", "e            ok, ",
		"--- a\nlast\n", "=== left out\nb: the whole step: no program\ne: half\n", "=== c failed; the last lines of its output:\nno\n", "failed: c d f\nFAIL\n", "FAIL c\n")
	if n := strings.Count("\n"+s, "\nFAIL"); n != 4 {
		t.Errorf("%d lines begin with FAIL, want those of c, d, f and the end:\n%s", n, s)
	}
}

// againModule is a module with tests that fail until they have run as often as TRIES says.
const againModule = `package p

import (
	"os"
	"testing"
	"time"
)

// fails reports whether this run of the test still fails.
func fails(t *testing.T) bool {
	name := os.Getenv("CI_WORK") + "/" + t.Name()
	tries, _ := os.ReadFile(name)
	os.WriteFile(name, append(tries, '.'), 0o644)
	return len(tries) < len(os.Getenv("TRIES"))
}

func test(t *testing.T) {
	if os.Getenv("GALE_SAME") != "yes" {
		t.Fatal("another environment")
	}
	if fails(t) {
		t.Fatal("got 1, want 2")
	}
}

func TestOne(t *testing.T)  { test(t) }
func TestTwo(t *testing.T) { test(t) }
func TestLogs(t *testing.T) {
	t.Log("panic: boom")
	os.Stdout.WriteString("panic: boom\n")
}
func TestPanic(t *testing.T) {
	if fails(t) {
		go panic("boom")
		select {}
	}
}
func TestHang(t *testing.T) {
	if fails(t) {
		time.Sleep(time.Hour)
	}
}
func TestMark(t *testing.T) {
	if fails(t) {
		t.Fatal("` + gate.Mark + `a byte of another")
	}
}
`

func TestRunAgain(t *testing.T) {
	const run = `cd module && TRIES=%s GALE_SAME=yes go_test run %s -run='%s' . || exit 1; %s`
	for _, tt := range []struct {
		name, tests, tries, after, flag string
		again                           time.Duration
		passes                          bool
		want                            []string
		runs                            string // of the first test
	}{
		{
			name: "flaky", tests: "TestOne", passes: true, runs: "..",
			want: []string{
				"=== a: has tests that run again, ", "=== a: again, alone: p TestOne\n", "a            passed, flaky, ",
				"=== flaky: ", "a p TestOne: got 1, want 2\n", "passed, flaky: 1\nPASS\n",
			},
		},
		{name: "two", tests: "TestOne|TestTwo", passes: true, runs: "..", want: []string{"passed, flaky: 2\nPASS\n"}},
		{name: "a test that logs a panic beside it", tests: "TestOne|TestLogs", passes: true, runs: "..", want: []string{"passed, flaky: 1\nPASS\n"}},
		{name: "twice", tests: "TestOne", tries: "22", passes: true, runs: "...", want: []string{"passed, flaky: 1\nPASS\n"}},
		{
			name: "three times", tests: "TestOne", tries: "333", runs: "...",
			want: []string{"a            FAILED", "=== a failed: p TestOne: got 1, want 2; again: got 1, want 2; it failed each time\n", "failed: a\nFAIL\n"},
		},
		{name: "out of time", tests: "TestHang", flag: "-timeout=1s", passes: true, runs: "..", want: []string{"=== a: again, alone: p \n", "passed, flaky: 1\nPASS\n"}},
		{name: "panic", tests: "TestPanic", runs: ".", want: []string{"=== a: FAILED", "wrong: p: it ended before its tests", "failed: a\n"}},
		{name: "panic and another", tests: "TestOne|TestPanic", runs: ".", want: []string{"=== a: FAILED", "failed: a\n"}},
		{name: "not forgiven", tests: "TestMark", runs: ".", want: []string{"=== a: FAILED", "=== a failed: p: NOT FORGIVEN: a byte of another", "failed: a\n"}},
		{name: "the script fails too", tests: "TestOne", after: "exit 1", runs: ".", want: []string{"=== a: FAILED", "failed: a\n"}},
		{name: "no time", tests: "TestOne", again: time.Nanosecond, runs: ".", want: []string{"a            FAILED", "failed: a\nFAIL\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.tries == "" {
				tt.tries = "1"
			}
			r, out := job(t, fmt.Sprintf(run, tt.tries, tt.flag, tt.tests, tt.after))
			write(t, r.dir, "module/go.mod", "module p\n\ngo 1.26\n")
			write(t, r.dir, "module/p_test.go", againModule)
			if tt.again != 0 {
				r.again = tt.again
			}
			if passed := runJob(t, r); passed != tt.passes {
				t.Errorf("passed: %v", passed)
			}
			wantLines(t, out.String(), tt.want...)
			of, _, _ := strings.Cut(tt.tests, "|")
			if runs, _ := os.ReadFile(filepath.Join(r.work, of)); string(runs) != tt.runs {
				t.Errorf("%s ran %q, want %q:\n%s", of, runs, tt.runs, out)
			}
			if tt.passes && strings.Contains("\n"+out.String(), "\nFAIL") {
				t.Errorf("a line begins with FAIL, and all passed:\n%s", out)
			}
		})
	}
}

// Steps that have not begun in time are left out, except those that are always there; what
// still runs at the end is ended. The page comes all the same.
func TestLimits(t *testing.T) {
	r, out := job(t, "echo ran", "echo ran")
	r.begin, r.steps[1].always = -1, true
	if !runJob(t, r) {
		t.Error("it failed")
	}
	wantLines(t, out.String(), "a            LEFT OUT, there was no time\n", "b            ok, ", "a: there was no time\n", "PASS\n")

	r, out = job(t, "sleep 600", "echo ran", "echo ran")
	r.jobs, r.end, r.steps[1].always = 1, 100*time.Millisecond, true
	if runJob(t, r) {
		t.Error("it passed")
	}
	wantLines(t, out.String(), "a            FAILED", "b            FAILED", "c            LEFT OUT", "failed: a b\nFAIL\n")
}

// After an interrupt no process of a step is left, not even one that ignores signals, or has
// left the process group.
func TestInterrupt(t *testing.T) {
	defer func(d time.Duration) { grace = d }(grace)
	grace = 100 * time.Millisecond
	r, out := job(t, `trap '' TERM; exec 9>"$work/alive"; (while :; do sleep 60; done) & setsid sleep 60 & echo ready >&9; wait`, "timeout 70 sleep 60; echo no")
	alive := filepath.Join(r.work, "alive")
	if err := syscall.Mkfifo(alive, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.run(ctx) }()
	f, err := os.Open(alive) // returns when the step has opened it
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.ReadFull(f, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	interrupt()
	if err := <-ended; err == nil {
		t.Errorf("no error:\n%s", out)
	}
	// All have closed their ends.
	if rest, err := io.ReadAll(f); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
}

func TestReadSteps(t *testing.T) {
	steps, err := readSteps("../../.ci/steps.txt", "../../.ci/steps")
	if err != nil {
		t.Fatal(err)
	}
	if len(steps) < 20 || steps[0].name != "format" || steps[0].programs || steps[0].full || !steps[len(steps)-1].full {
		t.Errorf("%d steps, first %+v, last %+v", len(steps), steps[0], steps[len(steps)-1])
	}
	if chosen, err := choose(steps, []string{"vet", "race"}, false); err != nil || len(chosen) != 2 || chosen[0].name != "vet" {
		t.Errorf("%v, %v", chosen, err)
	}
	if _, err := choose(steps, []string{"vet", "no"}, false); err == nil || !strings.Contains(err.Error(), "no step no; there are: format vet") {
		t.Error(err)
	}
	dir := t.TempDir()
	write(t, dir, "steps/a.sh", "")
	write(t, dir, "steps/b.sh", "")
	for name, list := range map[string]string{
		"a step is missing": "a gate 1\n", "a script is missing": "a gate 1\nb gate 1\nc full 1\n",
		"an unknown word": "a gate 1\nb gate 1 tools\n", "an unknown tier": "a gate 1\nb some 1\n", "no seconds": "a gate 1\nb gate\n",
	} {
		write(t, dir, "list", list)
		if steps, err := readSteps(filepath.Join(dir, "list"), filepath.Join(dir, "steps")); err == nil {
			t.Errorf("%s: %d steps", name, len(steps))
		}
	}
}
