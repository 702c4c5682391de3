package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	packages []string // folders
	seeds    []uint64
	engines  []string // values of GALE_ENGINE
	run      *regexp.Regexp
	race     bool
	rough    bool
	sites    bool
	jobs     int
	count    int
	timeout  time.Duration
}

const (
	defaultPackages = "internal/engine . ws reverse adaptor stackless tests/server tests/client tests/h2"
	defaultSeeds    = "1 2 3"
)

func main() {
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	var failed int
	if err == nil {
		failed, err = o.fuzz(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "schedfuzz:", err)
		os.Exit(2)
	}
	if failed > 0 {
		os.Exit(1)
	}
}

// parse reads the command line.
func parse(args []string) (*options, error) {
	o := new(options)
	engines := "block"
	if runtime.GOOS == "linux" {
		engines = "event block"
	}
	flags := flag.NewFlagSet("schedfuzz", flag.ContinueOnError)
	packages := flags.String("packages", defaultPackages, "the folders whose tests run")
	seeds := flags.String("seeds", defaultSeeds, "a pass over all tests for each; 0: no random delays")
	flags.StringVar(&engines, "engines", engines, "the engines for packages whose tests read GALE_ENGINE")
	run := flags.String("run", "", "only tests whose names match this regular expression")
	flags.BoolVar(&o.race, "race", false, "with the race detector")
	flags.BoolVar(&o.rough, "rough", false, "longer and more delays")
	flags.BoolVar(&o.sites, "sites", false, "list the names of operations, run nothing")
	flags.IntVar(&o.jobs, "j", runtime.NumCPU(), "how many tests run at a time")
	flags.IntVar(&o.count, "count", 1, "how often each test runs with each seed")
	flags.DurationVar(&o.timeout, "timeout", 100*time.Second, "a test that runs longer hangs; many tests give up after a minute and say why")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("%s is no flag: packages are named by -packages", flags.Arg(0))
	}
	if o.jobs < 1 || o.count < 1 || o.timeout <= 0 {
		return nil, errors.New("-j, -count and -timeout must be above 0")
	}
	o.packages, o.engines = strings.Fields(*packages), strings.Fields(engines)
	for _, s := range strings.Fields(*seeds) {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("-seeds: %q is no number", s)
		}
		o.seeds = append(o.seeds, seed)
	}
	if len(o.packages) == 0 || len(o.engines) == 0 || len(o.seeds) == 0 {
		return nil, errors.New("-packages, -engines and -seeds must not be empty")
	}
	var err error
	o.run, err = regexp.Compile(*run)
	return o, err
}

// fuzz does all, and returns how many runs failed.
func (o *options) fuzz(out io.Writer) (failed int, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if o.race {
		// Each call of the go command then chooses files, export data and code for it.
		if err := os.Setenv("GOFLAGS", strings.TrimSpace(os.Getenv("GOFLAGS")+" -race")); err != nil {
			return 0, err
		}
	}
	work, err := os.MkdirTemp("", "schedfuzz-")
	if err != nil {
		return 0, err
	}
	s := &session{options: o, work: work, out: out}
	defer func() { s.clean(failed > 0) }()
	if err := s.instrument(); err != nil {
		return 0, err
	}
	if o.sites {
		_, err := fmt.Fprintln(out, strings.Join(s.names, "\n"))
		return 0, err
	}
	fmt.Fprintf(out, "%d operations can be late; building\n", len(s.names))
	if err := s.build(ctx); err != nil {
		return 0, err
	}
	failed, err = s.run(ctx)
	if failed > 0 {
		fmt.Fprintf(out, "%d failures; logs are in %s\n", failed, filepath.Join(work, "logs"))
	}
	return failed, err
}
