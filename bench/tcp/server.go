package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// server is a process under measurement.
type server struct {
	name    string
	addr    string
	cmd     *exec.Cmd
	samples []sample
}

// sample is one round.
type sample struct {
	requests int
	cpu      time.Duration
	wall     time.Duration
}

func (s sample) cpuPerRequest() float64 {
	return float64(s.cpu.Nanoseconds()) / float64(s.requests) / 1000
}
func (s sample) rate() float64 { return float64(s.requests) / s.wall.Seconds() }
func (s sample) busy() float64 { return s.cpu.Seconds() / s.wall.Seconds() }

// program is a server that is built: a package, and arguments for it.
type program struct {
	pkg  string
	args []string
}

// programs are the servers that can be measured: the same program in several ways, and
// proxies.
var programs = map[string]program{
	"gale":       {pkg: "github.com/galehttp/gale/tests/hello"},
	"gale-block": {pkg: "github.com/galehttp/gale/tests/hello", args: []string{"-engine", "block"}},
	"gale-event": {pkg: "github.com/galehttp/gale/tests/hello", args: []string{"-engine", "event"}},
	"fasthttp":   {pkg: "github.com/galehttp/gale/bench/peers/fasthttp"},
	"nethttp":    {pkg: "github.com/galehttp/gale/bench/peers/nethttp"},
	"reverse":    {pkg: "github.com/galehttp/gale/bench/peers/reverse"},
	"httputil":   {pkg: "github.com/galehttp/gale/bench/peers/httputil"},
}

// startServer builds and starts a server and waits until it listens.
func startServer(dir, name string, o options) (*server, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	args, err := command(dir, name, addr, o)
	if err != nil {
		return nil, err
	}
	if o.pin {
		args = append([]string{"taskset", "-c", "0"}, args...)
	}
	s := &server{name: name, addr: addr, cmd: exec.Command(args[0], args[1:]...)}
	s.cmd.Stderr = os.Stderr
	if o.pin {
		s.cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	if err := s.waitUntilUp(o.tls); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// command builds a server and returns how to run it.
func command(dir, name, addr string, o options) ([]string, error) {
	if other := others[name]; o.http2 && other != nil {
		return other(dir, addr, o)
	}
	to := ""
	if proxies[name] {
		var err error
		if to, err = o.upstream.addrOf(dir, o); err != nil {
			return nil, err
		}
	}
	if name == "nginx" {
		return nginxArgs(dir, addr, to)
	}
	p, ok := programs[name]
	if !ok {
		return nil, fmt.Errorf("there is no server %q", name)
	}
	bin := filepath.Join(dir, name)
	if out, err := exec.Command("go", "build", "-o", bin, p.pkg).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build %s: %w\n%s", p.pkg, err, out)
	}
	if to != "" {
		return []string{bin, "-addr", addr, "-to", to}, nil
	}
	args := append([]string{bin, "-addr", addr, "-headers", strconv.Itoa(o.headers)}, p.args...)
	switch {
	case o.tls:
		args = append(args, "-tls")
	case o.http2:
		args = append(args, "-h2c")
	}
	return args, nil
}

// freeAddr returns an address on loopback that nothing listens on.
func freeAddr() (string, error) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer ln.Close()
	return ln.Addr().String(), nil
}

func (s *server) waitUntilUp(overTLS bool) error {
	for range 100 {
		c, err := net.Dial("tcp", s.addr)
		if err != nil {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		defer c.Close()
		if overTLS { // whole, or the server logs that it wasn't
			return tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}).Handshake()
		}
		return nil
	}
	return fmt.Errorf("%s doesn't listen on %s", s.name, s.addr)
}

func (s *server) stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// measure runs one round. The connections are made and warmed up before the
// clock starts.
func (s *server) measure(request []byte, o options) error {
	l, err := dialAll(s.addr, request, o)
	if err != nil {
		return err
	}
	defer l.close()
	l.start()
	time.Sleep(o.round / 5)

	cpu, n, began := s.cpu(), l.answered(), time.Now()
	time.Sleep(o.round)
	wall := time.Since(began)
	got := sample{l.answered() - n, s.cpu() - cpu, wall}

	if err := l.stop(); err != nil {
		return err
	}
	if got.requests == 0 || got.cpu == 0 {
		return errors.New("no request was answered")
	}
	s.samples = append(s.samples, got)
	return nil
}

// cpu returns the time that all threads of the process ran.
func (s *server) cpu() (total time.Duration) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", s.cmd.Process.Pid))
	for _, t := range tasks {
		text, err := os.ReadFile(t)
		if err != nil {
			continue // the thread has ended
		}
		ns, _, _ := strings.Cut(string(text), " ")
		n, _ := strconv.ParseInt(ns, 10, 64)
		total += time.Duration(n)
	}
	return total
}

func (s *server) median(figure func(sample) float64) float64 {
	var v []float64
	for _, sm := range s.samples {
		v = append(v, figure(sm))
	}
	slices.Sort(v)
	return v[len(v)/2]
}
