package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/galehttp/gale/cmd/gale/internal/load"
	"github.com/galehttp/gale/internal/measure/figures"
	"github.com/galehttp/gale/internal/measure/page"
)

// results is where the results of a run go.
type results struct {
	stdout   io.Writer // for a document that goes to "-"
	table    io.Writer
	messages io.Writer // progress, output of a server
	cfg      *benchConfig
}

// results returns where results go. If the standard output gets a document, everything else
// goes to the standard error.
func (cfg *benchConfig) results(stdout, stderr io.Writer) *results {
	r := &results{stdout: stdout, table: stdout, messages: stderr, cfg: cfg}
	if cfg.json == "-" || cfg.csv == "-" {
		r.table = stderr
	}
	return r
}

// progress returns what shows how the run goes on.
func (r *results) progress(p *load.Plan) *figures.Progress {
	o := figures.ProgressOptions{Connections: p.Connections, WarmUp: p.WarmUp, Duration: p.Duration, Count: p.Count}
	if r.cfg.quiet {
		return figures.NewProgress(io.Discard, o)
	}
	if f, ok := r.messages.(*os.File); ok && isTerminal(f) {
		o.Columns = func() int { return columns(f) }
	}
	return figures.NewProgress(r.messages, o)
}

// remind says for how long the command has waited for something before the run.
func (r *results) remind(what string, since time.Time) {
	if !r.cfg.quiet {
		fmt.Fprintf(r.messages, "%s, %.0f s\n", what, time.Since(since).Seconds())
	}
}

// write writes the table first, and then the others. It goes on after an error.
func (r *results) write(run *figures.Run) error {
	var failed []error
	if !r.cfg.quiet {
		failed = append(failed, figures.WriteTable(r.table, run))
	}
	for _, f := range []struct {
		flag, file string
		write      func(io.Writer) error
	}{
		{"--json", r.cfg.json, run.Write},
		{"--csv", r.cfg.csv, func(w io.Writer) error { return figures.WriteCSV(w, run.Intervals) }},
		{"--report", r.cfg.report, func(w io.Writer) error { return page.Write(w, run) }},
	} {
		var err error
		switch f.file {
		case "":
		case "-":
			err = f.write(r.stdout)
		default:
			err = writeFile(f.file, f.write)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: can't write %q: %w", f.flag, f.file, err))
		}
	}
	return errors.Join(failed...)
}

// writeFile writes a file that has its name when it is complete. What isn't a regular file,
// such as a pipe, is written in place.
func writeFile(name string, write func(io.Writer) error) error {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return withoutPath(err)
		}
		return errors.Join(write(f), f.Close())
	}
	part := filepath.Join(filepath.Dir(name), fmt.Sprintf(".%s.%08x", filepath.Base(name), rand.Uint32()))
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return withoutPath(err)
	}
	if err = errors.Join(write(f), f.Close()); err == nil {
		err = os.Rename(part, name)
	}
	if err != nil {
		_ = os.Remove(part)
	}
	return withoutPath(err)
}

// canWrite returns why writeFile couldn't write a file: its folder must take another one.
func canWrite(name string) error {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".gale-bench-*")
	if err != nil {
		return withoutPath(err)
	}
	return withoutPath(errors.Join(f.Close(), os.Remove(f.Name())))
}

// withoutPath returns the reason in an error about a file.
func withoutPath(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
