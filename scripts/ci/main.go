//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

func main() {
	code, err := command(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// command runs a command of the program and returns its exit status.
func command(args []string) (int, error) {
	work := os.Getenv("CI_WORK")
	if len(args) == 0 || work == "" {
		return 2, errors.New("start it with .ci/run")
	}
	switch args[0] {
	case "run":
		return runCommand(work, args[1:])
	case "test":
		return testCommand(work, os.Getenv("CI_STEP"), args[1:])
	}
	return 2, fmt.Errorf("no command %s", args[0])
}

// runCommand is the command "ci run". At its end it removes the folder work.
func runCommand(work string, names []string) (int, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer func() {
		_ = exec.Command("chmod", "-R", "u+w", work).Run() // caches of modules are read-only
		_ = os.RemoveAll(work)
	}()
	dir, err := os.Getwd()
	if err != nil {
		return 1, err
	}
	full := os.Getenv("FULL") != ""
	steps, err := readSteps(".ci/steps.txt", ".ci/steps")
	if err == nil {
		err = readKnown(".ci/known.txt", steps)
	}
	if err == nil && len(names) == 1 && names[0] == "-n" {
		return 0, list(os.Stdout, steps)
	}
	if err == nil {
		steps, err = choose(steps, names, full)
	}
	if err != nil {
		return 2, err
	}
	r := runner{
		dir: dir, work: work, jobs: 2, out: os.Stdout, steps: steps,
		limits: !full, begin: time.Hour, again: 70 * time.Minute, end: 80 * time.Minute,
	}
	if full {
		r.begin, r.again, r.end = 24*time.Hour, 24*time.Hour, 24*time.Hour
	}
	if n, err := strconv.Atoi(os.Getenv("JOBS")); err == nil && n > 0 {
		r.jobs = n
	}
	if err := r.run(ctx); err != nil {
		return 130, errors.New("interrupted")
	}
	if !r.page() {
		return 1, nil
	}
	return 0, nil
}

// list prints the steps.
func list(w io.Writer, steps []*step) error {
	for _, s := range steps {
		if _, err := fmt.Fprintf(w, "%-12s %s, about %.0f s\n", s.name, s.tier(), s.usual.Seconds()); err != nil {
			return err
		}
	}
	return nil
}
