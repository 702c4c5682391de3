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
		{name: "wrk", read: readText(`(\d+) requests in ([\d.]+)s`), args: func(l load) []string {
			return []string{"wrk", "-t", "1", "-c", strconv.Itoa(l.conns), "-d", strconv.Itoa(max(1, int(l.time.Seconds()))), l.url}
		}},
		{name: "oha", read: readText(`\[200\] (\d+) responses`, `Total:\s+([\d.]+) sec`), args: func(l load) []string {
			return []string{"oha", "--no-tui", "-c", strconv.Itoa(l.conns), "-z", l.time.String(), l.url}
		}},
		{name: "hey", read: readText(`\[200\]\s+(\d+) responses`, `Total:\s+([\d.]+) secs`), args: func(l load) []string {
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

// readText finds a number of requests and of seconds in what a program printed.
func readText(patterns ...string) func(string) (float64, float64, error) {
	return func(out string) (float64, float64, error) {
		var found []float64
		for _, p := range patterns {
			m := regexp.MustCompile(p).FindStringSubmatch(out)
			for _, text := range m[min(1, len(m)):] {
				n, err := strconv.ParseFloat(text, 64)
				if err != nil {
					return 0, 0, err
				}
				found = append(found, n)
			}
		}
		if len(found) != 2 {
			return 0, 0, fmt.Errorf("its output has no number of requests and seconds: %q", out)
		}
		return found[0], found[1], nil
	}
}
