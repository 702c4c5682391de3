package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/galehttp/gale/internal/measure/figures"
)

// maxCompared bounds the runs of a side.
const maxCompared = 100

// runCompare compares the results of two sides, each a file or several.
func runCompare(args []string, stdout io.Writer) error {
	for _, arg := range args {
		switch {
		case isHelpFlag(arg):
			return errHelp
		case strings.HasPrefix(arg, "-"):
			return usagef("compare has no flag %s; see 'gale help bench'", arg)
		}
	}
	if len(args) != 2 {
		return usagef("compare takes two files that --json has written, not %d; write several runs of a side as A1.json,A2.json,A3.json", len(args))
	}
	var sides [2][]*figures.Run
	for i, arg := range args {
		var err error
		if sides[i], err = readSide(arg); err != nil {
			return err
		}
	}
	c, err := figures.Compare(sides[0], sides[1])
	if err != nil {
		return usagef("%v", err)
	}
	for i, name := range []string{"A", "B"} {
		fmt.Fprintf(stdout, "%s  %s\n", name, sideName(args[i], sides[i]))
	}
	fmt.Fprintln(stdout)
	return figures.WriteComparison(stdout, c)
}

// readSide reads the runs of a side, whose files are separated by commas.
func readSide(list string) ([]*figures.Run, error) {
	files := []string{list}
	if _, err := os.Stat(list); err != nil {
		files = strings.Split(list, ",")
	}
	if len(files) > maxCompared {
		return nil, usagef("use at most %d runs on each side", maxCompared)
	}
	var runs []*figures.Run
	for _, file := range files {
		run, err := figures.ReadFile(file)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return nil, usagef("there is no file %q: check the spelling", file)
		case err != nil:
			return nil, usagef("%v", err)
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// sideName returns the name that the first run of a side has, and its files.
func sideName(list string, runs []*figures.Run) string {
	if runs[0].Name == "" {
		return visible(list)
	}
	return visible(runs[0].Name) + " (" + visible(list) + ")"
}
