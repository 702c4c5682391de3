package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// printTimes prints the times that differ from the baseline's, if benchstat says that this
// is hardly by chance. Without benchstat it says so.
func (c *check) printTimes(run *results) {
	table, err := c.benchstat(run)
	if err != nil {
		fmt.Fprintln(c.out, "Times are not compared:", err)
		return
	}
	changes := significant(table)
	if changes == "" {
		fmt.Fprintln(c.out, "benchstat finds no time that differs from the baseline's.")
		return
	}
	fmt.Fprintf(c.out, "Times that differ from the baseline's, by benchstat. They are not judged,\nand about one in twenty differs by chance:\n%s", changes)
}

func (c *check) benchstat(run *results) (string, error) {
	f, err := os.CreateTemp("", "gale-bench-check")
	if err != nil {
		return "", err
	}
	f.Close()
	defer os.Remove(f.Name())
	if err := run.save(f.Name()); err != nil {
		return "", err
	}
	cmd := exec.Command("go", "run", "golang.org/x/perf/cmd/benchstat@latest", "-filter", ".unit:sec/op",
		"-ignore", strings.Join(machine, ","), "baseline="+c.baseline, "now="+f.Name())
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("benchstat: %w\n%s", err, errs.String())
	}
	return string(out), nil
}

// significant returns the rows of benchstat's tables that have a change, with the heads of
// their tables. benchstat writes "~" for none.
func significant(table string) string {
	var b, head strings.Builder
	for line := range strings.Lines(table) {
		switch {
		case strings.HasPrefix(line, "pkg: "):
			head.Reset()
			head.WriteString(line)
		case strings.Contains(line, "│"):
			head.WriteString(line)
		case strings.Contains(line, "% (p="):
			b.WriteString(head.String())
			head.Reset()
			b.WriteString(line)
		}
	}
	return b.String()
}
