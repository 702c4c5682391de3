// Package sites writes copies of the library's sources that count which words they write and
// read (see lab/scale/count), and an overlay that makes the go command use them instead of
// the sources.
//
// It finds by types what it must rewrite: methods of sync/atomic and sync, functions of
// sync/atomic, operations on channels, timers and, if asked, plain writes of fields
// through a pointer. New code needs no calls of package count. Line numbers don't change.
// The words of the runtime and of package net aren't seen.
package sites

import (
	"path/filepath"
	"strings"

	"github.com/galehttp/gale/tests/overlay"
)

const (
	module  = overlay.Module
	counted = module + "/lab/scale/count"
)

// A Site is an operation in the source.
type Site struct {
	// At is the file, below the module's folder, and the line.
	At string
	// Word is what it works on: package, type and field, such as engine.loop.mu.
	Word string
	// Kind is "atomic", "lock", "pool", "channel", "timer" or "plain". Op is the name of
	// the method or function.
	Kind, Op string
}

// Write writes the copies and the overlay to dir, which it makes, for the packages that
// package root (such as ./scale/target, relative to lab) needs. plain says whether plain
// writes are counted. The result is indexed by the numbers that package count reports.
func Write(lab, root, dir string, plain bool) ([]Site, error) {
	var sites []Site
	err := overlay.Write(overlay.Spec{Dir: lab, Roots: []string{root}, Rewrites: isLibrary}, dir, func(f *overlay.File) {
		folder := strings.TrimPrefix(strings.TrimPrefix(f.Package.Path(), module), "/")
		r := &rewriter{File: f, plain: plain, sites: &sites, at: filepath.ToSlash(filepath.Join(folder, filepath.Base(f.Name)))}
		r.rewrite()
	})
	return sites, err
}

// isLibrary reports whether a package is rewritten.
func isLibrary(path string) bool {
	return path == module || strings.HasPrefix(path, module+"/") && !strings.HasPrefix(path, module+"/lab")
}
