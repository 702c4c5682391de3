package main

import (
	"bufio"
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Contention is how often goroutines waited at a place, by the profiles of the runtime.
type Contention struct {
	// Where is the innermost function that isn't of package sync or of the runtime. Kind
	// is "mutex" for locks, counted when they are released, and "block" for all waits.
	Where, Kind string
	Count       int64
}

// contentions returns what the profiles say so far.
func contentions() map[string]Contention {
	all := map[string]Contention{}
	for kind, profile := range map[string]func([]runtime.BlockProfileRecord) (int, bool){"mutex": runtime.MutexProfile, "block": runtime.BlockProfile} {
		n, _ := profile(nil)
		records := make([]runtime.BlockProfileRecord, n+100)
		n, ok := profile(records)
		if !ok {
			continue
		}
		for _, r := range records[:n] {
			where := place(r.Stack())
			c := all[kind+where]
			all[kind+where] = Contention{where, kind, c.Count + r.Count}
		}
	}
	return all
}

// place returns the innermost function of a stack that says something.
func place(stack []uintptr) string {
	frames := runtime.CallersFrames(stack)
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "sync.") && !strings.HasPrefix(f.Function, "runtime.") && !strings.HasPrefix(f.Function, "internal/") || !more {
			return f.Function + " (" + filepath.Base(f.File) + ":" + strconv.Itoa(f.Line) + ")"
		}
	}
}

// since returns the difference of two results of contentions, the largest first.
func since(before, now map[string]Contention) (all []Contention) {
	for k, c := range now {
		if c.Count -= before[k].Count; c.Count > 0 {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b Contention) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Where, b.Where))
	})
	return all[:min(len(all), 12)]
}

// switches sums what Linux says about the threads of the process. Other systems have no
// such files, and the result is empty. Threads that have ended aren't counted.
func switches() map[string]int64 {
	sums := map[string]int64{}
	for name, keys := range map[string][]string{
		"status": {"voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"},
		"sched":  {"se.nr_migrations"},
	} {
		files, _ := filepath.Glob("/proc/self/task/*/" + name)
		for _, file := range files {
			f, err := os.Open(file)
			if err != nil {
				continue
			}
			for in := bufio.NewScanner(f); in.Scan(); {
				k, v, _ := strings.Cut(in.Text(), ":")
				if k = strings.TrimSpace(k); slices.Contains(keys, k) {
					n, _ := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
					sums[k] += n
				}
			}
			f.Close()
		}
	}
	return sums
}
