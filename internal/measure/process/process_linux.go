package process

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/galehttp/gale/internal/measure/figures"
	"golang.org/x/sys/unix"
)

const (
	// maxProcesses and maxThreads bound a look at a process and its descendants: some 30 us
	// for each thread. What other threads waited for a core isn't counted.
	maxProcesses = 1000
	maxThreads   = 2000
)

// Process is a process that is watched, with its descendants. It is not safe for
// concurrent use.
type Process struct {
	pid     int
	alone   bool   // without its descendants
	started string // to notice another process with the same pid
	command string

	cpu    map[int]time.Duration // of each process that was seen
	thread map[int]time.Duration // likewise of each thread
	delay  map[int]time.Duration
	noWait bool // the kernel doesn't tell how long threads waited
}

// Open begins to watch the process pid. The error says that there is none or that its
// figures can't be read.
func Open(pid int) (*Process, error) { return open(pid, false) }

// openSelf begins to watch this process without its descendants: the server may be one.
func openSelf() (*Process, error) { return open(os.Getpid(), true) }

func open(pid int, alone bool) (*Process, error) {
	if pid <= 0 {
		return nil, fmt.Errorf("%d is not the id of a process", pid)
	}
	started, err := startOf(pid)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no process %d, or this user may not see it", pid)
	case err != nil:
		return nil, fmt.Errorf("process %d can't be watched: %w", pid, err)
	}
	p := &Process{
		pid: pid, alone: alone, started: started, command: commandOf(pid),
		cpu: map[int]time.Duration{}, thread: map[int]time.Duration{}, delay: map[int]time.Duration{},
	}
	if u := p.Usage(); u.Ended {
		return nil, fmt.Errorf("process %d has ended", pid)
	}
	return p, nil
}

// PID returns the id of the process.
func (p *Process) PID() int { return p.pid }

// Command returns the command line of the process.
func (p *Process) Command() string { return p.command }

// Usage looks at the process and its descendants.
func (p *Process) Usage() *Usage {
	u := &Usage{Delay: -1}
	if now, err := startOf(p.pid); err != nil || now != p.started {
		u.Ended = true
	} else {
		p.look(p.pid, u)
	}
	for _, cpu := range p.cpu {
		u.CPU += cpu
	}
	if !p.noWait {
		u.Delay = 0
		for _, d := range p.delay {
			u.Delay += d
		}
	}
	u.Thread = maps.Clone(p.thread)
	return u
}

// look adds pid and its descendants to u.
func (p *Process) look(pid int, u *Usage) {
	if u.Processes >= maxProcesses {
		return
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return
	}
	if s := field(status, "State:"); strings.HasPrefix(s, "Z") || strings.HasPrefix(s, "X") {
		u.Ended = u.Ended || pid == p.pid
		return
	}
	u.Processes++
	u.Memory += kilobytes(field(status, "VmRSS:"))
	if n := numbers([]byte(field(status, "Threads:"))); len(n) > 0 {
		u.Threads += int(n[0])
	}
	p.cpu[pid] = max(p.cpu[pid], cpuOf(pid))
	children := p.threads(pid, u)
	if p.alone {
		return
	}
	for _, child := range children {
		p.look(int(child), u)
	}
}

// threads notes what the threads of a process ran and waited, and returns the process's
// children.
func (p *Process) threads(pid int, u *Usage) (children []int64) {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil
	}
	for _, t := range tasks {
		id, err := strconv.Atoi(t.Name())
		if err != nil {
			continue
		}
		if u.looked++; u.looked > maxThreads {
			break
		}
		folder := fmt.Sprintf("/proc/%d/task/%d/", pid, id)
		if text, err := os.ReadFile(folder + "children"); err == nil {
			children = append(children, numbers(text)...)
		}
		text, err := os.ReadFile(folder + "schedstat")
		if err != nil {
			p.noWait = p.noWait || errors.Is(err, fs.ErrNotExist) && len(p.thread) == 0
			continue
		}
		if n := numbers(text); len(n) >= 2 {
			p.thread[id] = max(p.thread[id], time.Duration(n[0]))
			p.delay[id] = max(p.delay[id], time.Duration(n[1]))
		}
	}
	return children
}

