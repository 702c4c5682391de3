// Command idle prints how much memory of the server's process an idle connection uses:
//
//	idle [-n 10000] [-engine event|block|auto] [-proto h1|h2] [-tls]
//
// The server is a separate process that idle starts, so that the client's memory is not
// counted. Each connection makes one request and is then idle. HTTP/2 without TLS uses
// prior knowledge. The command opens a hundred connections first, and prints the growth
// by N more, divided by N:
//
//   - heap: objects in use after a garbage collection
//   - stacks: those of goroutines
//   - RSS: what the system counts for the process, after free memory was returned to it
//     (Linux only)
//
// None of these includes the kernel's memory for a socket. Each of the two processes
// needs a file descriptor for each connection: see ulimit -n.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/galehttp/gale"
)

// first is how many connections are open before the first measurement. By then the server
// has allocated what it needs only once.
const first = 100

// wait limits the steps that may take long: the handshakes, and the time until the server
// is idle.
const wait = 2 * time.Minute

type options struct {
	n      int
	engine gale.Engine
	proto  string
	tls    bool
	serve  bool
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("idle: ")
	var o options
	flag.IntVar(&o.n, "n", 10_000, "hold `N` connections")
	flag.TextVar(&o.engine, "engine", gale.EngineEvent, "serve with this `engine`: auto, block or event")
	flag.StringVar(&o.proto, "proto", "h2", "speak this `protocol`: h1 or h2")
	flag.BoolVar(&o.tls, "tls", false, "speak it over TLS")
	flag.BoolVar(&o.serve, "serve", false, "be the server, for another process of this program")
	flag.Parse()
	if flag.NArg() > 0 || o.n < 1 || o.proto != "h1" && o.proto != "h2" {
		flag.Usage()
		os.Exit(2)
	}
	if o.serve {
		if err := serve(o, os.Stdin, os.Stdout); err != nil {
			log.Fatal(err)
		}
		return
	}
	w, err := measure(o)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(w.per(o))
}

// weight is the memory that a server's process uses, in bytes.
type weight struct {
	Conns, Heap, Stacks, RSS int64
}

func (w weight) minus(v weight) weight {
	return weight{w.Conns - v.Conns, w.Heap - v.Heap, w.Stacks - v.Stacks, w.RSS - v.RSS}
}

// per returns the line that is printed for the growth w.
func (w weight) per(o options) string {
	each := func(n int64) float64 { return float64(n) / float64(w.Conns) }
	proto := o.proto
	if o.tls {
		proto += " over TLS"
	}
	rss := "RSS unknown"
	if w.RSS != 0 {
		rss = fmt.Sprintf("RSS %.0f", each(w.RSS))
	}
	return fmt.Sprintf("%s, engine %s, %d idle connections: heap %.0f + stacks %.0f = %.0f bytes each, %s",
		proto, o.engine, w.Conns, each(w.Heap), each(w.Stacks), each(w.Heap+w.Stacks), rss)
}

// measure returns how much memory o.n more connections have added to a server.
func measure(o options) (weight, error) {
	if most := maxFiles() - first - 50; o.n > most {
		return weight{}, fmt.Errorf("%d connections are too many for the limit of open files, %d would do", o.n, most)
	}
	s, err := start(o)
	if err != nil {
		return weight{}, err
	}
	defer s.stop()
	c := &clients{addr: s.addr, o: o}
	defer c.close()
	if err := c.open(first); err != nil {
		return weight{}, err
	}
	before, err := s.weigh(first)
	if err != nil {
		return weight{}, err
	}
	if err := c.open(o.n); err != nil {
		return weight{}, err
	}
	after, err := s.weigh(first + o.n)
	if err != nil {
		return weight{}, err
	}
	return after.minus(before), nil
}

// server is the process that is measured.
type server struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	addr string
}

// start starts this program a second time, as the server.
func start(o options) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"-serve", "-engine", o.engine.String(), fmt.Sprintf("-tls=%t", o.tls)}
	s := &server{cmd: exec.Command(self, args...)}
	s.cmd.Stderr = os.Stderr
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

func (s *server) line() (string, error) {
	line, err := s.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("the server ended: %w", err)
	}
	return strings.TrimSpace(line), nil
}

// weigh returns how much memory the server uses when n connections are idle.
func (s *server) weigh(n int) (w weight, err error) {
	if _, err := fmt.Fprintln(s.in, n); err != nil {
		return w, err
	}
	line, err := s.line()
	if err != nil {
		return w, err
	}
	if err := json.Unmarshal([]byte(line), &w); err != nil {
		return w, errors.New(line)
	}
	return w, nil
}

func (s *server) stop() {
	_ = s.in.Close()
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}
