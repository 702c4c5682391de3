package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// parsed returns the results of a package with the benchmark A, whose runs have these
// allocations.
func parsed(t *testing.T, allocs ...int) *results {
	t.Helper()
	var b strings.Builder
	b.WriteString("goos: linux\ngoarch: amd64\npkg: github.com/galehttp/gale/bench\ncpu: AMD EPYC\n")
	for _, n := range allocs {
		fmt.Fprintf(&b, "BenchmarkA/impl=gale  \t  20000\t  210.5 ns/op\t 98.20 MB/s\t  7.000 cpu-ns/op\t  16 B/op\t  %d allocs/op\nPASS\n", n)
	}
	r := newResults()
	if err := r.read([]byte(b.String())); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCompare(t *testing.T) {
	for _, tt := range []struct {
		base, now []int
		more      bool
		fewer     bool
	}{
		{base: []int{0}, now: []int{0}},
		{base: []int{0}, now: []int{1}, more: true},
		{base: []int{0, 0, 0}, now: []int{1, 2, 0}}, // not in all runs
		{base: []int{0, 1, 0}, now: []int{1, 1}},    // the baseline varies, too
		{base: []int{0, 1, 0}, now: []int{2, 2}, more: true},
		{base: []int{99}, now: []int{100}, more: true},
		{base: []int{100}, now: []int{101}},
		{base: []int{100}, now: []int{102}, more: true},
		{base: []int{10_000}, now: []int{10_100}},
		{base: []int{10_000}, now: []int{10_101}, more: true},
		{base: []int{2, 2}, now: []int{1, 1}, fewer: true},
		{base: []int{2, 2}, now: []int{1, 2}},
	} {
		d := compare(parsed(t, tt.base...), parsed(t, tt.now...))
		if len(d.more) > 0 != tt.more || len(d.fewer) > 0 != tt.fewer || d.gone != nil || d.added != nil {
			t.Errorf("%v, then %v: %+v", tt.base, tt.now, d)
		}
	}
}

func TestGoneAndAdded(t *testing.T) {
	k := key{"github.com/galehttp/gale/bench", "A/impl=gale"}
	if d := compare(parsed(t, 0), parsed(t)); !slices.Equal(d.gone, []key{k}) {
		t.Errorf("%+v", d)
	}
	if d := compare(parsed(t), parsed(t, 1)); !slices.Equal(d.added, []key{k}) || d.more != nil {
		t.Errorf("%+v", d)
	}
}

func TestSave(t *testing.T) {
	file := filepath.Join(t.TempDir(), "baseline.txt")
	run := parsed(t, 1, 2)
	if err := run.save(file); err != nil {
		t.Fatal(err)
	}
	got, err := load(file)
	if err != nil {
		t.Fatal(err)
	}
	k := run.order[0]
	if !slices.Equal(got.order, run.order) || !slices.Equal(got.runs[k], run.runs[k]) {
		t.Errorf("%+v, want %+v", got, run)
	}
	if got.runs[k][1].text != "20000\t210.5 ns/op\t16 B/op\t2 allocs/op" || got.about["cpu"] != "AMD EPYC" {
		t.Errorf("%+v", got)
	}
}

func TestOtherMachine(t *testing.T) {
	base, run := parsed(t, 0), parsed(t, 0)
	if s := otherMachine(base, run); s != "" {
		t.Error(s)
	}
	run.about["cpu"] = "another"
	if s := otherMachine(base, run); !strings.HasSuffix(s, `: cpu was "AMD EPYC" and is "another".`) {
		t.Error(s)
	}
}

func TestSignificant(t *testing.T) {
	const table = `pkg: example.com/a
                │ baseline │             now              │
                │  sec/op  │   sec/op     vs base         │
A/impl=gale       2.0µ ± 1%   2.1µ ± 1%  ~ (p=0.700 n=6)
geomean           2.0µ        2.1µ       +5.00%

pkg: example.com/b
                │ baseline │             now              │
B/impl=gale       2.0µ ± 1%   3.0µ ± 1%  +50.00% (p=0.002 n=6)
C/impl=gale       2.0µ ± 1%   2.0µ ± 1%  ~ (p=0.700 n=6)
D/impl=gale       2.0µ ± 1%   1.0µ ± 1%  -50.00% (p=0.002 n=6)
`
	const want = `pkg: example.com/b
                │ baseline │             now              │
B/impl=gale       2.0µ ± 1%   3.0µ ± 1%  +50.00% (p=0.002 n=6)
D/impl=gale       2.0µ ± 1%   1.0µ ± 1%  -50.00% (p=0.002 n=6)
`
	if got := significant(table); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