// Cores returns which cores the process and its descendants may use, and how many of them
// at a time: not more than the quota of its cgroup, and than GOMAXPROCS of a Go program if
// it is in its environment.
func (p *Process) Cores() (list string, allowed float64) {
	cores := figures.Cores{}
	p.cores(p.pid, cores, map[int]bool{})
	allowed = float64(len(cores))
	if quota := quotaOf(p.pid); quota > 0 {
		allowed = min(allowed, quota)
	}
	if n := maxProcsOf(p.pid); n > 0 {
		allowed = min(allowed, float64(n))
	}
	return cores.String(), allowed
}

func (p *Process) cores(pid int, all figures.Cores, seen map[int]bool) {
	if seen[pid] || len(seen) >= maxProcesses {
		return
	}
	seen[pid] = true
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, t := range tasks[:min(len(tasks), maxThreads)] {
		folder := fmt.Sprintf("/proc/%d/task/%s/", pid, t.Name())
		if status, err := os.ReadFile(folder + "status"); err == nil {
			all.Add(figures.ParseCores(field(status, "Cpus_allowed_list:")))
		}
		if text, err := os.ReadFile(folder + "children"); err == nil {
			for _, child := range numbers(text) {
				p.cores(int(child), all, seen)
			}
		}
	}
}

// cpuOf returns the CPU time of a process, with its threads that have ended.
func cpuOf(pid int) time.Duration {
	var t unix.Timespec
	clock := int32(^pid<<3 | 2) // clock_getcpuclockid(3)
	if err := unix.ClockGettime(clock, &t); err == nil {
		return time.Duration(t.Nano())
	}
	const ticks = 100 // per second, for every program on Linux
	f := statOf(pid)
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(f[11], 10, 64)
	system, _ := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * (time.Second / ticks)
}

// statOf returns the fields of /proc/PID/stat after the name, which may hold anything.
func statOf(pid int) []string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	i := bytes.LastIndexByte(text, ')')
	return strings.Fields(string(text[i+1:]))
}

// startOf returns when a process started, as the kernel writes it.
func startOf(pid int) (string, error) {
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err != nil {
		return "", err
	}
	f := statOf(pid)
	if len(f) < 20 {
		return "", syscall.ESRCH
	}
	return f[19], nil
}

func commandOf(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if len(text) == 0 {
		text, _ = os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	}
	const limit = 4096
	text = bytes.TrimRight(text[:min(len(text), limit)], "\x00\n")
	return strings.ToValidUTF8(string(bytes.ReplaceAll(text, []byte{0}, []byte{' '})), "?")
}

// maxProcsOf returns GOMAXPROCS from the environment of a Go program, or 0.
func maxProcsOf(pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return 0
	}
	for v := range bytes.SplitSeq(text, []byte{0}) {
		value, ok := bytes.CutPrefix(v, []byte("GOMAXPROCS="))
		if !ok {
			continue
		}
		n, err := strconv.Atoi(string(value))
		if _, notGo := buildinfo.ReadFile(fmt.Sprintf("/proc/%d/exe", pid)); err != nil || notGo != nil {
			return 0
		}
		return max(n, 0)
	}
	return 0
}

// field returns the value of a line of /proc/PID/status or the like, or "".
func field(text []byte, name string) string {
	for line := range bytes.Lines(text) {
		if v, ok := bytes.CutPrefix(line, []byte(name)); ok {
			return string(bytes.TrimSpace(v))
		}
	}
	return ""
}

// kilobytes reads a value such as "123 kB" as bytes.
func kilobytes(v string) int64 {
	n, _ := strconv.ParseInt(strings.TrimSuffix(v, " kB"), 10, 64)
	return n * 1024
}

// numbers reads numbers between spaces.
func numbers(text []byte) (all []int64) {
	for f := range bytes.FieldsSeq(text) {
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return all
		}
		all = append(all, n)
	}
	return all
}
