package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// machine are the configuration lines that say where a run was made.
var machine = []string{"goos", "goarch", "cpu", "toolchain"}

// key names a benchmark.
type key struct{ pkg, name string }

func (k key) String() string {
	return strings.TrimPrefix(k.pkg, "github.com/galehttp/gale/") + ": " + k.name
}

// result is one run of a benchmark.
type result struct {
	text   string // iterations, time, bytes and allocations, as they are stored
	allocs float64
}

// results are the runs of benchmarks, in the order in which they came first.
type results struct {
	about map[string]string // by the names in machine
	runs  map[key][]result
	order []key
}

func newResults() *results {
	return &results{about: make(map[string]string), runs: make(map[key][]result)}
}

// load reads a file in Go's format of benchmarks.
func load(file string) (*results, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w: start this in the folder bench/; make bench-baseline makes the file", err)
	}
	r := newResults()
	if err := r.read(text); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(r.order) == 0 {
		return nil, fmt.Errorf("%s has no benchmarks: make bench-baseline makes the file", file)
	}
	return r, nil
}

// read adds what a run printed. Lines that are neither results nor about the run are
// skipped.
func (r *results) read(text []byte) error {
	pkg := ""
	in := bufio.NewScanner(bytes.NewReader(text))
	for in.Scan() {
		line := in.Text()
		if name, value, ok := strings.Cut(line, ": "); ok {
			switch {
			case name == "pkg":
				pkg = value
			case slices.Contains(machine, name):
				r.about[name] = value
			}
		}
		if err := r.readResult(pkg, line); err != nil {
			return fmt.Errorf("%w in %q", err, line)
		}
	}
	return in.Err()
}

// readResult adds a line such as
//
//	BenchmarkServer/perconn=2/impl=gale  20000  210.5 ns/op  98.2 MB/s  0 B/op  0 allocs/op
func (r *results) readResult(pkg, line string) error {
	f := strings.Fields(line)
	if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
		return nil
	}
	res := result{text: f[1], allocs: -1}
	for i := 2; i+1 < len(f); i += 2 {
		switch f[i+1] {
		case "allocs/op":
			v, err := strconv.ParseFloat(f[i], 64)
			if err != nil {
				return err
			}
			res.allocs = v
		case "ns/op", "B/op":
		default:
			continue
		}
		res.text += "\t" + f[i] + " " + f[i+1]
	}
	if res.allocs < 0 {
		return nil
	}
	k := key{pkg, strings.TrimPrefix(f[0], "Benchmark")}
	if r.runs[k] == nil {
		r.order = append(r.order, k)
	}
	r.runs[k] = append(r.runs[k], res)
	return nil
}

// save writes a file that load and benchstat read.
func (r *results) save(file string) error {
	var b bytes.Buffer
	for _, name := range machine {
		fmt.Fprintf(&b, "%s: %s\n", name, r.about[name])
	}
	pkg := ""
	for _, k := range r.order {
		if k.pkg != pkg {
			pkg = k.pkg
			fmt.Fprintf(&b, "pkg: %s\n", pkg)
		}
		for _, run := range r.runs[k] {
			fmt.Fprintf(&b, "Benchmark%s\t%s\n", k.name, run.text)
		}
	}
	return os.WriteFile(file, b.Bytes(), 0o666)
}

// fewest and most return the allocations of the runs of a benchmark.
func (r *results) fewest(k key) float64 { return slices.MinFunc(r.runs[k], byAllocs).allocs }
func (r *results) most(k key) float64   { return slices.MaxFunc(r.runs[k], byAllocs).allocs }

func byAllocs(a, b result) int {
	switch {
	case a.allocs < b.allocs:
		return -1
	case a.allocs > b.allocs:
		return 1
	}
	return 0
}
