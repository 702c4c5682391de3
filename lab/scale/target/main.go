// Target is the server that lab scale measures. It serves on a free port of loopback and
// prints its address. Then it obeys lines of its standard input, and answers each with a
// line:
//
//	reset    forgets what was counted, and begins to count
//	report   waits until no connection is open, if the argument is "closed", and answers
//	         with a Report in JSON
//
// It ends with its input.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/lab/scale/count"
	"github.com/galehttp/gale/tcplisten"
)

// Report is the answer to report.
type Report struct {
	Ops             []count.Ops
	Polls, Wakeups  uint64
	Requests, Conns uint64
	Contended       []Contention
	Switches        map[string]int64 // of the process's threads: kinds of context switches, and migrations
}

func main() {
	engine := gale.EngineAuto
	flag.TextVar(&engine, "engine", engine, "block or event")
	loops := flag.Int("loops", 1, "event loops")
	listeners := flag.Int("listeners", 1, "sockets that share the address")
	profile := flag.Bool("profile", false, "profile locks")
	lines := flag.Bool("lines", false, "count by cache line")
	flag.Parse()
	if *lines {
		count.ByLine()
	}
	if err := run(engine, *loops, *listeners, *profile); err != nil {
		fmt.Fprintln(os.Stderr, "target:", err)
		os.Exit(1)
	}
}

func run(engine gale.Engine, loops, listeners int, profile bool) error {
	debug.SetGCPercent(-1) // see package count
	debug.SetMemoryLimit(4 << 30)
	if profile {
		runtime.SetMutexProfileFraction(1)
		runtime.SetBlockProfileRate(1)
	}
	if engine == gale.EngineBlock {
		count.ByProcessor()
	}
	dir, err := files()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	serveFile := gale.FSHandler(dir, 0)
	s := &gale.Server{Engine: engine, EventLoops: loops, Handler: func(ctx *gale.RequestCtx) {
		if strings.HasPrefix(string(ctx.Path()), "/file") {
			serveFile(ctx)
			return
		}
		ctx.WriteString("Hello, World!")
	}}
	served := make(chan error, listeners)
	addr := "127.0.0.1:0"
	for range listeners {
		cfg := tcplisten.Config{ReusePort: listeners > 1}
		ln, err := cfg.NewListener("tcp4", addr)
		if err != nil {
			return err
		}
		addr = ln.Addr().String()
		go func() { served <- s.Serve(ln) }()
	}
	for until := time.Now().Add(5 * time.Second); len(s.Stats().Listeners) < listeners; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			return errors.New("the listeners aren't served")
		}
	}
	fmt.Println(addr)
	t := &target{s: s, profile: profile}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		switch in.Text() {
		case "reset":
			t.reset()
			fmt.Println("ok")
		case "report", "report closed":
			if err := json.NewEncoder(os.Stdout).Encode(t.report(in.Text() != "report")); err != nil {
				return err
			}
		}
	}
	if err := s.Close(); err != nil {
		return err
	}
	for range listeners {
		if err := <-served; err != nil {
			return err
		}
	}
	return nil
}

// files makes a folder with a file that FS keeps in memory and one that it keeps open.
func files() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "galescale"); err != nil {
		return "", err
	}
	for name, size := range map[string]int{"file-small.txt": 1 << 10, "file-large.txt": 32 << 10} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Repeat("x", size)), 0o644); err != nil {
			return dir, err
		}
	}
	return dir, nil
}

// target holds the numbers at the last reset.
type target struct {
	s        *gale.Server
	profile  bool
	stats    gale.Stats
	locks    map[string]Contention
	switches map[string]int64
}

func (t *target) reset() {
	t.stats = t.s.Stats()
	if t.profile {
		t.locks = contentions()
	}
	t.switches = switches()
	count.Reset()
}

func (t *target) report(closed bool) Report {
	for until := time.Now().Add(5 * time.Second); closed && t.s.GetOpenConnectionsCount() > 0 && time.Now().Before(until); {
		time.Sleep(time.Millisecond)
	}
	r := Report{Ops: count.Report(), Switches: switches()}
	for k, n := range t.switches {
		r.Switches[k] -= n
	}
	now := t.s.Stats()
	r.Polls, r.Wakeups = now.Event.Polls-t.stats.Event.Polls, now.Event.Wakeups-t.stats.Event.Wakeups
	r.Requests, r.Conns = now.Requests-t.stats.Requests, now.AcceptedConnections-t.stats.AcceptedConnections
	if t.profile {
		r.Contended = since(t.locks, contentions())
	}
	return r
}
