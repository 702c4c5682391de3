package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/galehttp/gale/internal/measure/page"
	"github.com/galehttp/gale/lab/plan"
	"github.com/galehttp/gale/lab/results"
)

// claims are those of the scenarios.
func claims(scenario string) string {
	if s := plan.Find(scenario); s != nil {
		return s.Claim
	}
	return "a scenario that this program doesn't know"
}

func reportMain(args []string, stdout, stderr io.Writer) error {
	if len(args) != 1 {
		fmt.Fprintln(stderr, "Usage: go run . report FOLDER")
		return errUsage
	}
	f, err := results.Open(args[0])
	if err != nil {
		return err
	}
	return writeReport(f, stdout)
}

// writeReport writes report.md and report.html into the folder of results.
func writeReport(f *results.Folder, stdout io.Writer) error {
	doc := f.Report(claims)
	for name, write := range map[string]func(io.Writer, *page.Document) error{
		"report.md": results.WriteMarkdown, "report.html": page.WriteDocument,
	} {
		path := filepath.Join(f.Dir, name)
		if err := writeFile(path, func(w io.Writer) error { return write(w, doc) }); err != nil {
			return err
		}
	}
	fmt.Fprintf(stdout, "%s: report.md, report.html\n", f.Dir)
	return nil
}

func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(file); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}

func compareMain(args []string, stdout, stderr io.Writer) error {
	if len(args) != 2 {
		fmt.Fprintln(stderr, "Usage: go run . compare OLD NEW")
		return errUsage
	}
	old, err := results.Open(args[0])
	if err != nil {
		return err
	}
	now, err := results.Open(args[1])
	if err != nil {
		return err
	}
	return results.WriteMarkdown(stdout, results.Compare(old, now))
}
