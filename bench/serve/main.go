//go:build linux

// Serve compares programs that serve a folder: gale, python3 -m http.server, the npm
// package serve, caddy file-server and miniserve. Each gets the same folder and the same
// questions, over loopback, and the answers become a table in Markdown.
//
//	cd bench && go run ./serve [-peers DIR] [-only REGEXP] [-servers LIST] [-write]
//	cd bench && go run ./serve -check
//
// Programs are looked for in DIR and in PATH; those that aren't installed are left out.
// gale is built from this clone, unless -gale names a binary. -write puts the table into
// docs/reference/command.md. Every cell is what a program did, not what its documentation
// says. A program gets the flags for what a row asks for, if it has some (servers.go); the
// row is asked either way.
//
// -check measures gale only: how fast it starts, and its memory after 10,000 requests. It
// fails if that is more than -max-rss. The time is printed, but not checked.
//
// Linux only: memory and CPU time come from /proc.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

type options struct {
	peers, gale, servers string
	only                 *regexp.Regexp
	write, check         bool
	maxRSS               int
}

func main() {
	log.SetFlags(0)
	var o options
	flag.StringVar(&o.peers, "peers", os.Getenv("PEERS"), "look for programs in this `folder` first; its bin/ and node_modules/.bin/ count too")
	flag.StringVar(&o.gale, "gale", "", "this `binary` instead of one built from the clone")
	flag.StringVar(&o.servers, "servers", "gale,python,serve,caddy,miniserve", "compare these, separated by commas")
	only := flag.String("only", ".", "ask only the rows that match this `regexp`")
	flag.BoolVar(&o.write, "write", false, "write the table into docs/reference/command.md")
	flag.BoolVar(&o.check, "check", false, "check gale's memory, and measure its start")
	flag.IntVar(&o.maxRSS, "max-rss", 25, "for -check: at most so many `MB`")
	flag.Parse()
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		log.Fatal(err)
	}
	if err := run(o); err != nil {
		log.Fatalf("serve: %v", err)
	}
}

func run(o options) error {
	work, err := os.MkdirTemp("", "gale-compare-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if o.gale == "" {
		o.gale = filepath.Join(work, "gale")
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", o.gale, "./cmd/gale")
		cmd.Dir, cmd.Stderr, cmd.Env = "..", os.Stderr, append(os.Environ(), "CGO_ENABLED=0")
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("building gale: %w", err)
		}
	}
	if o.gale, err = filepath.Abs(o.gale); err != nil {
		return err
	}
	f, err := makeFolders(work)
	if err != nil {
		return err
	}
	if o.check {
		return check(o, f)
	}
	var found []*program
	for _, name := range strings.Split(o.servers, ",") {
		p, err := findProgram(name, o)
		if err != nil {
			log.Printf("LEFT OUT: %v", err)
			continue
		}
		found = append(found, p)
	}
	t := newTable(found)
	for _, r := range rows {
		if !o.only.MatchString(r.name) {
			continue
		}
		began := time.Now()
		var cells []string
		if r.together != nil {
			cells = r.together(found, f)
		} else {
			for _, p := range found {
				cells = append(cells, r.cell(p, f))
			}
		}
		t.add(r, cells)
		log.Printf("%5.1fs %s: %s", time.Since(began).Seconds(), r.name, strings.Join(cells, " | "))
	}
	fmt.Print(t.markdown())
	if o.write {
		return t.writeTo(filepath.Join("..", "docs", "reference", "command.md"))
	}
	return nil
}

// check measures gale alone.
func check(o options, f *folders) error {
	gale, err := findProgram("gale", o)
	if err != nil {
		return err
	}
	fmt.Printf("start to first answer: %s\n", coldStart(gale, f))
	rss, n, err := memory(gale, f)
	if err != nil {
		return err
	}
	fmt.Printf("memory after %d requests: %d MB\n", n, rss)
	if rss > o.maxRSS {
		return fmt.Errorf("%d MB of memory are more than %d", rss, o.maxRSS)
	}
	return nil
}
