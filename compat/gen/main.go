// Command gen writes the module compat/fasthttp: for each package of Gale that
// has a counterpart in fasthttp, a package of fasthttp's name whose exported
// names are those of Gale.
//
//	go generate ./compat/gen
//
// It reads nothing but Gale's own sources. Types become aliases, constants
// constants, functions calls that the compiler inlines, and variables second
// names of the same memory. All systems of the list below are looked at: what
// only some of them have goes into files with the build constraints that it has
// in Gale.
package main

//go:generate go run . -o ../fasthttp
//go:generate go -C ../fasthttp mod tidy

import (
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
)

const (
	gale     = "github.com/galehttp/gale"
	fasthttp = "github.com/valyala/fasthttp"
)

// packages has for each package of fasthttp, by its path in the module, that
// of Gale.
var packages = []struct{ fasthttp, gale string }{
	{"", ""},
	{"expvarhandler", "expvarhandler"},
	{"fasthttpadaptor", "adaptor"},
	{"fasthttpproxy", "proxy"},
	{"fasthttputil", "galeutil"},
	{"pprofhandler", "pprofhandler"},
	{"prefork", "prefork"},
	{"reuseport", "reuseport"},
	{"stackless", "stackless"},
	{"tcplisten", "tcplisten"},
}

// targets are the systems that are looked at: each that Gale has code of its
// own for, and both sizes of words.
var targets = []target{
	{"linux", "amd64"},
	{"linux", "386"},
	{"linux", "arm64"},
	{"darwin", "arm64"},
	{"freebsd", "amd64"},
	{"openbsd", "amd64"},
	{"windows", "amd64"},
}

func main() {
	out := flag.String("o", "", "directory of the module that is written")
	dir := flag.String("C", "../..", "directory of Gale")
	flag.Parse()
	if *out == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := generate(*dir, *out); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// generate writes all packages that Gale has.
func generate(dir, out string) error {
	views := make([]*view, len(targets))
	errs := make([]error, len(targets))
	var wg sync.WaitGroup
	for i, t := range targets {
		wg.Go(func() { views[i], errs[i] = look(dir, t) })
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("%s/%s: %w", targets[i].os, targets[i].arch, err)
		}
	}
	for _, p := range packages {
		m, err := merge(path.Join(gale, p.gale), path.Join(fasthttp, p.fasthttp), views)
		if err != nil {
			return err
		}
		if err := m.write(filepath.Join(out, filepath.FromSlash(p.fasthttp))); err != nil {
			return err
		}
	}
	return nil
}

// counterpart returns the path of the package of fasthttp for one of Gale.
func counterpart(galePath string) (string, bool) {
	rel, ok := strings.CutPrefix(galePath+"/", gale+"/")
	if !ok {
		return "", false
	}
	for _, p := range packages {
		if strings.TrimSuffix(rel, "/") == p.gale {
			return path.Join(fasthttp, p.fasthttp), true
		}
	}
	return "", false
}
