package servers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Process is a running server.
type Process struct {
	Server  *Server
	Addr    string
	Command []string // what was run, with the environment and the core that matter

	side string
	cmd  *exec.Cmd
	log  output
}

// output keeps the beginning of what a process wrote.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if left := 4096 - o.text.Len(); left > 0 {
		o.text.Write(p[:min(left, len(p))])
	}
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.TrimSpace(o.text.String())
}

// Start builds s if need be, starts it and waits until it listens. cpu is the core that it
// gets, or -1.
func (b *Builder) Start(ctx context.Context, s *Server, o Options, cpu int) (*Process, error) {
	path, err := b.path(s)
	if err != nil {
		return nil, err
	}
	if o.Addr, err = freeAddr(); err != nil {
		return nil, err
	}
	if s.Go() {
		if o.Side, err = freeAddr(); err != nil {
			return nil, err
		}
	}
	args, err := s.args(s, b, o)
	if err != nil {
		return nil, err
	}
	p := &Process{Server: s, Addr: o.Addr, side: o.Side, cmd: exec.Command(path, args...)}
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	env := s.env
	if o.Workers == 1 {
		env = append(env[:len(env):len(env)], "GOMAXPROCS=1")
	}
	p.cmd.WaitDelay = time.Second // a process of its may keep the log open
	ownGroup(p.cmd)
	p.cmd.Env = append(os.Environ(), env...)
	p.Command = append(append(env[:len(env):len(env)], pinText(cpu)...), p.cmd.Args...)
	if err := StartOn(p.cmd, cpu); err != nil {
		return nil, err
	}
	if err := p.waitUntilUp(ctx); err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}

// pinText is how a user would give a process a core.
func pinText(cpu int) []string {
	if cpu < 0 {
		return nil
	}
	return []string{"taskset", "-c", fmt.Sprint(cpu)}
}

func (p *Process) waitUntilUp(ctx context.Context) error {
	for range 200 {
		if c, err := net.Dial("tcp", p.Addr); err == nil {
			return c.Close()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(25 * time.Millisecond):
		}
	}
	return fmt.Errorf("%s doesn't listen on %s: %s", p.Server.Name, p.Addr, p.log.String())
}

// PID is the process's number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stop ends the process and those that it has started.
func (p *Process) Stop() {
	killGroup(p.cmd)
	_ = p.cmd.Wait()
}

// Mallocs returns how many objects a server in Go has allocated so far, false for others.
func (p *Process) Mallocs() (n uint64, ok bool) {
	if p.side == "" {
		return 0, false
	}
	c := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := c.Get("http://" + p.side + "/")
	if err != nil {
		return 0, false
	}
	defer r.Body.Close()
	var vars struct {
		Memstats struct{ Mallocs uint64 } `json:"memstats"`
	}
	err = json.NewDecoder(r.Body).Decode(&vars)
	return vars.Memstats.Mallocs, err == nil
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
