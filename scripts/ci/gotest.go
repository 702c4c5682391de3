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
}

// testCommand is the command "ci test". It returns its exit status: 0 also if tests failed
// by a deadline, since the runner decides about these when all steps have ended.
func testCommand(work, step string, args []string) (int, error) {
	if len(args) == 0 || step == "" {
		return 2, errors.New("ci test is for steps: ci test NAME ARGS")
	}
	dir, err := os.Getwd()
	if err != nil {
		return 1, err
	}
	run := testRun{Name: args[0], Dir: dir, Env: os.Environ(), Args: args[1:]}
	log, passed, err := run.record(work, step)
	if err != nil {
		return 1, err
	}
	j := classify(log, passed)
	report(os.Stdout, log, j)
	if len(j.wrong) > 0 {
		return 1, nil
	}
	return 0, nil
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
	cmd := run.command(context.Background(), 30*time.Minute, run.Args)
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
func (run testRun) command(ctx context.Context, limit time.Duration, args []string) *exec.Cmd {
	args = append([]string{"test", "-json", "-count=1", fmt.Sprintf("-timeout=%s", limit)}, args...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = run.Dir, run.Env
	return cmd
}

// timesAgain is how often a test must pass when it runs again. One that also fails half of the
// time when it is alone passes seldom.
const timesAgain = 3

// again runs tests of a package again, with the same flags. It returns "" if all have passed
// each time, else why not.
func (run testRun) again(ctx context.Context, limit time.Duration, pkg packageTests, mark string, file *os.File) string {
	args := []string{"-run=^(" + strings.Join(pkg.tests, "|") + ")$", fmt.Sprint("-count=", timesAgain)}
	for _, arg := range run.Args {
		if strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "-run=") {
			args = append(args, arg)
		}
	}
	cmd := run.command(ctx, limit, append(args, pkg.name))
	cmd.Stdout, cmd.Stderr = file, file
	passed := runWhole(ctx, cmd, mark) == nil
	text, err := os.ReadFile(file.Name())
	if err != nil {
		return err.Error()
	}
	log := string(text)
	j := classify(log, passed)
	for _, f := range append(j.wrong, j.late...) {
		return f.String()
	}
	packages, _ := parseLog(log)
	for _, test := range pkg.tests {
		if len(packages) != 1 || packages[0].test(test).result != "pass" {
			return pkg.name + " " + test + ": it didn't run again"
		}
	}
	return ""
}

// lateRun is a run of go test with tests that failed by a deadline.
type lateRun struct {
	testRun
	tests []failure
}

// judgeStep judges what "ci test" has recorded for a step.
func judgeStep(work, step string) (late []lateRun, wrong []failure, err error) {
	files, err := filepath.Glob(filepath.Join(work, "tests", step, "*.json"))
	if err != nil {
		return nil, nil, err
	}
	for _, file := range files {
		base := strings.TrimSuffix(file, ".json")
		log, err := os.ReadFile(file)
		if err != nil {
			return nil, nil, err
		}
		text, err := os.ReadFile(base + ".run")
		if err != nil {
			return nil, nil, err
		}
		var run testRun
		if err := json.Unmarshal(text, &run); err != nil {
			return nil, nil, err
		}
		_, err = os.Stat(base + ".passed")
		j := classify(string(log), err == nil)
		wrong = append(wrong, j.wrong...)
		if len(j.late) > 0 {
			late = append(late, lateRun{run, j.late})
		}
	}
	return late, wrong, nil
}
