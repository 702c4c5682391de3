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
)

// job makes a runner of steps, which are scripts. They find the functions of .ci/lib.sh and
// a module in the folder module.
func job(t *testing.T, scripts ...string) (*runner, *bytes.Buffer) {
	t.Helper()
	dir, work, out := t.TempDir(), t.TempDir(), new(bytes.Buffer)
	t.Setenv("TMPDIR", t.TempDir()) // for what is kept
	t.Setenv("GALE_CI_MAIN", "1")
	t.Setenv("GOFLAGS", "-vet=off")
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
	r := &runner{dir: dir, work: work, jobs: 2, again: time.Hour, out: out}
	for i, script := range scripts {
		s := &step{name: string(rune('a' + i))}
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

// The second step waits until the first one runs, by a named pipe.
const (
	first  = `mkfifo "$work/first"; echo here >"$work/first"; `
	second = `until [ -p "$work/first" ]; do sleep 0.01; done; read -r _ <"$work/first"`
)

// lateModule is a module with tests that fail by a deadline until they have run as often as
// $work/tries says, and some that are never right.
const lateModule = `package p

import (
	"os"
	"testing"
)

// fails reports whether this run of the test still fails.
func fails(t *testing.T) bool {
	name := os.Getenv("CI_WORK") + "/" + t.Name()
	tries, _ := os.ReadFile(name)
	os.WriteFile(name, append(tries, '.'), 0o644)
	return len(tries) < len(os.Getenv("TRIES"))
}

func late(t *testing.T) {
	if os.Getenv("GALE_SAME") != "yes" {
		t.Fatal("another environment")
	}
	if fails(t) {
		t.Fatal("read: i/o timeout")
	}
}

func TestLate(t *testing.T)  { late(t) }
func TestLate2(t *testing.T) { late(t) }
func TestLate3(t *testing.T) { late(t) }
func TestLate4(t *testing.T) { late(t) }
func TestWrong(t *testing.T) {
	if fails(t) {
		t.Fatal("got 1, want 2")
	}
}
func TestPanic(t *testing.T) {
	if fails(t) {
		panic("boom")
	}
}
`

func TestRunAgain(t *testing.T) {
	const run = `cd module && TRIES=%s GALE_SAME=yes go_test late -run='%s' . || exit 1; `
	for _, tt := range []struct {
		name, tests, tries, after string
		jobs                      int
		again                     time.Duration
		passes                    bool
		want                      []string
		runs                      string // of the first test
	}{
		{
			name: "flaky", tests: "^TestLate$", passes: true, runs: "....",
			want: []string{
				"=== a: 1 failed by a deadline, ", "=== a: again, alone: p TestLate\n", "a            passed, flaky, ",
				"=== passed, flaky: ", "a p TestLate: read: i/o timeout (beside b)\n", "passed, flaky: 1\nPASS\n",
			},
		},
		{name: "three", tests: "^TestLate[23]?$", passes: true, runs: "....", want: []string{"passed, flaky: 3\nPASS\n"}},
		{name: "too many", tests: "^TestLate.?$", runs: ".", want: []string{"a            FAILED", "failed: a\nFAIL\n"}},
		{name: "late twice", tests: "^TestLate$", tries: "22", runs: "....", want: []string{"a            FAILED", "failed: a\nFAIL\n"}},
		{name: "wrong", tests: "^TestWrong$", runs: ".", want: []string{"=== a: FAILED", "wrong: p TestWrong: got 1, want 2\n", "failed: a\n"}},
		{name: "late and wrong", tests: "^Test(Late|Wrong)$", runs: ".", want: []string{"=== a: FAILED", "failed: a\n"}},
		{name: "panic", tests: "^Test(Late|Panic)$", runs: ".", want: []string{"=== a: FAILED", "wrong: p: panic\n", "failed: a\n"}},
		{name: "the script fails too", tests: "^TestLate$", after: "exit 1", runs: ".", want: []string{"=== a: FAILED", "failed: a\n"}},
		{name: "alone", tests: "^TestLate$", jobs: 1, runs: ".", want: []string{"=== a: FAILED", "failed: a\n"}},
		{name: "no time", tests: "^TestLate$", again: time.Second, runs: ".", want: []string{"a            FAILED", "failed: a\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.tries == "" {
				tt.tries = "1"
			}
			a, b := fmt.Sprintf(first+run+tt.after, tt.tries, tt.tests), second
			if tt.jobs == 1 {
				a, b = fmt.Sprintf(run+tt.after, tt.tries, tt.tests), ":"
			}
			r, out := job(t, a, b)
			write(t, r.dir, "module/go.mod", "module p\n\ngo 1.26\n")
			write(t, r.dir, "module/p_test.go", lateModule)
			if tt.jobs != 0 {
				r.jobs = tt.jobs
			}
			if tt.again != 0 {
				r.again = tt.again
			}
			if passed := runJob(t, r); passed != tt.passes {
				t.Errorf("passed: %v", passed)
			}
			wantLines(t, out.String(), tt.want...)
			of := "TestLate"
			if !strings.Contains(tt.tests, of) && !strings.Contains(tt.tests, "Late|") {
				of = "TestWrong"
			}
			if runs, _ := os.ReadFile(filepath.Join(r.work, of)); string(runs) != tt.runs {
				t.Errorf("%s ran %q, want %q:\n%s", of, runs, tt.runs, out)
			}
			if tt.passes && strings.Contains("\n"+out.String(), "\nFAIL") {
				t.Errorf("a line begins with FAIL, and all passed:\n%s", out)
			}
		})
	}
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
	if len(steps) < 20 || steps[0].name != "format" || steps[0].programs || !steps[len(steps)-1].programs {
		t.Errorf("%d steps, first %+v, last %+v", len(steps), steps[0], steps[len(steps)-1])
	}
	if chosen, err := choose(steps, []string{"vet", "race"}); err != nil || len(chosen) != 2 || chosen[0].name != "vet" {
		t.Errorf("%v, %v", chosen, err)
	}
	if _, err := choose(steps, []string{"vet", "no"}); err == nil || !strings.Contains(err.Error(), "no step no; there are: format race") {
		t.Error(err)
	}
	dir := t.TempDir()
	write(t, dir, "steps/a.sh", "")
	write(t, dir, "steps/b.sh", "")
	for name, list := range map[string]string{"a step is missing": "a\n", "a script is missing": "a\nb\nc\n", "an unknown word": "a\nb tools\n"} {
		write(t, dir, "list", list)
		if steps, err := readSteps(filepath.Join(dir, "list"), filepath.Join(dir, "steps")); err == nil {
			t.Errorf("%s: %d steps", name, len(steps))
		}
	}
}
