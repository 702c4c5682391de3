package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/galehttp/gale/lab/plan"
	"github.com/galehttp/gale/lab/servers"
)

// runOptions are the flags and arguments of "lab run".
type runOptions struct {
	quick     bool
	rounds    int
	round     time.Duration
	warmUp    time.Duration
	out       string
	servers   []string
	modes     []string
	generator string // program to use instead of one that is built
	scenarios []string
	lab       string // the lab's folder
}

// Defaults of full and quick runs.
const (
	fullRounds, quickRounds = 7, 3
	fullRound, quickRound   = 2 * time.Second, 400 * time.Millisecond
	fullWarmUp, quickWarmUp = 500 * time.Millisecond, 100 * time.Millisecond
)

func runMain(args []string, stdout, stderr io.Writer) error {
	o, err := parseRun(args, stderr)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := newRunner(ctx, o, stdout)
	if err != nil {
		return err
	}
	defer r.close()
	err = r.run()
	if len(r.folder.Measurements) == 0 {
		return err
	}
	for _, l := range r.folder.LeftOut() {
		r.say("left out: %s, %s: %s", l.Server, l.Scenario, l.Why)
	}
	if reported := writeReport(r.folder, stdout); err == nil {
		err = reported
	}
	return err
}

// parseRun reads the arguments. Flags may come after names of scenarios.
func parseRun(args []string, stderr io.Writer) (*runOptions, error) {
	o := &runOptions{lab: "."}
	fs := flag.NewFlagSet("run", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprintf(stderr, "Usage: go run . run [flags] [scenario...]\n\nScenarios: %s\nServers: %s\n\nFlags:\n",
			strings.Join(plan.Names(), ", "), strings.Join(servers.Names(), ", "))
		fs.PrintDefaults()
	}
	fs.BoolVar(&o.quick, "quick", false, "take under 10 minutes, with servers that need nothing but Go")
	fs.IntVar(&o.rounds, "rounds", 0, fmt.Sprintf("run this `number` of rounds (default %d, quick %d)", fullRounds, quickRounds))
	fs.DurationVar(&o.round, "round", 0, fmt.Sprintf("measure for this `duration` in a round (default %s, quick %s)", fullRound, quickRound))
	fs.DurationVar(&o.warmUp, "warmup", 0, fmt.Sprintf("don't count for this `duration` before it (default %s, quick %s)", fullWarmUp, quickWarmUp))
	fs.StringVar(&o.out, "out", "", "write results to this `folder` (default runs/ and the time)")
	list := fs.String("servers", "", "compare these servers only, a `list` with commas")
	modes := fs.String("modes", "", "a `list` of pinned and unpinned (default both, quick pinned)")
	fs.StringVar(&o.generator, "gale", "", "use this `program` as gale, instead of building it")
	var names []string
	for rest := args; len(rest) > 0; {
		if err := fs.Parse(rest); err != nil {
			return nil, errUsage
		}
		rest = fs.Args()
		for len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
			names, rest = append(names, rest[0]), rest[1:]
		}
	}
	o.scenarios, o.servers, o.modes = names, split(*list), split(*modes)
	o.setDefaults()
	if err := o.check(); err != nil {
		fmt.Fprintln(stderr, "lab:", err)
		return nil, errUsage
	}
	return o, nil
}

func split(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

func (o *runOptions) setDefaults() {
	rounds, round, warmUp := fullRounds, fullRound, fullWarmUp
	modes := []string{"pinned", "unpinned"}
	if o.quick {
		rounds, round, warmUp, modes = quickRounds, quickRound, quickWarmUp, modes[:1]
	}
	if o.rounds == 0 {
		o.rounds = rounds
	}
	if o.round == 0 {
		o.round = round
	}
	if o.warmUp == 0 {
		o.warmUp = warmUp
	}
	if o.modes == nil {
		o.modes = modes
	}
	if o.out == "" {
		o.out = filepath.Join("runs", time.Now().Format("2006-01-02-150405"))
	}
}

func (o *runOptions) check() error {
	for _, name := range o.scenarios {
		if plan.Find(name) == nil {
			return fmt.Errorf("there is no scenario %q: there are %s", name, strings.Join(plan.Names(), ", "))
		}
	}
	for _, name := range o.servers {
		if _, err := servers.Find(name); err != nil {
			return err
		}
	}
	for _, mode := range o.modes {
		if mode != "pinned" && mode != "unpinned" {
			return fmt.Errorf("there is no mode %q: there are pinned and unpinned", mode)
		}
	}
	if o.rounds < 1 || o.round < 0 || o.warmUp < 0 {
		return fmt.Errorf("rounds and durations must be positive")
	}
	return nil
}

// wants reports whether a scenario was asked for, by its name or by none.
func (o *runOptions) wants(s *plan.Scenario) bool {
	return len(o.scenarios) == 0 || slices.Contains(o.scenarios, s.Name)
}
