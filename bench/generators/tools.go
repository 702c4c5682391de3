//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// load is what a generator is asked for.
type load struct {
	url   string
	conns int
	time  time.Duration
}

// generator is a program under measurement, and what it has shown so far.
type generator struct {
	name    string
	args    func(load) []string
	read    func(out string) (requests, seconds float64, err error)
	mayFail bool // its exit code is a verdict

	rates, costs []float64
}

// generators returns gale bench and the others that are installed.
func generators(gale, dir string) []*generator {
	doc := filepath.Join(dir, "run.json")
	all := []*generator{{
		name: "gale bench",
		args: func(l load) []string {
			return []string{gale, "bench", "-q", "-t", "1", "-c", strconv.Itoa(l.conns), "-d", l.time.String(), "--json", doc, l.url}
		},
		read: func(string) (float64, float64, error) {
			r, err := readRun(doc)
			if err != nil {
				return 0, 0, err
			}
			return float64(r.Requests.Good), r.Seconds, nil
		},
		mayFail: true,
	}}
	for _, g := range []*generator{
		{name: "wrk", read: readText(`(\d+) requests in`), args: func(l load) []string {
			return []string{"wrk", "-t", "1", "-c", strconv.Itoa(l.conns), "-d", strconv.Itoa(max(1, int(l.time.Seconds()))), l.url}
		}},
		{name: "oha", read: readText(`\[200\] (\d+) responses`), args: func(l load) []string {
			return []string{"oha", "--no-tui", "-c", strconv.Itoa(l.conns), "-z", l.time.String(), l.url}
		}},
		{name: "hey", read: readText(`\[200\]\s+(\d+) responses`), args: func(l load) []string {
			return []string{"hey", "-cpus", "1", "-c", strconv.Itoa(l.conns), "-z", l.time.String(), l.url}
		}},
	} {
		if _, err := exec.LookPath(g.name); err == nil {
			all = append(all, g)
		}
	}
	return all
}

// run is what is needed of the document of gale bench.
type run struct {
	Seconds  float64
	Requests struct{ Good int64 }
	Schedule struct {
		RateRatio float64 `json:"rate_ratio"`
		Late      struct {
			P50NS float64 `json:"p50_ns"`
			P99NS float64 `json:"p99_ns"`
		}
	}
}

func readRun(file string) (r run, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(text, &r)
}

var perSecond = regexp.MustCompile(`Requests/sec:\s+([\d.]+)`)

// readText finds a number of requests, by pattern, and the rate in what a program printed.
func readText(pattern string) func(string) (requests, seconds float64, err error) {
	return func(out string) (requests, seconds float64, err error) {
		var found [2]float64
		for i, p := range []*regexp.Regexp{regexp.MustCompile(pattern), perSecond} {
			m := p.FindStringSubmatch(out)
			if m == nil {
				return 0, 0, fmt.Errorf("its output has nothing like %s: %q", p, out)
			}
			if found[i], err = strconv.ParseFloat(m[1], 64); err != nil {
				return 0, 0, err
			}
		}
		return found[0], found[0] / found[1], nil
	}
}
