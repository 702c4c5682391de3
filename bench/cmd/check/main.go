// Check runs Gale's benchmarks and compares them with a stored run, baseline.txt. It
// fails if a benchmark allocates more often than in the baseline, or if a benchmark of the
// baseline is gone. It also prints which times changed, as benchstat says it, but it
// doesn't judge them: they depend on the machine.
//
//	go run ./cmd/check           # six rounds, allocations and times
//	go run ./cmd/check -allocs   # one round, or more if something allocates: allocations only
//	go run ./cmd/check -write    # make the baseline
//
// Start it in the folder bench/. It doesn't measure fasthttp and net/http.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
)

// suites are all benchmarks in this module, and those of the library for what they don't
// use: the event engine with the reverse proxy, and the chunked coding.
var suites = []suite{
	{dir: ".", bench: ".", skip: "^BenchmarkClientTCP$/^conns=1000$|" + peers}, // conns=1000 needs 2,000 files and counts mostly dials
	{dir: "../reverse", bench: "^BenchmarkProxy$"},
	{dir: "../internal/h1", bench: "^BenchmarkBodyDecode$"},
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("check: ")
	rounds := flag.Int("rounds", 6, "run each benchmark this many times")
	allocs := flag.Bool("allocs", false, "compare allocations only, and stop after the first round in which nothing is above the baseline")
	write := flag.Bool("write", false, "write the baseline")
	flag.Parse()
	c := &check{suites: suites, baseline: "baseline.txt", rounds: *rounds, out: os.Stdout}
	do := c.all
	switch {
	case *rounds < 1:
		log.Fatal("-rounds must be at least 1")
	case *allocs:
		do = c.allocs
	case *write:
		do = c.write
	}
	if err := do(); err != nil {
		log.Fatal(err)
	}
}

// check is one call of the command.
type check struct {
	suites   []suite
	baseline string // a file
	rounds   int
	out      io.Writer
}

// write makes the baseline.
func (c *check) write() error {
	run, err := c.measure(nil)
	if err != nil {
		return err
	}
	if err := run.save(c.baseline); err != nil {
		return err
	}
	fmt.Fprintf(c.out, "%s has %d benchmarks, %d runs of each\n", c.baseline, len(run.order), c.rounds)
	return nil
}

// allocs compares the allocations alone. What was once not above the baseline is good.
func (c *check) allocs() error {
	base, err := load(c.baseline)
	if err != nil {
		return err
	}
	run, err := c.measure(func(run *results) bool { return len(compare(base, run).more) == 0 })
	if err != nil {
		return err
	}
	c.printMachine(base, run)
	return c.judge(base, run)
}

// all compares times and allocations.
func (c *check) all() error {
	base, err := load(c.baseline)
	if err != nil {
		return err
	}
	run, err := c.measure(nil)
	if err != nil {
		return err
	}
	c.printMachine(base, run)
	c.printTimes(run)
	return c.judge(base, run)
}

// measure runs all suites in rounds. If enough is not nil and true after a round, there
// are no more.
func (c *check) measure(enough func(*results) bool) (*results, error) {
	dir, err := os.MkdirTemp("", "gale-bench-check")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	programs := make([]string, len(c.suites))
	for i, s := range c.suites {
		programs[i] = filepath.Join(dir, fmt.Sprintf("%d.test.exe", i)) // Windows needs .exe
		if err := s.build(programs[i]); err != nil {
			return nil, err
		}
	}
	run := newResults()
	for range c.rounds {
		for i, s := range c.suites {
			text, err := s.run(programs[i])
			if err != nil {
				return nil, err
			}
			if err := run.read(text); err != nil {
				return nil, err
			}
		}
		if enough != nil && enough(run) {
			break
		}
	}
	run.about["toolchain"] = toolchain()
	return run, nil
}

// printMachine prints a sentence if the baseline is from another machine.
func (c *check) printMachine(base, run *results) {
	if s := otherMachine(base, run); s != "" {
		fmt.Fprintln(c.out, s)
	}
}

// judge prints how the allocations differ, and returns an error if some are more or a
// benchmark is gone.
func (c *check) judge(base, run *results) error {
	d := compare(base, run)
	d.print(c.out)
	if len(d.more) > 0 || len(d.gone) > 0 {
		return errors.New("FAILED: if that is intended, renew the baseline with make bench-baseline and say why in the commit")
	}
	fmt.Fprintf(c.out, "%d benchmarks allocate no more than in the baseline\n", len(base.order))
	return nil
}
