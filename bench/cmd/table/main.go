// Table reads the output of go test -bench on standard input and prints, for
// each benchmark, what gale, fasthttp and net/http took and how many times
// faster gale was.
//
// Of several runs the medians are printed; a ratio is the median of the ratios
// of each run, followed by the lowest and the highest one. With -md the ratios
// are printed as a table in Markdown. Where a benchmark has a part
// named impl=reset, that is what filling a reader costs; it is taken off the
// others that read from one. For benchmarks with extra=0 and extra=4 a second
// table shows what the fields added.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"text/tabwriter"
)

func main() {
	log.SetFlags(0)
	echo := flag.Bool("v", false, "print the lines that are read, too")
	markdown := flag.Bool("md", false, "print a table in Markdown, of the ratios alone")
	flag.Parse()
	var in io.Reader = os.Stdin
	if *echo {
		in = io.TeeReader(in, os.Stderr)
	}
	set, failed, err := parse(bufio.NewScanner(in))
	if err != nil {
		log.Fatal(err)
	}
	if len(set.order) == 0 {
		log.Fatal("no benchmarks in the input")
	}
	set.subtractReset()
	if *markdown {
		set.printMarkdown(os.Stdout)
	} else {
		set.printTimes(os.Stdout)
		set.printAdded(os.Stdout)
	}
	if failed {
		log.Fatal("the run FAILED")
	}
}

// key names a benchmark: without its impl= part, with its GOMAXPROCS.
type key struct{ name, procs string }

// printTimes prints one row per benchmark.
func (s *set) printTimes(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "benchmark\tprocs\tgale\tallocs\tfasthttp\tallocs\tgale is\tnet/http\tallocs\tgale is\t")
	for _, k := range s.order {
		b := s.benches[k]
		gale, ok := b.median("gale")
		if !ok {
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t", k.name, k.procs, gale)
		fmt.Fprintf(w, "%s%s\n", b.against("gale", "fasthttp"), b.against("gale", "nethttp"))
		for _, impl := range b.variants() {
			v, _ := b.median(impl)
			fmt.Fprintf(w, "%s (%s)\t%s\t%s\t", k.name, impl, k.procs, v)
			fmt.Fprintf(w, "%s%s\n", b.against(impl, "fasthttp"), b.against(impl, "nethttp"))
		}
	}
	w.Flush()
}

// printMarkdown prints one row per benchmark: how many times faster gale was.
func (s *set) printMarkdown(out io.Writer) {
	fmt.Fprintln(out, "| benchmark | GOMAXPROCS | fasthttp | net/http |")
	fmt.Fprintln(out, "| --- | --- | --- | --- |")
	for _, k := range s.order {
		b := s.benches[k]
		if _, ok := b.median("gale"); ok {
			fmt.Fprintf(out, "| `%s` | %s | %s | %s |\n", k.name, k.procs, b.ratio("gale", "fasthttp"), b.ratio("gale", "nethttp"))
		}
	}
}

// against returns the cells of a peer, beside those of impl.
func (b *bench) against(impl, peer string) string {
	p, ok := b.median(peer)
	if !ok {
		return "-\t-\t-\t"
	}
	return fmt.Sprintf("%s\t%s\t", p, b.ratio(impl, peer))
}

// String returns the cells of a result.
func (r result) String() string { return fmt.Sprintf("%.1f ns\t%.0f", r.ns, r.allocs) }

// printAdded prints what four more fields cost, on gale and on fasthttp.
func (s *set) printAdded(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	title := "\nadded by more fields\tprocs\tgale\tfasthttp\tgale's share\t"
	for _, k := range s.order {
		if !strings.Contains(k.name, "extra=4") {
			continue
		}
		plain, _, _ := strings.Cut(k.name, "extra=4")
		base, ok := s.benches[key{plain + "extra=0", k.procs}]
		if !ok {
			continue
		}
		gale, ok1 := added(base, s.benches[k], "gale")
		peer, ok2 := added(base, s.benches[k], "fasthttp")
		if !ok1 || !ok2 {
			continue
		}
		if title != "" {
			fmt.Fprintln(w, title)
			title = ""
		}
		fmt.Fprintf(w, "%s\t%s\t%.1f ns\t%.1f ns\t%.0f %%\t\n", k.name, k.procs, gale, peer, 100*gale/peer)
	}
	w.Flush()
}

func added(base, more *bench, impl string) (float64, bool) {
	a, ok1 := base.median(impl)
	b, ok2 := more.median(impl)
	return b.ns - a.ns, ok1 && ok2
}
