// Command gale serves a folder over HTTP, for example while you develop a web site:
//
//	gale serve ./public
//
// In a clone of the repository, the command is go run ./cmd/gale serve ./public. It prints
// the URLs to open. With -tls-self-signed it serves HTTPS, with -spa a
// single-page application. "gale help serve" lists all flags; docs/reference/command.md
// describes them.
//
// It also measures HTTP servers:
//
//	gale bench http://127.0.0.1:8080/
//
// See "gale help bench" and docs/reference/bench.md.
package main

import (
	"os"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}
