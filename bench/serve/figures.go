//go:build linux

package main

import (
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// starts is how often a program is started to find out how long that takes.
const starts = 20

// coldStart returns the median of the times from the start of the process to its first
// answer with status 200.
func coldStart(p *program, f *folders) string {
	var times []time.Duration
	for range starts {
		began := time.Now()
		r, err := p.start(f, f.site)
		if err != nil {
			return "doesn't start"
		}
		ok := r.get("/plain.txt").is(plain)
		took := time.Since(began)
		r.stop()
		if !ok {
			return "no answer"
		}
		times = append(times, took)
	}
	return fmt.Sprintf("%d ms", median(times).Milliseconds())
}

func median[T ~int64 | ~float64](all []T) T {
	slices.Sort(all)
	return all[len(all)/2]
}

// What memory is measured with.
const (
	memoryRequests = 10_000
	memoryConns    = 8
	memoryTime     = 60 * time.Second
	memoryRest     = 5 * time.Second // then the programs have nothing to do
)

// memory returns the resident memory in MB after requests for files of 1 KB to 1 MB and
// a listing of 1,000 names, in all codings, and memoryRest; and how many requests there
// were.
func memory(p *program, f *folders) (mb, n int, err error) {
	r, err := p.start(f, f.load)
	if err != nil {
		return 0, 0, err
	}
	defer r.stop()
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: memoryConns, MaxIdleConnsPerHost: memoryConns, DisableCompression: true}}
	defer client.CloseIdleConnections()
	paths := slices.Concat(slices.Repeat([]string{"/1k.txt"}, 8), slices.Repeat([]string{"/10k.txt"}, 6), slices.Repeat([]string{"/100k.txt"}, 5), []string{"/1m.txt", "/list/"})
	accept := []string{"br", "zstd", "gzip", "identity"}
	deadline := time.Now().Add(memoryTime)
	var next, failed atomic.Int64
	var wg sync.WaitGroup
	for range memoryConns {
		wg.Go(func() {
			for i := next.Add(1); i <= memoryRequests && time.Now().Before(deadline); i = next.Add(1) {
				req, _ := http.NewRequest(http.MethodGet, "http://"+r.addr+paths[i%int64(len(paths))], nil)
				req.Header.Set("Accept-Encoding", accept[i%int64(len(accept))])
				resp, err := client.Do(req)
				if err != nil {
					failed.Add(1)
					continue
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					failed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if n := failed.Load(); n > 0 {
		return 0, 0, fmt.Errorf("%d requests failed", n)
	}
	time.Sleep(memoryRest)
	return r.status("VmRSS") >> 10, int(min(next.Load(), memoryRequests)), nil
}

func askMemory(p *program, f *folders) string {
	mb, n, err := memory(p, f)
	switch {
	case err != nil:
		return err.Error()
	case n < memoryRequests:
		return fmt.Sprintf("%d MB after %d", mb, n)
	}
	return fmt.Sprintf("%d MB", mb)
}

func askSize(p *program, _ *folders) string {
	if n := p.spec.size(p.path); n > 0 {
		return fmt.Sprintf("%.1f MB", float64(n)/1e6) + p.spec.with
	}
	return "part of Python"
}

// Rounds of load. All programs take turns in each.
const (
	rounds    = 5
	roundTime = 2 * time.Second
)

func askSpeed(all []*program, f *folders) []string {
	return compare(all, f, func(l load) float64 { return l.perSecond })
}

func askCPU(all []*program, f *folders) []string {
	return compare(all, f, func(l load) float64 { return l.cpu })
}

// compare returns the medians of what each program has in comparison with the first one
// in the same round.
func compare(all []*program, f *folders, figure func(load) float64) []string {
	loads, err := measure(all, f)
	cells := make([]string, len(all))
	for i := range all {
		if err != nil {
			cells[i] = err.Error()
			continue
		}
		var ratios []float64
		for _, round := range loads {
			if first := figure(round[0]); first > 0 {
				ratios = append(ratios, figure(round[i])/first)
			}
		}
		if len(ratios) == 0 {
			cells[i] = "not measured"
			continue
		}
		cells[i] = strconv.FormatFloat(median(ratios), 'g', 2, 64)
	}
	return cells
}

// load is what a program did in a round.
type load struct {
	perSecond float64
	cpu       float64 // for a request, in seconds
}

var (
	loadsOnce sync.Once
	loads     [][]load // by round and program
	loadsErr  error
)

// measure runs wrk against each program in turns, once for all rows.
func measure(all []*program, f *folders) ([][]load, error) {
	loadsOnce.Do(func() {
		var wrk string
		if wrk, loadsErr = exec.LookPath("wrk"); loadsErr != nil {
			loadsErr = fmt.Errorf("wrk is not installed")
			return
		}
		for range rounds {
			var round []load
			for _, p := range all {
				l, err := measureOne(wrk, p, f)
				if err != nil {
					loadsErr = err
					return
				}
				round = append(round, l)
			}
			loads = append(loads, round)
		}
	})
	return loads, loadsErr
}

var wrkRequests = regexp.MustCompile(`(\d+) requests in`)

func measureOne(wrk string, p *program, f *folders) (load, error) {
	r, err := p.start(f, f.load)
	if err != nil {
		return load{}, err
	}
	defer r.stop()
	before, began := r.cpu(), time.Now()
	out, err := exec.Command(wrk, "-t1", "-c16", "-d"+roundTime.String(), "http://"+r.addr+"/1k.txt").Output()
	if err != nil {
		return load{}, fmt.Errorf("wrk: %w", err)
	}
	cpu, took := r.cpu()-before, time.Since(began)
	m := wrkRequests.FindSubmatch(out)
	if m == nil {
		return load{}, fmt.Errorf("wrk says nothing about requests")
	}
	n, _ := strconv.ParseFloat(string(m[1]), 64)
	if n == 0 {
		return load{}, fmt.Errorf("no requests")
	}
	return load{n / took.Seconds(), cpu.Seconds() / n}, nil
}
