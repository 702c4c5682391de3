package main

import (
	"fmt"
	"io"
	"strings"
)

// tolerance is by what share allocations may grow. Go rounds them down to whole numbers,
// so fewer than 100 may not grow at all.
const tolerance = 0.01

// change is a benchmark whose allocations differ.
type change struct {
	key
	was, is float64
}

// difference is how the allocations of a run differ from the baseline's.
type difference struct {
	more, fewer []change
	gone, added []key
}

// compare compares the fewest allocations of the new runs with the most in the baseline:
// an allocation that every run has is found, one by chance is not.
func compare(base, run *results) difference {
	var d difference
	for _, k := range base.order {
		if run.runs[k] == nil {
			d.gone = append(d.gone, k)
			continue
		}
		if was, is := base.most(k), run.fewest(k); is > was*(1+tolerance) {
			d.more = append(d.more, change{k, was, is})
		}
		if was, is := base.fewest(k), run.most(k); is < was*(1-tolerance) {
			d.fewer = append(d.fewer, change{k, was, is})
		}
	}
	for _, k := range run.order {
		if base.runs[k] == nil {
			d.added = append(d.added, k)
		}
	}
	return d
}

func (d difference) print(w io.Writer) {
	printChanges(w, "Fewer allocations than in the baseline (make bench-baseline stores them):", d.fewer)
	printKeys(w, "Not in the baseline (make bench-baseline adds them):", d.added)
	printKeys(w, "GONE, but in the baseline:", d.gone)
	printChanges(w, "MORE allocations than in the baseline:", d.more)
}

func printChanges(w io.Writer, title string, changes []change) {
	if len(changes) == 0 {
		return
	}
	fmt.Fprintln(w, title)
	for _, c := range changes {
		fmt.Fprintf(w, "  %v: %g allocs/op, in the baseline %g\n", c.key, c.is, c.was)
	}
}

func printKeys(w io.Writer, title string, keys []key) {
	if len(keys) == 0 {
		return
	}
	fmt.Fprintln(w, title)
	for _, k := range keys {
		fmt.Fprintf(w, "  %v\n", k)
	}
}

// otherMachine returns a sentence if the baseline was not made by a machine like this one,
// else "".
func otherMachine(base, run *results) string {
	var differ []string
	for _, name := range machine {
		if was, is := base.about[name], run.about[name]; was != is {
			differ = append(differ, fmt.Sprintf("%s was %q and is %q", name, was, is))
		}
	}
	if len(differ) == 0 {
		return ""
	}
	return "The baseline is from another machine or version of Go, so times can't be compared: " + strings.Join(differ, ", ") + "."
}
