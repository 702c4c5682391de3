//go:build unix

package prefork_test

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale/prefork"
)

// A new child may get the process id of one that has ended, before the master knows of that.
// The end of the old one must not be taken for that of the new one.
func TestSameProcessID(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	next, ended := lasting(t)
	var all []*exec.Cmd
	p := &prefork.Prefork{RecoverThreshold: 10, Logger: discard{}}
	p.CommandProducer = func(files []*os.File) (*exec.Cmd, error) {
		if len(all) == 3 {
			return nil, errHook
		}
		cmd, err := next(files)
		if err != nil {
			return nil, err
		}
		switch all = append(all, cmd); len(all) {
		case 1:
			_ = cmd.Process.Kill() // the third replaces it
		case 3:
			_ = all[1].Process.Kill()
			cmd.Process.Pid = all[1].Process.Pid
		}
		return cmd, nil
	}
	if !handlesChildren(t) {
		t.Skip("the system knows processes only by their ids")
	}
	if err := p.ListenAndServe("127.0.0.1:0"); !errors.Is(err, errHook) {
		t.Error(err)
	}
	if !ended() {
		t.Error("children are left")
		for _, cmd := range all {
			_ = cmd.Process.Kill()
		}
	}
}

// handlesChildren reports whether package os doesn't use Process.Pid to wait for a process.
func handlesChildren(t *testing.T) bool {
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	cmd.Process.Pid = os.Getpid()
	if cmd.Wait() == nil {
		return true
	}
	if p, err := os.FindProcess(pid); err == nil {
		_, _ = p.Wait()
	}
	return false
}

// readyCount is the output of commands. It counts their lines.
type readyCount struct {
	mu    sync.Mutex
	lines int
}

func (c *readyCount) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines += strings.Count(string(p), "\n")
	return len(p), nil
}

func (c *readyCount) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lines
}

// A process that a child has started, and that has the child's output, doesn't keep the
// master from noticing that the child has ended.
func TestOutputOutlivesChild(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		want         error
	}{
		{"the child ends", "cat <&3 & echo ready", prefork.ErrOverRecovery},
		{"the master ends it", "cat <&3 & echo ready; exec cat <&3", errHook},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			defer w.Close() // the processes end
			out := new(readyCount)
			p := &prefork.Prefork{Logger: discard{}}
			p.CommandProducer = func([]*os.File) (*exec.Cmd, error) {
				cmd := exec.Command("sh", "-c", tt.script)
				cmd.Stdout = out
				cmd.ExtraFiles = []*os.File{r}
				return cmd, cmd.Start()
			}
			p.OnMasterReady = func(pids []int) error {
				if tt.want != errHook {
					return nil
				}
				for over := time.Now().Add(wait); out.count() < len(pids) && time.Now().Before(over); {
					time.Sleep(time.Millisecond) // between two looks
				}
				return errHook
			}
			done := make(chan error, 1)
			go func() { done <- p.ListenAndServe("127.0.0.1:0") }()
			select {
			case err := <-done:
				if !errors.Is(err, tt.want) || strings.Contains(err.Error(), "can't be killed") {
					t.Error(err)
				}
			case <-time.After(wait):
				t.Error("the master waits for the output")
				w.Close()
				<-done
			}
		})
	}
}
