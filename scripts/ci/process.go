//go:build unix

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// grace is how long processes have to end after a signal, before they are killed.
var grace = 5 * time.Second

// runWhole runs a command, and lets none of the processes that it started survive. If ctx
// ends, they get a signal, so that they can remove what they made. Each of them has mark in
// its environment; on Linux those are found that have left the process group.
func runWhole(ctx context.Context, cmd *exec.Cmd, mark string) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return signalAll(cmd.Process.Pid, mark, syscall.SIGTERM) }
	cmd.WaitDelay = grace
	err := cmd.Run()
	if cmd.Process == nil {
		return err
	}
	for end := time.Now().Add(grace); ctx.Err() != nil && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if signalAll(cmd.Process.Pid, mark, 0) != nil {
			break
		}
	}
	// A process may start another one while these are found.
	for range 10 {
		if signalAll(cmd.Process.Pid, mark, syscall.SIGKILL) != nil {
			break
		}
	}
	return err
}

// signalAll sends a signal to a process group and to the processes that have mark in their
// environment. The error means that there is none.
func signalAll(group int, mark string, signal syscall.Signal) error {
	err := syscall.Kill(-group, signal)
	for _, pid := range marked(mark) {
		if syscall.Kill(pid, signal) == nil {
			err = nil
		}
	}
	return err
}

// marked returns the processes that have mark in their environment.
func marked(mark string) []int {
	var pids []int
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains("\x00"+string(text), "\x00"+mark+"\x00") {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// cpu returns the time on processors of a process that has ended, and of its children.
func cpu(state *os.ProcessState) time.Duration {
	if state == nil {
		return 0
	}
	return state.UserTime() + state.SystemTime()
}
