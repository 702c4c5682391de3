package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/galehttp/gale/internal/measure/figures"
	"github.com/galehttp/gale/internal/measure/process"
	"github.com/galehttp/gale/lab/results"
	"github.com/galehttp/gale/lab/servers"
)

// libraries are the clients that are compared. Their names are those of the servers, so that
// ratios have the same baseline.
var libraries = []struct{ name, flag string }{{"gale", "gale"}, {"fasthttp", "fasthttp"}, {servers.Baseline, "nethttp"}}

// runClients measures clients, on the core that servers have otherwise, and a server on the
// generator's.
func (r *runner) runClients(j *job) error {
	clientCPU, serverCPU, _ := r.cores(j.mode)
	program, err := r.binary("clients", "./clients")
	if err != nil {
		return err
	}
	up, err := r.upstream(serverCPU)
	if err != nil {
		return err
	}
	defer up.Stop()
	entry := &r.folder.Index.Cases[r.indexOf(j)]
	for _, l := range libraries {
		entry.Servers = append(entry.Servers, l.name)
	}
	args := []string{"-url", "http://" + up.Addr + "/", "-c", strconv.Itoa(j.c.Load.Connections), "-d", r.o.round.String(), "-warmup", r.o.warmUp.String()}
	for round := range r.o.rounds + 1 { // the first is the warm-up
		for i := range libraries {
			l := libraries[(i+round)%len(libraries)]
			cmd := exec.Command(program, append([]string{"-library", l.flag}, args...)...)
			run, err := r.runClient(cmd, clientCPU)
			if err != nil {
				return err
			}
			r.say("  %d %-12s %12s %14s/s", round, l.name, cpuText(run), figures.FormatRate(run.RequestsPerSecond))
			m := results.Measurement{Scenario: j.scenario.Name, Case: j.c.Name, Mode: j.mode, Server: l.name, Round: round, Command: cmd.Args, Run: run}
			if round == 0 {
				m.Allocs = &run.Server.AllocsPerRequest
			}
			err = r.folder.Add(m)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *runner) indexOf(j *job) int {
	for i, c := range r.folder.Index.Cases {
		if c.Scenario == j.scenario.Name && c.Case == j.c.Name && c.Mode == j.mode {
			return i
		}
	}
	return -1
}

// runClient runs a client's process. Its figures take the place of a server's in the
// document.
func (r *runner) runClient(cmd *exec.Cmd, cpu int) (*figures.Run, error) {
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if cpu >= 0 {
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	}
	if err := servers.StartOn(cmd, cpu); err != nil {
		return nil, err
	}
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("%q: %w: %s", cmd.Args, err, bytes.TrimSpace(said.Bytes()))
	}
	var got struct {
		Requests, Failed int64
		Seconds          float64
		CPUSeconds       float64 `json:"cpu_seconds"`
		Allocs           float64
		MemoryByte       int64 `json:"memory_byte"`
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		return nil, err
	}
	run := &figures.Run{
		Format: figures.Format, Tool: "lab/clients", Command: cmd.Args, Seconds: got.Seconds, Machine: process.Machine(),
		Requests: figures.Requests{Sent: got.Requests + got.Failed, Good: got.Requests, Failed: got.Failed},
		Server:   &figures.Server{CPUSeconds: got.CPUSeconds, MemoryByte: got.MemoryByte},
		Verdict:  figures.Verdict{Limit: figures.LimitServer, Text: "The client's process was measured."},
	}
	if got.Requests == 0 || got.Failed > 0 {
		run.Verdict = figures.Verdict{Limit: figures.LimitErrors, Text: fmt.Sprintf("%d requests failed.", got.Failed)}
		return run, nil
	}
	n := float64(got.Requests)
	run.RequestsPerSecond = n / got.Seconds
	run.Server.CPUPerRequest = int64(got.CPUSeconds * 1e9 / n)
	run.Server.AllocsPerRequest = got.Allocs / n
	return run, nil
}

// gobenchPattern selects the benchmarks of module bench that compare servers in memory.
const gobenchPattern = "^BenchmarkServer$/head=(small|browser)/perconn=(1|10000)/extra=0"

// runGoBench runs the benchmarks of module bench and keeps its table of ratios.
func (r *runner) runGoBench(j *job) error {
	var all bytes.Buffer
	dir := filepath.Join(r.o.lab, "..", "bench")
	for range r.o.rounds {
		cmd := exec.CommandContext(r.ctx, "go", "test", "-run", "^$", "-bench", gobenchPattern, "-benchtime", "200ms", "-cpu", "1", ".")
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &all, &all
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("go test -bench: %w: %.200s", err, all.String())
		}
	}
	table := exec.CommandContext(r.ctx, "go", "run", "./cmd/table")
	table.Dir, table.Stdin = dir, &all
	out, err := table.CombinedOutput()
	if err != nil {
		return fmt.Errorf("cmd/table: %w: %.200s", err, out)
	}
	return r.folder.Add(results.Measurement{Scenario: j.scenario.Name, Case: j.c.Name, Mode: j.mode, Server: "all", Round: 1, Text: string(bytes.TrimRight(out, "\n"))})
}

// readText returns a file's text, "" if it can't be read.
func readText(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(text)
}
