package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/galehttp/gale/scripts/schedfuzz/delay"
)

// session runs tests.
type session struct {
	*options
	work    string // a folder
	out     io.Writer
	root    string   // the module's folder
	names   []string // of all operations
	targets []*target

	mu      sync.Mutex
	failed  int
	reached map[string]bool // operations of GALE_DELAY_AT that a test reached
}

// run is one test in a process of its own.
type run struct {
	*target
	test   string
	engine string // "" if the tests don't read GALE_ENGINE
	seed   uint64
	number int // with -count
}

func (r run) String() string {
	s := fmt.Sprintf("%s %s", r.dir, r.test)
	if r.engine != "" {
		s += " engine=" + r.engine
	}
	return fmt.Sprintf("%s seed=%d", s, r.seed)
}

// run runs all, one seed after the other, and returns how many runs failed.
func (s *session) run(ctx context.Context) (failed int, err error) {
	at, err := s.choices()
	if err != nil {
		return 0, err
	}
	if err := os.MkdirAll(filepath.Join(s.work, "logs"), 0o755); err != nil {
		return 0, err
	}
	s.failed, s.reached = 0, map[string]bool{}
	for _, seed := range s.seeds {
		began, before := time.Now(), s.failed
		runs := s.runs(seed)
		if len(runs) == 0 {
			return 0, fmt.Errorf("no test matches -run %s", s.options.run)
		}
		s.all(ctx, runs)
		if ctx.Err() != nil {
			return s.failed, ctx.Err()
		}
		fmt.Fprintf(s.out, "seed %d: %d runs, %d failures, %.0f s\n", seed, len(runs), s.failed-before, time.Since(began).Seconds())
	}
	for _, c := range at {
		if !s.hasReached(c.Where) {
			s.failed++
			fmt.Fprintf(s.out, "NOT REACHED %s: no test reached it outside bubbles, so this proves nothing\n", c.Where)
		}
	}
	return s.failed, nil
}

// clean removes the folder, or all of it but the logs.
func (s *session) clean(keepLogs bool) {
	entries, _ := os.ReadDir(s.work)
	for _, e := range entries {
		if !keepLogs || e.Name() != "logs" {
			_ = os.RemoveAll(filepath.Join(s.work, e.Name()))
		}
	}
	_ = os.Remove(s.work) // if it is empty
}

// runs are those of a seed.
func (s *session) runs(seed uint64) (runs []run) {
	for _, t := range s.targets {
		engines := []string{""}
		if t.engines {
			engines = s.engines
		}
		for _, engine := range engines {
			for _, test := range t.tests {
				if !s.options.run.MatchString(test) {
					continue
				}
				for i := range s.count {
					runs = append(runs, run{t, test, engine, seed, i})
				}
			}
		}
	}
	return runs
}

// all runs tests, s.jobs at a time.
func (s *session) all(ctx context.Context, runs []run) {
	next := make(chan run)
	var wg sync.WaitGroup
	for range s.jobs {
		wg.Go(func() {
			for r := range next {
				s.one(ctx, r)
			}
		})
	}
	for _, r := range runs {
		if ctx.Err() != nil {
			break
		}
		next <- r
	}
	close(next)
	wg.Wait()
}

// one runs a test, and keeps its log if it fails.
func (s *session) one(ctx context.Context, r run) {
	name := filepath.Join(s.work, "logs", strings.Join([]string{
		r.fileName(), r.test, r.engine, strconv.FormatUint(r.seed, 10), strconv.Itoa(r.number), "log",
	}, "."))
	err := s.start(ctx, r, name)
	if ctx.Err() != nil {
		return
	}
	log, readErr := os.ReadFile(name)
	verdict, line := judge(r.test, string(log), err)
	if readErr != nil {
		verdict, line = "FAIL", readErr.Error()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for text := range strings.Lines(string(log)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(text), delay.Reached); ok {
			s.reached[name] = true
		}
	}
	if verdict == "" {
		_ = os.Remove(name)
		return
	}
	s.failed++
	fmt.Fprintf(s.out, "%s %s\n    %s\n    log: %s\n    again: %s\n", verdict, r, line, name, s.again(r))
}

// start runs a test; its output goes to a file, so that a process that it leaves behind keeps
// nothing waiting.
func (s *session) start(ctx context.Context, r run, log string) error {
	file, err := os.Create(log)
	if err != nil {
		return err
	}
	defer file.Close()
	// The test binary prints its goroutines at its own limit.
	ctx, cancel := context.WithTimeout(ctx, s.timeout+30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.binary, "-test.run=^"+r.test+"$", "-test.v", "-test.count=1", "-test.timeout="+s.timeout.String())
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Join(r.root, r.dir), file, file
	cmd.Env = append(os.Environ(), "GALE_FULL=", "GALE_ENGINE="+r.engine,
		delay.SeedVar+"="+strconv.FormatUint(r.seed, 10), delay.RoughVar+"="+s.roughValue())
	return cmd.Run()
}

func (s *session) roughValue() string {
	if s.rough {
		return "1"
	}
	return ""
}

// again returns the command that repeats a run.
func (s *session) again(r run) string {
	var b bytes.Buffer
	if at := os.Getenv(delay.AtVar); at != "" {
		fmt.Fprintf(&b, "%s='%s' ", delay.AtVar, at)
	}
	fmt.Fprintf(&b, "go run ./scripts/schedfuzz -packages %s -run '^%s$' -seeds %d -count 10", r.dir, r.test, r.seed)
	if r.engine != "" {
		fmt.Fprintf(&b, " -engines %s", r.engine)
	}
	if s.race {
		b.WriteString(" -race")
	}
	if s.rough {
		b.WriteString(" -rough")
	}
	return b.String()
}

// hasReached reports whether a test reached an operation.
func (s *session) hasReached(where string) bool {
	for name := range s.reached {
		if delay.Means(where, name) {
			return true
		}
	}
	return false
}

// telling are lines of a log that say what failed.
var telling = regexp.MustCompile(`(?m)^(?:panic: .*|fatal error: .*|WARNING: DATA RACE|.*NOT FORGIVEN: .*| +\w+_test\.go:\d+: .*| +\w+\.go:\d+: .*)$`)

// judge returns "" if a test passed or skipped itself, else what it did, and a line of its log.
func judge(test, log string, err error) (verdict, line string) {
	ended := strings.Contains(log, "--- PASS: "+test+" ") || strings.Contains(log, "--- SKIP: "+test+" ")
	if err == nil && ended {
		return "", ""
	}
	line = strings.TrimSpace(telling.FindString(log))
	switch {
	case strings.Contains(log, "panic: test timed out"):
		return "HANG", line
	case strings.Contains(log, "WARNING: DATA RACE"):
		return "RACE", line
	case err == nil:
		return "FAIL", "the test did not run"
	case line == "":
		line = err.Error()
	}
	return "FAIL", line
}
