package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheck measures a module of its own before and after changes.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	benchmarks := func(one, other string) {
		write("x_test.go", `package x
import "testing"
var sink any
func BenchmarkOne(b *testing.B) {
	b.Run("impl=fasthttp", func(b *testing.B) { b.Fatal("measured") })
	b.Run("impl=gale", func(b *testing.B) {
		for b.Loop() {
			`+one+`
		}
	})
	b.Run("n=1/impl=gale-reader", func(b *testing.B) { for b.Loop() { } })
	b.Run("n=2/impl=gale", func(b *testing.B) { b.Fatal("measured") })
	b.Run("n=1/impl=reset", func(b *testing.B) { b.Fatal("measured") })
}
func Benchmark`+other+`(b *testing.B) { for b.Loop() { sink = new([10]int) } }
`)
	}
	write("go.mod", "module example.com/x\n\ngo 1.26.0\n")
	var out strings.Builder
	c := &check{suites: []suite{{dir: dir, bench: ".", skip: "^BenchmarkOne$/^n=2$|" + peers}}, baseline: filepath.Join(dir, "baseline.txt"), rounds: 2, out: &out}
	if err := c.allocs(); err == nil || !strings.Contains(err.Error(), "make bench-baseline") {
		t.Fatal("without a baseline:", err)
	}
	benchmarks("", "Two")
	if err := c.write(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, one, other string
		fails            bool
		want             string // a line
	}{
		{"the same", "", "Two", false, "3 benchmarks allocate no more than in the baseline"},
		{"an allocation", "sink = new([10]int)", "Two", true, "  example.com/x: One/impl=gale: 1 allocs/op, in the baseline 0"},
		{"another name: gone", "", "Three", true, "GONE, but in the baseline:\n  example.com/x: Two"},
		{"another name: added", "", "Three", true, "Not in the baseline (make bench-baseline adds them):\n  example.com/x: Three"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out.Reset()
			benchmarks(tt.one, tt.other)
			if err := c.allocs(); (err != nil) != tt.fails {
				t.Error("the error is", err)
			}
			if !strings.Contains(out.String(), tt.want+"\n") {
				t.Errorf("%q is missing in\n%s", tt.want, out.String())
			}
		})
	}
	benchmarks("b.Fatal(7)", "Two")
	if err := c.allocs(); err == nil || !strings.Contains(err.Error(), "x_test.go") {
		t.Error("a benchmark that fails:", err)
	}
	benchmarks("}", "Two")
	if err := c.allocs(); err == nil || !strings.Contains(err.Error(), "compiling") {
		t.Error("benchmarks that don't compile:", err)
	}
}
