package prefork

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// master is the state of a running master. All methods except wait run on one goroutine.
type master struct {
	*Prefork
	files    []*os.File
	children map[*exec.Cmd]bool // removed when their end is reported
	ended    chan ending
	stopping chan struct{} // closed when children are no longer replaced
	endings  int           // how many children have ended
}

// ending says that a child has ended. err is nil if its exit status was 0. A new child may
// have its process id before that is known.
type ending struct {
	cmd *exec.Cmd
	err error
}

// supervise is ListenAndServe in the master.
func (p *Prefork) supervise(addr string) (err error) {
	files, err := p.listen(addr)
	if err != nil {
		return err
	}
	m := &master{
		Prefork:  p,
		files:    files,
		children: make(map[*exec.Cmd]bool),
		ended:    make(chan ending),
		stopping: make(chan struct{}),
	}
	signals := make(chan os.Signal, 2)
	notify(signals)
	defer signal.Stop(signals)
	defer func() {
		if stopErr := m.stop(signals); stopErr != nil {
			err = errors.Join(err, stopErr)
		}
	}()

	if err := m.startAll(); err != nil {
		return err
	}
	return m.watch(signals)
}

// startAll starts the first children.
func (m *master) startAll() error {
	var pids []int
	for range runtime.GOMAXPROCS(0) {
		pid, err := m.start()
		if err != nil {
			return err
		}
		pids = append(pids, pid)
	}
	if m.OnMasterReady != nil {
		if err := m.OnMasterReady(pids); err != nil {
			m.logf("prefork: OnMasterReady: %v", err)
			return err
		}
	}
	return nil
}

// start starts a child.
func (m *master) start() (pid int, err error) {
	cmd, err := m.command()
	if err != nil {
		m.logf("prefork: failed to start a child process: %v", err)
		return 0, err
	}
	pid = cmd.Process.Pid
	m.children[cmd] = true
	go m.wait(cmd)
	if m.OnChildSpawn != nil {
		if err := m.OnChildSpawn(pid); err != nil {
			m.logf("prefork: OnChildSpawn for PID %d: %v", pid, err)
			return 0, err
		}
	}
	return pid, nil
}

// outputDelay is how long the output of a child that has ended is awaited, if it comes through
// a pipe. Another process may keep the pipe open forever.
const outputDelay = time.Second

// command starts a new child and returns its command.
func (m *master) command() (*exec.Cmd, error) {
	if m.CommandProducer == nil {
		return again(m.files)
	}
	cmd, err := m.CommandProducer(m.files)
	switch {
	case err != nil:
		return nil, fmt.Errorf("prefork: command producer: %w", err)
	case cmd == nil:
		return nil, ErrCommandProducerNilCmd
	case cmd.Process == nil:
		return nil, ErrCommandProducerNotStarted
	}
	if cmd.WaitDelay == 0 && cmd.Cancel == nil { // a command with a context may be using the field
		cmd.WaitDelay = min(outputDelay, m.gracePeriod()/2)
	}
	return cmd, nil
}

// again starts this program again, as a child.
func again(files []*os.File) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("prefork: find the program that runs: %w", err)
	}
	cmd := exec.Command(program)
	cmd.Args = os.Args
	cmd.Env = append(os.Environ(), childVar+"=1", masterVar+"="+strconv.Itoa(os.Getpid()))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.ExtraFiles = files
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("prefork: %w", err)
	}
	return cmd, nil
}

// wait waits for the end of a child and reports it after RecoverInterval, when it is time
// to replace the child.
func (m *master) wait(cmd *exec.Cmd) {
	err := cmd.Wait()
	if m.RecoverInterval > 0 {
		delay := time.NewTimer(m.RecoverInterval)
		defer delay.Stop()
		select {
		case <-delay.C:
		case <-m.stopping:
		}
	}
	m.ended <- ending{cmd, err}
}

// watch replaces children that end, until a signal comes or too many have ended.
func (m *master) watch(signals <-chan os.Signal) error {
	for {
		select {
		case <-signals:
			return nil
		case e := <-m.ended:
			delete(m.children, e.cmd)
			if len(signals) > 0 {
				return nil // the child may have got the same signal
			}
			if err := m.replace(e); err != nil {
				return err
			}
		}
	}
}

// replace starts a new child for one that has ended, unless too many have ended.
func (m *master) replace(e ending) error {
	old := e.cmd.Process.Pid
	if e.err != nil {
		m.logf("prefork: child PID %d exited: %v", old, e.err)
	} else {
		m.logf("prefork: child PID %d exited cleanly", old)
	}
	m.endings++
	if m.endings > m.RecoverThreshold {
		m.logf("prefork: child exits (%d) exceed RecoverThreshold (%d), terminating master", m.endings, m.RecoverThreshold)
		return ErrOverRecovery
	}
	pid, err := m.start()
	if err != nil {
		return err
	}
	if m.OnChildRecover != nil {
		m.OnChildRecover(old, pid)
	}
	return nil
}

// stop ends all children. It sends them SIGTERM, and kills those that don't end within
// the grace period, or at once if another signal comes.
func (m *master) stop(signals <-chan os.Signal) error {
	close(m.stopping)
	for _, f := range m.files {
		f.Close()
	}
	for cmd := range m.children {
		if cmd.Process.Signal(syscall.SIGTERM) != nil && runtime.GOOS == "windows" {
			_ = cmd.Process.Kill()
		}
	}
	grace := m.gracePeriod()
	if m.reap(signals, grace) {
		return nil
	}
	for cmd := range m.children {
		m.logf("prefork: child PID %d doesn't end, killing it", cmd.Process.Pid)
		_ = cmd.Process.Kill()
	}
	if !m.reap(nil, grace) {
		m.forget()
		return fmt.Errorf("prefork: %d children can't be killed", len(m.children))
	}
	return nil
}

// reap waits until all children have ended. It returns false if d has passed or a signal
// comes.
func (m *master) reap(signals <-chan os.Signal, d time.Duration) bool {
	over := time.NewTimer(d)
	defer over.Stop()
	for len(m.children) > 0 {
		select {
		case e := <-m.ended:
			delete(m.children, e.cmd)
		case <-over.C:
			return false
		case <-signals:
			return false
		}
	}
	return true
}

// forget receives from the goroutines that still wait for children that can't be killed,
// so that these goroutines can end.
func (m *master) forget() {
	go func(n int) {
		for range n {
			<-m.ended
		}
	}(len(m.children))
}
