package main

import (
	"bufio"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// result is one run of a benchmark.
type result struct{ ns, allocs float64 }

// bench holds the runs of one benchmark, by implementation.
type bench struct {
	runs  map[string][]result
	order []string
}

// set holds all benchmarks in the order of the input.
type set struct {
	benches map[key]*bench
	order   []key
}

// parse reads result lines and skips all others; failed tells of a failed run.
func parse(in *bufio.Scanner) (s *set, failed bool, err error) {
	s = &set{benches: make(map[key]*bench)}
	for in.Scan() {
		line := in.Text()
		if strings.HasPrefix(line, "FAIL") || strings.HasPrefix(line, "--- FAIL") || strings.HasPrefix(line, "panic:") {
			failed = true
		}
		if k, impl, r, ok := parseLine(line); ok {
			s.add(k, impl, r)
		}
	}
	return s, failed, in.Err()
}

// parseLine parses a line such as
//
//	BenchmarkServer/perconn=2/impl=gale-2  100  210.5 ns/op  0 B/op  0 allocs/op
func parseLine(line string) (k key, impl string, r result, ok bool) {
	f := strings.Fields(line)
	if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
		return k, "", r, false
	}
	name, procs := strings.TrimPrefix(f[0], "Benchmark"), "1"
	if i := strings.LastIndexByte(name, '-'); i >= 0 {
		if _, err := strconv.Atoi(name[i+1:]); err == nil {
			name, procs = name[:i], name[i+1:]
		}
	}
	var kept []string
	for part := range strings.SplitSeq(name, "/") {
		if v, found := strings.CutPrefix(part, "impl="); found {
			impl = v
			continue
		}
		kept = append(kept, part)
	}
	for i := 2; i+1 < len(f); i += 2 {
		v, err := strconv.ParseFloat(f[i], 64)
		switch {
		case err != nil:
			return k, "", r, false
		case f[i+1] == "ns/op":
			r.ns = v
		case f[i+1] == "allocs/op":
			r.allocs = v
		}
	}
	return key{strings.Join(kept, "/"), procs}, impl, r, impl != ""
}

func (s *set) add(k key, impl string, r result) {
	b := s.benches[k]
	if b == nil {
		b = &bench{runs: make(map[string][]result)}
		s.benches[k] = b
		s.order = append(s.order, k)
	}
	if b.runs[impl] == nil {
		b.order = append(b.order, impl)
	}
	b.runs[impl] = append(b.runs[impl], r)
}

// median returns the median of an implementation's runs, of each figure by
// itself.
func (b *bench) median(impl string) (result, bool) {
	runs := b.runs[impl]
	if len(runs) == 0 {
		return result{}, false
	}
	return result{
		ns:     medianOf(runs, func(r result) float64 { return r.ns }),
		allocs: medianOf(runs, func(r result) float64 { return r.allocs }),
	}, true
}

func medianOf(runs []result, figure func(result) float64) float64 {
	v := make([]float64, len(runs))
	for i, r := range runs {
		v[i] = figure(r)
	}
	return sortedMedian(v)
}

// sortedMedian sorts v and returns its median.
func sortedMedian(v []float64) float64 {
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// ratio returns how many times faster impl was than a peer: the median of all
// runs, and the lowest and the highest if there are several.
func (b *bench) ratio(impl, peer string) string {
	ours, theirs := b.runs[impl], b.runs[peer]
	n := min(len(ours), len(theirs))
	if n == 0 {
		return "-"
	}
	ratios := make([]float64, n)
	for i := range ratios {
		if ours[i].ns <= 0 {
			return "-"
		}
		ratios[i] = theirs[i].ns / ours[i].ns
	}
	median := sortedMedian(ratios)
	if n == 1 {
		return fmt.Sprintf("%.2f", median)
	}
	return fmt.Sprintf("%.2f (%.2f to %.2f)", median, ratios[0], ratios[n-1])
}

// variants returns the implementations beside the three that have columns.
func (b *bench) variants() []string {
	var v []string
	for _, impl := range b.order {
		if impl != "gale" && impl != "fasthttp" && impl != "nethttp" && impl != "reset" {
			v = append(v, impl)
		}
	}
	return v
}

// subtractReset takes the cost of filling a reader off those who read from one:
// all but impl=gale.
func (s *set) subtractReset() {
	for _, b := range s.benches {
		reset, ok := b.median("reset")
		if !ok {
			continue
		}
		for impl, runs := range b.runs {
			if impl == "gale" || impl == "reset" {
				continue
			}
			for i := range runs {
				runs[i].ns -= reset.ns
			}
		}
	}
}
