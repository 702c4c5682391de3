// Command galevet finds contexts and bytes of requests that are kept longer than they are
// lent, and pooled objects that are used after their release.
//
//	galevet ./...
//	go vet -vettool=$(which galevet) ./...
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/galehttp/gale/cmd/galevet/lifetimes"
	"golang.org/x/tools/go/analysis/unitchecker"
)

func main() {
	if alone(os.Args[1:]) {
		os.Exit(vet(os.Args[1:]))
	}
	unitchecker.Main(lifetimes.Analyzer)
}

// alone says whether the command was started by a person, not by go vet.
func alone(args []string) bool {
	for _, a := range args {
		if strings.HasSuffix(a, ".cfg") || strings.HasPrefix(a, "-V") || a == "-flags" || a == "help" {
			return false
		}
	}
	return true
}

// vet runs the command on packages by means of go vet, which caches what was found.
func vet(args []string) int {
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "galevet:", err)
		return 2
	}
	var flags, pkgs []string
	for _, a := range args {
		if a == "-strict" || a == "--strict" || strings.HasPrefix(a, "-strict=") {
			a = "-lifetimes." + strings.TrimLeft(a, "-")
		}
		if strings.HasPrefix(a, "-") {
			flags = append(flags, a)
		} else {
			pkgs = append(pkgs, a)
		}
	}
	if len(pkgs) == 0 {
		pkgs = []string{"."}
	}
	cmd := exec.Command("go", append(append([]string{"vet", "-vettool=" + self}, flags...), pkgs...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	if exit, ok := err.(*exec.ExitError); ok {
		return exit.ExitCode()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "galevet:", err)
		return 2
	}
	return 0
}
