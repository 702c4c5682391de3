// Command instrument writes copies of this module's sources that count their steps (see
// tests/steps/count), and an overlay that makes the go command use them instead of the
// sources:
//
//	go run ./tests/steps/instrument DIR
//	go test -overlay DIR/overlay.json -tags galesteps -vet off ./tests/steps
//
// It finds by types what it must rewrite: every function and loop; every built-in
// function, operator and conversion whose time depends on the length of its operands; and
// every call of a function that isn't rewritten itself, such as those of the standard
// library. New code needs no calls of package count. Line numbers don't change.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/galehttp/gale/tests/overlay"
)

const (
	module = overlay.Module
	own    = module + "/tests/steps"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: instrument DIR")
		os.Exit(2)
	}
	spec := overlay.Spec{
		Roots:    []string{module, module + "/adaptor", module + "/galeutil", module + "/galetest", module + "/proxy"},
		Rewrites: isOwn,
	}
	err := overlay.Write(spec, os.Args[1], func(f *overlay.File) {
		r := &rewriter{File: f, replaced: map[string]string{}}
		r.rewrite()
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "instrument:", err)
		os.Exit(1)
	}
}

// isOwn reports whether a package is rewritten.
func isOwn(path string) bool {
	return (path == module || strings.HasPrefix(path, module+"/")) && !strings.HasPrefix(path, own)
}
