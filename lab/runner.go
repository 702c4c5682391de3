package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/galehttp/gale/internal/measure/figures"
	"github.com/galehttp/gale/internal/measure/process"
	"github.com/galehttp/gale/lab/answers"
	"github.com/galehttp/gale/lab/drive"
	"github.com/galehttp/gale/lab/plan"
	"github.com/galehttp/gale/lab/results"
	"github.com/galehttp/gale/lab/servers"
)

var errInterrupted = errors.New("interrupted; what was measured is kept")

// runner carries out "lab run".
type runner struct {
	ctx     context.Context
	o       *runOptions
	out     io.Writer
	tmp     string
	builder *servers.Builder
	bench   string // path of gale
	folder  *results.Folder
	servers []*servers.Server // that can run here
	cpus    []int             // of the server and of the generator; fewer: nothing is pinned
}

// job is a case in a mode.
type job struct {
	scenario *plan.Scenario
	c        *plan.Case
	mode     string
	servers  []*servers.Server
}

// newRunner builds what is needed and plans the run. The caller must call close.
func newRunner(ctx context.Context, o *runOptions, out io.Writer) (r *runner, err error) {
	r = &runner{ctx: ctx, o: o, out: out}
	if r.tmp, err = os.MkdirTemp("", "gale-lab."); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	if err := os.Chmod(r.tmp, 0o755); err != nil { // servers may run as another user
		return nil, err
	}
	if r.builder, err = servers.NewBuilder(o.lab, r.tmp); err != nil {
		return nil, err
	}
	if cpus := servers.CPUs(); len(cpus) >= 2 {
		r.cpus = cpus[:2]
	}
	if r.bench = o.generator; r.bench == "" {
		r.say("building gale")
		if r.bench, err = r.builder.GoBuild("gale", "..", "./cmd/gale"); err != nil {
			return nil, err
		}
	}
	r.folder, err = results.Create(o.out, results.Index{
		Command: append([]string{"go", "run", "."}, os.Args[1:]...), Began: time.Now(), Machine: process.Machine(),
		Baseline: servers.Baseline, Rounds: o.rounds, RoundNS: int64(o.round), WarmUpNS: int64(o.warmUp),
		Pinning: r.pinning(), Versions: map[string]string{},
	})
	return r, err
}

func (r *runner) close() { _ = os.RemoveAll(r.tmp) }

func (r *runner) say(format string, args ...any) { fmt.Fprintf(r.out, format+"\n", args...) }

func (r *runner) pinning() string {
	if r.cpus == nil {
		return "not on this machine, where processes can't be given a core each. All cores are shared."
	}
	return fmt.Sprintf("the server has CPU %d and one worker (GOMAXPROCS=1), the generator has CPU %d. Upstreams of proxies share the generator's.", r.cpus[0], r.cpus[1])
}

// leaveOut notes what isn't measured.
func (r *runner) leaveOut(l results.LeftOut) {
	r.folder.Index.LeftOut = append(r.folder.Index.LeftOut, l)
}

// run runs all jobs. An error of one case doesn't end the others.
func (r *runner) run() error {
	r.chooseServers()
	jobs := r.jobs()
	for _, j := range jobs {
		r.folder.Index.Cases = append(r.folder.Index.Cases, results.Case{Scenario: j.scenario.Name, Case: j.c.Name, Mode: j.mode, Servers: j.names()})
	}
	if err := r.folder.SaveIndex(); err != nil {
		return err
	}
	for i, j := range jobs {
		r.say("[%d of %d, %s] %s %s, %s", i+1, len(jobs), time.Since(r.folder.Index.Began).Round(time.Second), j.scenario.Name, j.c.Name, j.mode)
		if err := r.runJob(&j); err != nil {
			if r.ctx.Err() != nil {
				return errInterrupted
			}
			r.say("  left out: %v", err)
			r.leaveOut(results.LeftOut{Scenario: j.scenario.Name, Case: j.c.Name, Why: err.Error()})
		}
		if err := r.folder.SaveIndex(); err != nil {
			return err
		}
	}
	r.folder.Index.Ended = time.Now()
	return r.folder.SaveIndex()
}

func (r *runner) runJob(j *job) error {
	switch j.scenario.Kind {
	case plan.Clients:
		return r.runClients(j)
	case plan.GoBench:
		return r.runGoBench(j)
	}
	return r.runServers(j)
}

