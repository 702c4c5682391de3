package main

import (
	"fmt"
	"slices"
)

// counts are the sums of a part.
type counts struct {
	files           []int // lines of each
	funcs, nests    []int
	code, comments  int
	cites, words    int
	exported, named int
	testLines       int
	fuzz, bench, ex int
}

// add counts f, which may be nil. test says that it belongs to tests, whatever its name is.
func (c *counts) add(f *file, test bool) {
	switch {
	case f == nil:
	case f.test || test:
		c.testLines += f.lines
		c.fuzz += f.fuzz
		c.bench += f.bench
		c.ex += f.ex
	default:
		c.files = append(c.files, f.lines)
		for _, fn := range f.funcs {
			c.funcs, c.nests = append(c.funcs, fn.lines), append(c.nests, fn.nest)
		}
		c.code += f.code
		c.comments += f.comments
		c.cites += f.cites
		c.words += f.words
		c.exported += f.exported
		c.named += f.named
	}
}

func (c *counts) columns() []string {
	lines := sum(c.files, 0)
	return []string{
		fmt.Sprint(len(c.files)),
		fmt.Sprint(lines),
		spread(c.files),
		percent(sum(c.files, 500), lines) + " / " + percent(sum(c.files, 1000), lines),
		spread(c.funcs),
		fmt.Sprintf("%.1f%%", 100*ratio(above(c.funcs, 50), len(c.funcs))),
		fmt.Sprint(quantile(c.nests, 0.9)),
		percent(c.comments, c.comments+c.code),
		fmt.Sprintf("%.1f", 1000*ratio(c.cites, lines)),
		fmt.Sprintf("%.1f", 1000*ratio(c.words, lines)),
		percent(c.named, c.exported),
		fmt.Sprintf("%.2f", ratio(c.testLines, lines)),
		fmt.Sprintf("%d/%d/%d", c.fuzz, c.bench, c.ex),
	}
}

func spread(n []int) string {
	return fmt.Sprintf("%d/%d/%d", quantile(n, 0.5), quantile(n, 0.9), quantile(n, 1))
}

// quantile returns the value that the share q of n doesn't exceed.
func quantile(n []int, q float64) int {
	if len(n) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(n))
	return s[min(int(q*float64(len(s))), len(s)-1)]
}

// sum adds the numbers above limit.
func sum(n []int, limit int) (total int) {
	for _, v := range n {
		if v > limit {
			total += v
		}
	}
	return total
}

func above(n []int, limit int) (count int) {
	for _, v := range n {
		if v > limit {
			count++
		}
	}
	return count
}

func ratio(a, b int) float64 { return float64(a) / float64(max(b, 1)) }

func percent(a, b int) string { return fmt.Sprintf("%.0f%%", 100*ratio(a, b)) }
