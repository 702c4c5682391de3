//go:build linux

// Generators compares load generators: how many requests each makes of one server in a
// closed loop, with one thread, and the CPU time of its own that a request costs.
//
//	cd bench && go run ./generators [-conns 64,512] [-rounds 7]
//	cd bench && go run ./generators -open -conns 64
//
// It runs gale bench and those of wrk, oha and hey that are installed, in turns. The server
// is Gale on CPU 0, the generators run on CPU 1. The second line sends 50,000 requests a
// second by gale bench and says how late they were.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

type options struct {
	conns  string
	rounds int
	round  time.Duration
	open   bool
}

func main() {
	log.SetFlags(0)
	var o options
	flag.StringVar(&o.conns, "conns", "64,512", "use these `numbers` of connections")
	flag.IntVar(&o.rounds, "rounds", 7, "run each generator `N` times")
	flag.DurationVar(&o.round, "round", 2*time.Second, "for how long each time")
	flag.BoolVar(&o.open, "open", false, "send at a fixed rate, by gale bench alone")
	flag.Parse()
	if flag.NArg() > 0 || o.rounds < 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := compare(o); err != nil {
		log.Fatal("generators: ", err)
	}
}

func compare(o options) error {
	dir, err := os.MkdirTemp("", "gale-generators")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	gale, hello := filepath.Join(dir, "gale"), filepath.Join(dir, "hello")
	for bin, pkg := range map[string]string{gale: "cmd/gale", hello: "tests/hello"} {
		cmd := exec.Command("go", "build", "-o", bin, "./"+pkg)
		cmd.Dir = ".." // of this module
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
		}
	}
	addr, stop, err := startServer(hello)
	if err != nil {
		return err
	}
	defer stop()
	for _, conns := range strings.Split(o.conns, ",") {
		n, err := strconv.Atoi(conns)
		if err != nil || n < 1 {
			return fmt.Errorf("-conns %s: want numbers of connections, such as 64,512", o.conns)
		}
		l := load{url: "http://" + addr + "/", conns: n, time: o.round}
		if o.open {
			err = openLoop(gale, dir, l, o.rounds)
		} else {
			err = closedLoop(gale, dir, l, o.rounds)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// startServer runs the server on CPU 0.
func startServer(bin string) (addr string, stop func(), err error) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	addr = ln.Addr().String()
	ln.Close()
	cmd := exec.Command("taskset", "-c", "0", bin, "-addr", addr, "-engine", "event")
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	for range 100 {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			return addr, stop, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	stop()
	return "", nil, fmt.Errorf("the server doesn't listen on %s", addr)
}

func closedLoop(gale, dir string, l load, rounds int) error {
	all := generators(gale, dir)
	for range rounds {
		for _, g := range all {
			if err := g.measure(l); err != nil {
				return fmt.Errorf("%s: %w", g.name, err)
			}
		}
	}
	fmt.Printf("%d connections, medians of %d rounds of %v\n\n", l.conns, rounds, l.time)
	fmt.Println("| generator | requests/s | gale bench makes | CPU per request | of gale bench's |\n|---|---:|---:|---:|---:|")
	first := all[0]
	for _, g := range all {
		fmt.Printf("| %s | %.0f | %s | %.2f us | %s |\n", g.name, median(g.rates), ratio(first.rates, g.rates, "x"),
			median(g.costs), ratio(g.costs, first.costs, "x"))
	}
	fmt.Println()
	return nil
}

// measure runs g once, on CPU 1.
func (g *generator) measure(l load) error {
	ctx, cancel := context.WithTimeout(context.Background(), l.time+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "taskset", append([]string{"-c", "1"}, g.args(l)...)...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && g.mayFail) {
		return err
	}
	requests, seconds, err := g.read(string(out))
	if err != nil {
		return err
	}
	if requests == 0 {
		return errors.New("no request was answered")
	}
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	g.rates = append(g.rates, requests/seconds)
	g.costs = append(g.costs, used.Seconds()*1e6/requests)
	return nil
}

func openLoop(gale, dir string, l load, rounds int) error {
	fmt.Printf("50,000 a second over %d connections, %d rounds of %v: sent of intended, late at p50, p99\n\n", l.conns, rounds, l.time)
	var p99 []float64
	for range rounds {
		doc := filepath.Join(dir, "run.json")
		cmd := exec.Command("taskset", "-c", "1", gale, "bench", "-q", "-t", "1", "-c", strconv.Itoa(l.conns), "-d", l.time.String(), "--rate", "50000", "--json", doc, l.url)
		var exit *exec.ExitError
		if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
			return err
		}
		r, err := readRun(doc)
		if err != nil {
			return err
		}
		s := r.Schedule
		fmt.Printf("%.5f  %6.1f us  %6.1f us\n", s.RateRatio, s.Late.P50NS/1e3, s.Late.P99NS/1e3)
		p99 = append(p99, s.Late.P99NS/1e3)
	}
	fmt.Printf("\nmedian of p99: %.1f us\n\n", median(p99))
	return nil
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

// ratio tells how a compares with b: the median of the rounds' ratios, and their range.
func ratio(a, b []float64, unit string) string {
	var r []float64
	for i := range a {
		r = append(r, a[i]/b[i])
	}
	slices.Sort(r)
	return fmt.Sprintf("%.2f%s (%.2f to %.2f)", r[len(r)/2], unit, r[0], r[len(r)-1])
}
