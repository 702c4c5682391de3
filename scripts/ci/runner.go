//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// runner runs steps. Their output goes to files in work.
type runner struct {
	dir    string // the checkout, with .ci
	work   string
	jobs   int  // how many steps run at a time
	limits bool // a step that takes longer than its limit is ended
	out    io.Writer
	steps  []*step

	// Limits, from the beginning of the run. A slow run is no reason to fail, but each run must
	// end with a verdict.
	begin time.Duration // after this no step begins, unless it is always there
	again time.Duration // after this no test runs again
	end   time.Duration // after this what still runs is ended

	began      time.Time
	running    map[*step]bool
	done       chan *step
	unprepared error // why .ci/prepare.sh failed; read after it has ended
}

// run runs all steps, then what failed once more. It returns an error if it was interrupted;
// then no process of a step is left.
func (r *runner) run(ctx context.Context) error {
	r.began, r.running, r.done = time.Now(), map[*step]bool{}, make(chan *step)
	limited, cancel := context.WithTimeoutCause(ctx, r.end, fmt.Errorf("ended after %v", r.end))
	defer cancel()
	prepared := r.prepare(limited)
	for _, s := range r.steps {
		for len(r.running) >= r.jobs {
			r.finish()
		}
		if s.programs {
			<-prepared
		}
		switch late := limited.Err() != nil; {
		case !s.always && (late || time.Since(r.began) > r.begin):
			s.exit, s.why = leftOut, "there was no time"
		case late:
			s.exit, s.why = 1, "there was no time"
		default:
			r.start(limited, s)
		}
	}
	for len(r.running) > 0 {
		r.finish()
	}
	<-prepared
	if r.unprepared != nil && ctx.Err() == nil { // a failure is no step's: steps say what they lack
		r.printf("=== .ci/prepare.sh: %v, see prepare.out\n", r.unprepared)
	}
	r.runAgain(limited)
	return ctx.Err()
}

// prepare starts .ci/prepare.sh if a step needs it. The channel is closed when it ends.
func (r *runner) prepare(ctx context.Context) <-chan struct{} {
	done := make(chan struct{})
	needed := false
	for _, s := range r.steps {
		needed = needed || s.programs
	}
	if !needed {
		close(done)
		return done
	}
	go func() {
		defer close(done)
		r.unprepared = r.runPrepare(ctx)
	}()
	return done
}

func (r *runner) runPrepare(ctx context.Context) error {
	out, err := os.Create(filepath.Join(r.work, "prepare.out"))
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := r.script(ctx, "prepare", ".ci/prepare.sh")
	cmd.Stdout, cmd.Stderr = out, out
	return runWhole(ctx, cmd, r.mark("prepare"))
}

// script returns a script of the checkout.
func (r *runner) script(ctx context.Context, name, path string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", path)
	cmd.Dir, cmd.Env = r.dir, append(os.Environ(), "CI_WORK="+r.work, "CI_STEP="+name, r.mark(name))
	return cmd
}

// mark returns what the environment of a step's processes has, and no other.
func (r *runner) mark(name string) string { return "CI_MARK=" + name + ":" + r.work }

func (r *runner) start(ctx context.Context, s *step) {
	r.running[s] = true
	began := time.Now()
	go func() {
		if err := r.runScript(ctx, s); err != nil {
			s.exit, s.why = 1, err.Error()
		}
		s.wall = time.Since(began)
		r.done <- s
	}()
}

// runScript runs the script of a step.
func (r *runner) runScript(ctx context.Context, s *step) error {
	out, err := os.Create(r.output(s))
	if err != nil {
		return err
	}
	defer out.Close()
	if r.limits {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.limit(), fmt.Errorf("it hung: ended after %v", s.limit()))
		defer cancel()
	}
	cmd := r.script(ctx, s.name, filepath.Join(".ci/steps", s.name+".sh"))
	cmd.Env = append(cmd.Env, knownVar+"="+strings.Join(s.knownNames(), " "))
	cmd.Stdout, cmd.Stderr = out, out
	err = runWhole(ctx, cmd, r.mark(s.name))
	s.cpu = cpu(cmd.ProcessState)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if cmd.ProcessState == nil {
		return err
	}
	s.exit = cmd.ProcessState.ExitCode()
	if s.exit == leftOut && !saysLeftOut.MatchString(r.text(s)) {
		s.exit = 1 // the status of a program that the script ran
	}
	return nil
}

func (r *runner) output(s *step) string { return filepath.Join(r.work, s.name+".out") }

// finish waits for one of the steps that run, judges it and prints what it wrote.
func (r *runner) finish() {
	s := <-r.done
	delete(r.running, s)
	if err := s.judge(r.work); err != nil {
		s.wrong = append(s.wrong, failure{pkg: s.name, why: err.Error()})
	}
	if s.exit == 0 {
		s.wrong = append(s.wrong, s.stale(r.text(s))...)
	}
	r.printf("=== %s\n%s", s.name, r.text(s))
	r.printVerdict(s)
}

// printVerdict prints how a step ended, also if it has tests that may run again.
func (r *runner) printVerdict(s *step) {
	if s.failed() && !s.owes() {
		r.printf("FAIL %s\n", s.name)
	}
	r.printf("=== %s: %s\n", s.name, s.verdict())
}