func (j *job) names() (names []string) {
	for _, s := range j.servers {
		names = append(names, s.Name)
	}
	return names
}

// chooseServers builds the servers that were asked for and notes those that can't run.
func (r *runner) chooseServers() {
	for _, s := range servers.All() {
		why := s.Missing()
		switch {
		case r.o.servers != nil && !slices.Contains(r.o.servers, s.Name):
			why = "it was not asked for"
		case r.o.servers == nil && r.o.quick && !s.Go():
			why = "a quick run needs nothing but Go"
		}
		if why == "" {
			r.say("building %s", s.Name)
			if err := r.builder.Build(s); err != nil {
				why = "it can't be built: " + firstLine(err)
			}
		}
		if why != "" {
			r.leaveOut(results.LeftOut{Server: s.Name, Why: why})
			continue
		}
		r.servers = append(r.servers, s)
	}
	r.leaveOut(results.LeftOut{Server: "gnet", Why: "it has no HTTP server of its own"})
	r.versions()
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// jobs returns what the run consists of, and notes what is left out.
func (r *runner) jobs() (jobs []job) {
	for _, s := range plan.Scenarios() {
		if !r.o.wants(&s) {
			continue
		}
		if s.Missing != "" {
			r.leaveOut(results.LeftOut{Scenario: s.Name, Why: s.Missing})
		}
		for i := range s.Cases {
			c := &s.Cases[i]
			if r.o.quick && !c.Quick {
				r.leaveOut(results.LeftOut{Scenario: s.Name, Case: c.Name, Why: "not a part of a quick run"})
				continue
			}
			for _, mode := range r.o.modes {
				if mode == results.Unpinned && !c.Unpinned {
					continue
				}
				jobs = append(jobs, job{&s, c, mode, r.able(&s, c)})
			}
		}
	}
	return jobs
}

// able returns the servers that can serve a case.
func (r *runner) able(sc *plan.Scenario, c *plan.Case) (able []*servers.Server) {
	if sc.Kind != plan.Servers {
		return nil
	}
	for _, s := range r.servers {
		if why := s.Lacks(c); why != "" {
			r.leaveOut(results.LeftOut{Server: s.Name, Scenario: sc.Name, Case: c.Name, Why: why})
			continue
		}
		able = append(able, s)
	}
	return able
}

// cores returns the cores of the server and of the generator, -1 for any, and how many
// threads the server should use.
func (r *runner) cores(mode string) (server, generator, workers int) {
	if mode == results.Unpinned || r.cpus == nil {
		return -1, -1, max(len(servers.CPUs()), 1)
	}
	return r.cpus[0], r.cpus[1], 1
}

// runServers starts all servers of a case, checks their answers, and runs the rounds.
func (r *runner) runServers(j *job) error {
	serverCPU, generatorCPU, workers := r.cores(j.mode)
	o := servers.Options{Workers: workers, Needs: j.c.Needs}
	if j.c.Needs.Proxy {
		up, err := r.upstream(generatorCPU)
		if err != nil {
			return err
		}
		defer up.Stop()
		o.To = up.Addr
	}
	running := r.startAll(j, o, serverCPU)
	defer func() {
		for _, p := range running {
			p.Stop()
		}
	}()
	more := moreTime(drive.Connections(&j.c.Load))
	b := &drive.Bench{Program: r.bench, Tmp: r.tmp, CPU: generatorCPU, WarmUp: r.o.warmUp + more, Round: r.o.round + more}
	failed := map[string]bool{}
	for round := range r.o.rounds + 1 { // the first is the warm-up
		for i := range running { // rotated, so that none is always the first
			p := running[(i+round)%len(running)]
			if failed[p.Server.Name] {
				continue
			}
			m := results.Measurement{Scenario: j.scenario.Name, Case: j.c.Name, Mode: j.mode, Server: p.Server.Name, Round: round, Command: p.Command}
			if err := r.measure(b, j.c, p, &m); err != nil {
				if r.ctx.Err() != nil || errors.Is(err, drive.ErrRefused) {
					return err
				}
				failed[p.Server.Name] = true
				r.say("  %s, round %d: %v", p.Server.Name, round, err)
				r.leaveOut(results.LeftOut{Server: p.Server.Name, Scenario: j.scenario.Name, Case: j.c.Name, Why: firstLine(err)})
				continue
			}
			if err := r.folder.Add(m); err != nil {
				return err
			}
		}
	}
	return nil
}

// moreTime is what loads of many connections need to open them, and to use each.
func moreTime(connections int) time.Duration {
	if connections < 1000 {
		return 0
	}
	return time.Duration(connections) * 100 * time.Microsecond
}

// upstream starts the server that proxies pass requests on to.
func (r *runner) upstream(cpu int) (*servers.Process, error) {
	s, err := servers.Find("gale-event")
	if err != nil {
		return nil, err
	}
	return r.builder.Start(r.ctx, s, servers.Options{Workers: 1}, cpu)
}

// startAll starts the servers of a job and keeps those that answer as they must.
func (r *runner) startAll(j *job, o servers.Options, cpu int) (running []*servers.Process) {
	for _, s := range j.servers {
		p, err := r.builder.Start(r.ctx, s, o, cpu)
		if err == nil {
			var extra []string
			if extra, err = answers.Check(r.ctx, p.Addr, j.c); err == nil {
				r.noteExtra(s.Name, j.scenario.Name, extra)
				running = append(running, p)
				continue
			}
			p.Stop()
			err = fmt.Errorf("its answer differs: %w", err)
		}
		r.say("  %s: %v", s.Name, err)
		r.leaveOut(results.LeftOut{Server: s.Name, Scenario: j.scenario.Name, Case: j.c.Name, Why: firstLine(err)})
	}
	return running
}

// noteExtra notes which fields a server sends that others don't.
func (r *runner) noteExtra(server, scenario string, extra []string) {
	extra = slices.DeleteFunc(extra, func(name string) bool { return scenario == "files" && name == "Accept-Ranges" })
	if len(extra) == 0 {
		return
	}
	note := fmt.Sprintf("%s also sends %s (first seen in %s).", server, strings.Join(extra, ", "), scenario)
	same := func(n string) bool {
		return strings.HasPrefix(n, strings.TrimSuffix(note, fmt.Sprintf("(first seen in %s).", scenario)))
	}
	if !slices.ContainsFunc(r.folder.Index.Notes, same) {
		r.folder.Index.Notes = append(r.folder.Index.Notes, note)
	}
}

// measure runs one round of one server.
func (r *runner) measure(b *drive.Bench, c *plan.Case, p *servers.Process, m *results.Measurement) error {
	if n := c.Load.Idle; n > 0 {
		before := servers.Resident(p.PID())
		idle, err := drive.OpenIdle(r.ctx, p.Addr, n, &c.Request)
		if err != nil {
			return fmt.Errorf("%d idle connections: %w", n, err)
		}
		defer idle.Close()
		if m.Round == 0 { // later the memory is used again
			m.IdleByte = (servers.Resident(p.PID()) - before) / int64(n)
		}
	}
	if m.Round == 0 {
		return r.warmUp(b, c, p, m)
	}
	run, err := b.Run(r.ctx, c, drive.Target{Addr: p.Addr, PID: p.PID()})
	if err != nil {
		return err
	}
	m.Run = run
	r.say("  %d %-12s %12s %14s/s  %s", m.Round, p.Server.Name, cpuText(run), figures.FormatRate(run.RequestsPerSecond), run.Verdict.Limit)
	return nil
}

// warmUp runs the round that doesn't count. All its requests are counted, so that
// allocations can be divided by them. Asking a server costs it time, so this is the only
// round that does.
func (r *runner) warmUp(b *drive.Bench, c *plan.Case, p *servers.Process, m *results.Measurement) error {
	all := *b
	all.Round, all.WarmUp = b.Round+b.WarmUp, 0
	before, known := p.Mallocs()
	run, err := all.Run(r.ctx, c, drive.Target{Addr: p.Addr, PID: p.PID()})
	if err != nil {
		return err
	}
	m.Run = run
	if after, ok := p.Mallocs(); ok && known && run.Requests.Sent >= fewRequests {
		allocs := float64(after-before) / float64(run.Requests.Sent)
		m.Allocs = &allocs
	}
	return nil
}

// fewRequests are too few to tell allocations of requests from those of the rest.
const fewRequests = 100

func cpuText(run *figures.Run) string {
	if run.Server == nil {
		return ""
	}
	return figures.FormatDuration(run.Server.CPUPerRequest)
}

// binary is the path of a program that is built for the run.
func (r *runner) binary(name, pkg string) (string, error) {
	path := filepath.Join(r.tmp, "bin", name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return r.builder.GoBuild(name, ".", pkg)
}
