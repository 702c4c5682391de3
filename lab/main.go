// Lab compares HTTP servers on one machine, by the same work for each.
//
//	cd lab && go run . run --quick
//	cd lab && go run . scale
//
// It is a module of its own: what it compares with is nothing that the library needs.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/galehttp/gale/lab/scale"
)

// errUsage ends the process with exit code 2: the command line was wrong.
var errUsage = errors.New("usage")

// command is a subcommand of lab.
type command struct {
	name, short string
	run         func(args []string, stdout, stderr io.Writer) error
}

func commands() []command {
	return []command{
		{"run", "compare servers; see -h for its flags", runMain},
		{"report", "make the report of a folder of results again", reportMain},
		{"compare", "compare two folders of results", compareMain},
		{"scale", "count what event loops share, with 1 to 64 loops", scale.Main},
	}
}

func main() {
	if err := dispatch(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, errUsage) {
			fmt.Fprintln(os.Stderr, "lab:", err)
			os.Exit(1)
		}
		os.Exit(2)
	}
}

func dispatch(args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 {
		for _, c := range commands() {
			if c.name == args[0] {
				return c.run(args[1:], stdout, stderr)
			}
		}
	}
	fmt.Fprint(stderr, "Usage: go run . COMMAND [arguments]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(stderr, "  %-8s %s\n", c.name, c.short)
	}
	return errUsage
}
