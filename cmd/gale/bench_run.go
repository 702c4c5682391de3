package main

import (
	"context"
	"errors"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/galehttp/gale/cmd/gale/internal/load"
	"github.com/galehttp/gale/internal/measure/figures"
	procs "github.com/galehttp/gale/internal/measure/process" // process is a name of the tests
)

// errEnded is the error if the user ended the command before there was a result.
var errEnded = errors.New("ended before there was a result")

// run reaches the servers, measures, and writes the results.
func (b *bench) run(end ending, out *results) error {
	server, err := b.prepare(end.soon, out)
	if err != nil {
		return err
	}
	defer server.stop()
	run, err := b.measure(end, server, out)
	var refused *load.Error
	switch {
	case errors.As(err, &refused):
		return usagef("%s", refused.Text)
	case err != nil:
		return err
	}
	if err := out.write(run); err != nil {
		return err
	}
	if server.ended() {
		return server.failed(out.messages)
	}
	return verdictError(run)
}

// verdictError returns the exit code for a run, nil for 0.
func verdictError(run *figures.Run) error {
	if code := run.Verdict.ExitCode(); code != exitOK {
		return exitCode(code)
	}
	return nil
}

// prepare makes sure that the servers answer. It starts the one of -cmd.
func (b *bench) prepare(ctx context.Context, out *results) (*benchServer, error) {
	if b.cfg.cmd != "" {
		return b.startAndReach(ctx, out)
	}
	done := make(chan error, 1)
	go func() { done <- b.reach(ctx) }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for begin := time.Now(); ; {
		select {
		case err := <-done:
			return nil, err
		case <-tick.C:
			out.remind("connecting", begin)
		}
	}
}

// measure carries out the plan and returns the whole document.
func (b *bench) measure(end ending, server *benchServer, out *results) (*figures.Run, error) {
	meter, err := b.watch(server)
	if err != nil {
		return nil, err
	}
	defer meter.Close()
	progress := out.progress(b.plan)
	b.plan.Begin, b.plan.End = meter.Begin, meter.End
	b.plan.Opening = progress.ShowOpening
	b.plan.Tick = func(in *figures.Interval) {
		meter.Tick(in)
		progress.Show(in)
	}
	run, err := b.load(end, server)
	if errors.Is(err, errEnded) {
		return nil, err // it still runs, and may show progress
	}
	progress.Clear()
	if err != nil {
		return nil, err
	}
	run.Name, run.Tool, run.Command = b.cfg.name, toolName(), b.command
	run.Settings = b.settings()
	run.Interrupted = run.Interrupted && end.soon.Err() != nil // and not the end of the server
	for i := range run.Targets {
		run.Targets[i].Method = b.cfg.method
	}
	run.Machine = procs.Machine()
	meter.Fill(run)
	run.Verdict = figures.Judge(run)
	return run, nil
}

// watch begins to watch this process, and the server's if it is known.
func (b *bench) watch(server *benchServer) (*procs.Meter, error) {
	o := procs.Options{PID: b.cfg.pid, GoURL: b.cfg.goURL}
	if server != nil && runtime.GOOS == "linux" { // elsewhere a process can't be watched
		o.PID = server.cmd.Process.Pid
	}
	meter, err := procs.NewMeter(o)
	if err != nil {
		return nil, usagef("%v", err)
	}
	return meter, nil
}

// load carries out the plan. It ends early if the user wants it or the server ends.
func (b *bench) load(end ending, server *benchServer) (*figures.Run, error) {
	ctx, cancel := context.WithCancel(end.soon)
	defer cancel()
	defer collectLess()()
	type result struct {
		run *figures.Run
		err error
	}
	done := make(chan result, 1)
	go func() {
		run, err := load.Run(ctx, b.plan)
		done <- result{run, err}
	}()
	var exited chan struct{} // nil without a server
	if server != nil {
		exited = server.exited
	}
	for {
		select {
		case r := <-done:
			return r.run, r.err
		case <-exited:
			exited = nil
			cancel()
		case <-end.now.Done():
			server.kill()
			return nil, errEnded
		}
	}
}

// loadGCPercent makes collections rare while requests are measured: they need processors,
// and the heap is small, since a request allocates nothing.
const loadGCPercent = 400

// collectLess makes collections rare until the function that it returns is called. GOGC
// decides if the user has set it.
func collectLess() (restore func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(loadGCPercent)
	return func() { debug.SetGCPercent(before) }
}
