package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
)

var versionCommand = command{
	name:  "version",
	short: "print the version of gale",
	long:  "usage: gale version\n\nVersion prints the version of gale, and of the Go release that built it.\n",
	run:   runVersion,
}

func runVersion(args []string, stdout, _ io.Writer) error {
	if len(args) > 0 {
		if isHelpFlag(args[0]) {
			return errHelp
		}
		return usagef("takes no arguments")
	}
	fmt.Fprintf(stdout, "gale version %s %s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}

func isHelpFlag(arg string) bool {
	return arg == "-h" || arg == "-help" || arg == "--help"
}

// released is the version of a release. scripts/release.sh sets it at link time.
var released string

// version returns the version of the release or the module, or the revision that it was
// built from.
func version() string {
	if released != "" {
		return released
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	v := "devel"
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			v += "-" + s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			v += "+dirty"
		}
	}
	return v
}
