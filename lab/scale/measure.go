package scale

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/galehttp/gale/lab/scale/count"
	"github.com/galehttp/gale/lab/scale/sites"
)

// builds are the programs that are measured: the server with counters and without.
type builds struct {
	counted, plain string
	sites          []sites.Site
}

// build makes both programs in dir. lab is the folder of this module.
func build(lab, dir string, plainWrites bool, stderr io.Writer) (*builds, error) {
	b := &builds{counted: filepath.Join(dir, "counted"), plain: filepath.Join(dir, "plain")}
	var err error
	if b.sites, err = sites.Write(lab, "./scale/target", filepath.Join(dir, "overlay"), plainWrites); err != nil {
		return nil, err
	}
	for _, args := range [][]string{
		{"build", "-overlay", filepath.Join(dir, "overlay", "overlay.json"), "-o", b.counted, "./scale/target"},
		{"build", "-o", b.plain, "./scale/target"},
	} {
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Stderr = lab, stderr
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
		}
	}
	return b, nil
}

// A report is what a target answers; see the Report of lab/scale/target.
type report struct {
	Ops             []count.Ops
	Polls, Wakeups  uint64
	Requests, Conns uint64
	Contended       []struct {
		Where, Kind string
		Count       int64
	}
	Switches map[string]int64
}

// server is a running target.
type server struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	errs bytes.Buffer
	addr string
}

// start runs a target, or a program that runs one with the last of args.
func start(program, engine string, loops int, args ...string) (*server, error) {
	s := &server{cmd: exec.Command(program, append(args, "-engine", engine, "-loops", strconv.Itoa(loops))...)}
	s.cmd.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(loops))
	s.cmd.Stderr = &s.errs
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewReader(out)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	if s.addr, err = s.line(); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// line reads a line that the target prints.
func (s *server) line() (string, error) {
	line, err := s.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("the server ended: %w\n%s", err, s.errs.String())
	}
	return strings.TrimSpace(line), nil
}

func (s *server) ask(line string) (string, error) {
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		return "", err
	}
	return s.line()
}

func (s *server) report(line string) (r report, err error) {
	text, err := s.ask(line)
	if err == nil {
		err = json.Unmarshal([]byte(text), &r)
	}
	return r, err
}

func (s *server) stop() error {
	s.in.Close()
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("%w\n%s", err, s.errs.String())
	}
	return nil
}

// The load: connections for each loop, requests on each of them, and connections for each
// loop that make one request.
const (
	connsPerLoop = 4
	warmUp       = 20
	requests     = 100
	shortPerLoop = 32
	minShort     = 256
)

// phases are what is counted: requests on connections that stay, and connections with one
// request each.
type phases struct{ request, accept report }

// run measures one program.
func run(program, engine string, loops int, path string, args ...string) (p phases, err error) {
	s, err := start(program, engine, loops, args...)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	conns, err := open(s.addr, path, connsPerLoop*loops)
	if err != nil {
		return p, err
	}
	defer conns.close()
	if err := conns.request(warmUp); err != nil {
		return p, err
	}
	if _, err := s.ask("reset"); err != nil {
		return p, err
	}
	if err := conns.request(requests); err != nil {
		return p, err
	}
	if p.request, err = s.report("report"); err != nil {
		return p, err
	}
	conns.close()
	short := max(minShort, shortPerLoop*loops)
	if err := visit(s.addr, path, connsPerLoop*loops, connsPerLoop*loops); err != nil { // pools and workers of short connections
		return p, err
	}
	if _, err := s.report("report closed"); err != nil {
		return p, err
	}
	if _, err := s.ask("reset"); err != nil {
		return p, err
	}
	if err := visit(s.addr, path, short, connsPerLoop*loops); err != nil {
		return p, err
	}
	p.accept, err = s.report("report closed")
	return p, err
}

// A row says how often a word is written and read, for each request or each connection.
type row struct {
	// Word names the word: package, type and field. At are the places of the operations.
	Word, Kind string
	At         []string
	// Writes are all writes. Shared are those of words that several parties write, and
	// Parties is how many do at most. Transfers are the writes by another party than the
	// one before, ReadTransfers the reads of what another party has written since.
	// Outside are writes by goroutines of no loop, such as those of timers. They aren't in
	// the other numbers.
	Writes, Shared, Transfers, ReadTransfers, Outside float64
	Parties                                           int
	// Why says why several parties write the word, if there is a reason.
	Why string `json:",omitempty"`
}

// rows sums what was counted by word. per is the number of requests or connections.
func (b *builds) rows(ops []count.Ops, per float64) []row {
	byWord := map[string]*row{}
	for _, o := range ops {
		site := b.sites[o.Site]
		r := byWord[site.Word]
		if r == nil {
			r = &row{Word: site.Word, Kind: site.Kind, Why: why(site.Word)}
			byWord[site.Word] = r
		}
		r.At = append(r.At, site.At)
		r.Writes += float64(o.Writes) / per
		r.Shared += float64(o.SharedWrites) / per
		r.Transfers += float64(o.WriteTransfers) / per
		r.ReadTransfers += float64(o.ReadTransfers) / per
		r.Outside += float64(o.Outside) / per
		r.Parties = max(r.Parties, o.SharedBy)
	}
	all := make([]row, 0, len(byWord))
	for _, r := range byWord {
		slices.Sort(r.At)
		all = append(all, *r)
	}
	slices.SortFunc(all, func(a, b row) int { return strings.Compare(a.Word, b.Word) })
	return all
}
