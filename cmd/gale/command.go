package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/galehttp/gale/internal/bytesconv"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // it failed while it was running
	exitUsage  = 2 // it could not start: the message says what to do
)

// exitCode is the exit code of a command that has told everything else.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// command is a subcommand of gale.
type command struct {
	name  string
	short string // for the list of commands
	long  string // for "gale help name", without flags
	run   func(args []string, stdout, stderr io.Writer) error
	flags func() string // describes the flags; nil if there are none

	// For completions:
	flagSet  func() *flag.FlagSet // the flags; nil if there are none
	argument valueKind            // what its arguments are
}

// commands returns all commands, in the order of the list.
func commands() []command {
	return []command{serveCommand, benchCommand, completionCommand(), versionCommand}
}

// usageError is an error that the user can fix. It is written as one line.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// errHelp asks for the help text of the command that returns it.
var errHelp = errors.New("help requested")

// run runs the command named by args and returns the exit code of the process.
func run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		usage(stderr)
		return exitUsage
	}
	name, args := args[0], args[1:]
	switch name {
	case "help", "-h", "-help", "--help":
		return help(args, stdout, stderr)
	case "-v", "-version", "--version":
		name = versionCommand.name
	}
	c, ok := find(name)
	if !ok {
		return unknown(name, stderr)
	}
	var bad *usageError
	var told exitCode
	switch err := c.run(args, stdout, stderr); {
	case err == nil:
		return exitOK
	case errors.Is(err, errHelp):
		c.help(stdout)
		return exitOK
	case errors.As(err, &told):
		return int(told)
	case errors.As(err, &bad):
		fmt.Fprintf(stderr, "gale %s: %s\n", name, oneLine(bad.text))
		return exitUsage
	default:
		fmt.Fprintf(stderr, "gale %s: %s\n", name, oneLine(err.Error()))
		return exitFailed
	}
}

// oneLine puts a message that contains texts of others on one line, without what a terminal would
// obey.
func oneLine(s string) string {
	return bytesconv.Visible(strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), "; "))
}

func find(name string) (command, bool) {
	for _, c := range commands() {
		if c.name == name {
			return c, true
		}
	}
	return command{}, false
}

func unknown(name string, stderr io.Writer) int {
	fmt.Fprintf(stderr, "gale %s: unknown command\nRun 'gale help' for usage.\n", name)
	return exitUsage
}

func help(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		usage(stdout)
		return exitOK
	}
	c, ok := find(args[0])
	if !ok || len(args) > 1 {
		fmt.Fprintf(stderr, "gale help %s: unknown help topic. Run 'gale help'.\n", strings.Join(args, " "))
		return exitUsage
	}
	c.help(stdout)
	return exitOK
}

func usage(w io.Writer) {
	fmt.Fprint(w, "Gale serves folders over HTTP and measures HTTP servers.\n\nUsage:\n\n\tgale <command> [arguments]\n\nThe commands are:\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "\t%-11s %s\n", c.name, c.short)
	}
	fmt.Fprint(w, "\nUse \"gale help <command>\" for more information about a command.\n")
}

func (c *command) help(w io.Writer) {
	fmt.Fprint(w, c.long)
	if c.flags != nil {
		fmt.Fprint(w, c.flags())
	}
}
