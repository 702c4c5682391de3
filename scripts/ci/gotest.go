//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// testRun is a run of go test by a step.
type testRun struct {
	Name string   // unique among the runs of the step
	Dir  string   // where it ran
	Env  []string // its environment
	Args []string // flags of the form -flag=value, then packages

	Known []string // tests that may fail
}

// testCommand is the command "ci test". It returns its exit status: 0 also if tests failed that
// may run again, since the runner does that when all steps have ended.
func testCommand(work, step string, args []string) (int, error) {
	if len(args) == 0 || step == "" {
		return 2, errors.New("ci test is for steps: ci test NAME ARGS")
	}
	dir, err := os.Getwd()
	if err != nil {
		return 1, err
	}
	run := testRun{Name: args[0], Dir: dir, Env: os.Environ(), Args: args[1:], Known: strings.Fields(os.Getenv(knownVar))}
	log, passed, err := run.record(work, step)
	if err != nil {
		return 1, err
	}
	j := classify(log, passed, run.Known)
	report(os.Stdout, log, j)
	if len(j.wrong) > 0 {
		return 1, nil
	}
	return 0, nil
}

// testLimit returns how long a test binary may run. Without FULL, one that takes longer hangs.
func testLimit() time.Duration {
	if os.Getenv("FULL") != "" {
		return 30 * time.Minute
	}
	return 5 * time.Minute
}

// record runs the tests. The runner finds the output and how to run them again in the
// folder tests/STEP of work, a person finds the text in NAME.txt.
func (run testRun) record(work, step string) (log string, passed bool, err error) {
	base := filepath.Join(work, "tests", step, run.Name)
	file, err := run.create(base)
	if err != nil {
		return "", false, err
	}
	defer file.Close()
	// In the process group of the step, to end with it.
	cmd := run.command(context.Background(), run.Args)
	cmd.Stdout, cmd.Stderr = file, file
	passed = cmd.Run() == nil
	text, err := os.ReadFile(file.Name())
	if err != nil {
		return "", false, err
	}
	if err := os.WriteFile(filepath.Join(work, run.Name+".txt"), []byte(plain(string(text))), 0o644); err != nil {
		return "", false, err
	}
	if passed {
		err = os.WriteFile(base+".passed", nil, 0o644)
	}
	return string(text), passed, err
}

// create makes the file of the output, and one that says how to run the tests again. It
// fails if the step has had a run of this name.
func (run testRun) create(base string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(base), 0o755); err != nil {
		return nil, err
	}
	text, err := json.Marshal(run)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(base+".run", text, 0o600); err != nil {
		return nil, err
	}
	return os.OpenFile(base+".json", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
}

// command returns go test with args.
func (run testRun) command(ctx context.Context, args []string) *exec.Cmd {
	args = append([]string{"test", "-json", "-count=1", fmt.Sprintf("-timeout=%s", testLimit())}, args...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = run.Dir, run.Env
	return cmd
}

// again runs what failed again, with the same flags.
func (run testRun) again(ctx context.Context, f failure, mark string, file *os.File) judgement {
	var args []string
	for _, arg := range run.Args {
		if strings.HasPrefix(arg, "-") && (f.test == "" || !strings.HasPrefix(arg, "-run=")) {
			args = append(args, arg)
		}
	}
	if f.test != "" {
		args = append(args, "-run=^"+f.test+"$")
	}
	cmd := run.command(ctx, append(args, f.pkg))
	cmd.Stdout, cmd.Stderr = file, file
	passed := runWhole(ctx, cmd, mark) == nil
	text, err := os.ReadFile(file.Name())
	if err != nil {
		return judgement{wrong: []failure{{pkg: f.pkg, test: f.test, why: err.Error()}}}
	}
	j := classify(string(text), passed, run.Known)
	packages, _ := parseLog(string(text))
	if j.passed() && f.test != "" && packages[0].test(f.test).result != "pass" && len(j.known) == 0 {
		j.wrong = []failure{{pkg: f.pkg, test: f.test, why: "it didn't run again"}}
	}
	return j
}

// failedRun is a run of go test with failures that may run again.
type failedRun struct {
	testRun
	failed []failure
}

// judge judges what "ci test" has recorded for s.
func (s *step) judge(work string) error {
	files, err := filepath.Glob(filepath.Join(work, "tests", s.name, "*.json"))
	if err != nil {
		return err
	}
	for _, file := range files {
		base := strings.TrimSuffix(file, ".json")
		log, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(base + ".run")
		if err != nil {
			return err
		}
		var run testRun
		if err := json.Unmarshal(text, &run); err != nil {
			return err
		}
		_, err = os.Stat(base + ".passed")
		j := classify(string(log), err == nil, run.Known)
		s.wrong = append(s.wrong, j.wrong...)
		if len(j.failed) > 0 {
			s.owed = append(s.owed, failedRun{run, j.failed})
		}
	}
	return nil
}
