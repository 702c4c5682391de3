// Package scale measures how the work for a request and for a connection changes with the
// number of loops of an engine: which words of memory several loops write, and how often.
// It counts, and measures no time: a machine with few cores can count what many loops
// would share.
package scale

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// measurement is the result for one engine and number of loops.
type measurement struct {
	Engine, Path string
	Loops        int
	// Request are the rows for each request of a connection that stays, Accept those for
	// each connection with one request.
	Request, Accept []row
	// Syscalls are the system calls for each request, by name, if they were counted.
	Syscalls map[string]float64 `json:",omitempty"`
	// The runtime's numbers, from a run without counters.
	RequestRuntime, AcceptRuntime runtimeCounts
}

// runtimeCounts are what the runtime and the system count, for each request or each
// connection.
type runtimeCounts struct {
	Polls, Wakeups float64
	Switches       map[string]float64
	// Contended are the places where goroutines waited, and how often.
	Contended map[string]float64
}

// Main runs "lab scale" with its arguments.
func Main(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("scale", flag.ContinueOnError)
	flags.SetOutput(stderr)
	engines := flags.String("engines", "event,block", "engines to measure, with commas between")
	most := flags.Int("loops", 64, "measure with 1, 2, 4, ... loops up to this number")
	path := flags.String("path", "/", `what is requested: "/", "/file-small.txt" (kept in memory) or "/file-large.txt" (kept open)`)
	plain := flags.Bool("plain", false, "count plain writes of fields too")
	lines := flags.Bool("lines", false, "count cache lines of 64 bytes instead of words")
	perLoop := flags.Bool("listeners", false, "give each loop a socket of its own on the same address (SO_REUSEPORT)")
	sys := flags.Bool("syscalls", false, "count system calls too, with strace")
	asJSON := flags.String("json", "", "also write everything that was counted to this file")
	if err := flags.Parse(args); err != nil {
		return err
	}
	lab, err := moduleDir()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "galescale")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b, err := build(lab, dir, *plain, stderr)
	if err != nil {
		return err
	}
	var all []measurement
	for _, engine := range strings.Split(*engines, ",") {
		for loops := 1; loops <= *most; loops *= 2 {
			fmt.Fprintf(stderr, "%s, %d loops\n", engine, loops)
			var args []string
			if *perLoop {
				args = []string{"-listeners", strconv.Itoa(loops)}
			}
			m, err := b.measure(engine, loops, *path, args, *lines)
			if err == nil && *sys {
				m.Syscalls, err = syscalls(b.plain, engine, loops, *path, dir, args)
			}
			if err != nil {
				return fmt.Errorf("%s with %d loops: %w", engine, loops, err)
			}
			all = append(all, m)
		}
	}
	if *asJSON != "" {
		text, err := json.MarshalIndent(all, "", "\t")
		if err != nil {
			return err
		}
		if err := os.WriteFile(*asJSON, append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	return writeTables(stdout, all)
}

// moduleDir returns the folder of module lab, in which this program must run.
func moduleDir() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/galehttp/gale/lab").Output()
	if err != nil {
		return "", fmt.Errorf("run this in the folder lab of Gale's sources: %w", err)
	}
	return filepath.Clean(strings.TrimSpace(string(out))), nil
}

// measure runs the server with counters and without.
func (b *builds) measure(engine string, loops int, path string, args []string, lines bool) (m measurement, err error) {
	m = measurement{Engine: engine, Path: path, Loops: loops}
	counted, err := run(b.counted, engine, loops, path, append(args[:len(args):len(args)], "-lines="+strconv.FormatBool(lines))...)
	if err != nil {
		return m, err
	}
	plain, err := run(b.plain, engine, loops, path, append(args[:len(args):len(args)], "-profile")...)
	if err != nil {
		return m, err
	}
	m.Request = b.rows(counted.request.Ops, float64(counted.request.Requests))
	m.Accept = b.rows(counted.accept.Ops, float64(counted.accept.Conns))
	m.RequestRuntime = plain.request.runtime(plain.request.Requests)
	m.AcceptRuntime = plain.accept.runtime(plain.accept.Conns)
	return m, nil
}

func (r *report) runtime(per uint64) runtimeCounts {
	c := runtimeCounts{
		Polls: float64(r.Polls) / float64(per), Wakeups: float64(r.Wakeups) / float64(per),
		Switches: map[string]float64{}, Contended: map[string]float64{},
	}
	for k, n := range r.Switches {
		c.Switches[k] = float64(n) / float64(per)
	}
	for _, w := range r.Contended {
		c.Contended[w.Kind+": "+w.Where] = float64(w.Count) / float64(per)
	}
	return c
}

// writeTables writes the results in Markdown.
func writeTables(out io.Writer, all []measurement) error {
	t := &tables{out: out}
	for _, engine := range engineNames(all) {
		var ms []measurement
		for _, m := range all {
			if m.Engine == engine {
				ms = append(ms, m)
			}
		}
		t.printf("## %s engine, %s\n\n", engine, ms[0].Path)
		t.shared("Each request", ms, func(m *measurement) []row { return m.Request })
		t.shared("Each connection with one request", ms, func(m *measurement) []row { return m.Accept })
		t.runtime("The runtime, each request", ms, func(m *measurement) *runtimeCounts { return &m.RequestRuntime })
		t.syscalls(ms)
		t.runtime("The runtime, each connection with one request", ms, func(m *measurement) *runtimeCounts { return &m.AcceptRuntime })
	}
	return t.err
}

func engineNames(all []measurement) (names []string) {
	for _, m := range all {
		if len(names) == 0 || names[len(names)-1] != m.Engine {
			names = append(names, m.Engine)
		}
	}
	return names
}

func loopsOf(n int) string {
	if n == 1 {
		return "1 loop"
	}
	return strconv.Itoa(n)
}
