// Package drive makes load, by gale bench as a process of its own.
package drive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/galehttp/gale/internal/measure/figures"
	"github.com/galehttp/gale/lab/answers"
	"github.com/galehttp/gale/lab/plan"
	"github.com/galehttp/gale/lab/servers"
)

// Bench runs gale bench.
type Bench struct {
	Program string // path of gale
	Tmp     string // for documents and bodies
	CPU     int    // core of the generator, -1: any
	WarmUp  time.Duration
	Round   time.Duration
}

// Target is a running server.
type Target struct {
	Addr string
	PID  int // 0: not watched
}

// patience is how much longer than asked a run may take, for connecting and for answers
// that come late.
const patience = 20 * time.Second

// ErrRefused says that gale bench can't make the load at all.
var ErrRefused = errors.New("gale bench refused")

// Run sends a case's load once and returns the document. That requests failed is no error.
func (b *Bench) Run(ctx context.Context, c *plan.Case, t Target) (*figures.Run, error) {
	file := filepath.Join(b.Tmp, "run.json")
	_ = os.Remove(file)
	args, err := b.args(c, t, file)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, b.WarmUp+b.Round+patience)
	defer cancel()
	cmd := exec.Command(b.Program, args...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := servers.StartOn(cmd, b.CPU); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	ended := cmd.Wait()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("gale bench did not end within %s of its time", patience)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case cmd.ProcessState.ExitCode() == 2:
		return nil, fmt.Errorf("%w: %s", ErrRefused, strings.TrimPrefix(firstLine(said.String()), "gale bench: "))
	}
	run, err := figures.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) { // it could not begin
		return nil, fmt.Errorf("gale bench: %w: %s", ended, firstLine(said.String()))
	}
	if err != nil {
		return nil, err
	}
	shorten(run)
	return run, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func (b *Bench) args(c *plan.Case, t Target, file string) ([]string, error) {
	l := &c.Load
	args := []string{"bench", answers.URL(t.Addr, c), "-q", "--json", file, "-d", b.Round.String(), "-c", strconv.Itoa(Connections(l))}
	if b.CPU >= 0 {
		args = append(args, "-t", "1")
	}
	if b.WarmUp > 0 {
		args = append(args, "--warmup", b.WarmUp.String())
	}
	if t.PID != 0 {
		args = append(args, "--pid", strconv.Itoa(t.PID))
	}
	number := func(name string, n int) {
		if n > 0 {
			args = append(args, name, strconv.Itoa(n))
		}
	}
	number("--pipeline", l.Pipeline)
	number("--requests-per-conn", l.RequestsPerConn)
	number("--rate", l.Rate)
	number("--streams", l.Streams)
	flag := func(name string, on bool) {
		if on {
			args = append(args, name)
		}
	}
	flag("--no-keepalive", l.NoKeepAlive)
	flag("--http2", l.HTTP2)
	flag("--insecure", c.Needs.TLS)
	flag("--no-resumption", l.NoResumption)
	for _, f := range fields(c) {
		args = append(args, "-H", f)
	}
	if n := c.Request.Body; n > 0 {
		body := filepath.Join(b.Tmp, fmt.Sprintf("body-%d", n))
		if err := os.WriteFile(body, plan.Payload(n), 0o644); err != nil {
			return nil, err
		}
		args = append(args, "--body-file", body)
		if !l.WebSocket {
			args = append(args, "-X", c.Request.Method)
		}
	}
	return args, nil
}

// fields are those of a request, and what leaves out those that gale bench sends by itself.
func fields(c *plan.Case) []string {
	all := slices.Clone(c.Request.Fields)
	for _, name := range []string{"User-Agent:", "Accept:"} {
		if !slices.ContainsFunc(all, func(f string) bool { return strings.HasPrefix(f, name) }) {
			all = append(all, name)
		}
	}
	return all
}

// shorten drops what reports of the lab don't need: a run has some ten thousand bytes
// otherwise.
func shorten(run *figures.Run) {
	run.Intervals, run.Targets, run.Steps = nil, nil, nil
	run.Latency.Histogram = ""
	run.Connections.Connect.Histogram, run.Connections.TLS.Histogram, run.Generator.Wait.Histogram = "", "", ""
	if run.Schedule != nil {
		run.Schedule.Late.Histogram = ""
	}
}
