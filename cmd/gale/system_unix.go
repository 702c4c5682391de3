//go:build unix

package main

import (
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Errors of listening and dialing.
const (
	errInUse   = syscall.EADDRINUSE
	errDenied  = syscall.EACCES
	errNotHere = syscall.EADDRNOTAVAIL
	errRefused = syscall.ECONNREFUSED
)

// createLocked creates a file and locks it until it is closed. No process finds it at
// path before it is locked.
func createLocked(path string) (*os.File, error) {
	before := path + ".new"
	f, err := os.OpenFile(before, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		err = os.Rename(before, path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// lockOld locks a file that exists. It returns nil if a process has the lock.
func lockOld(root *os.Root, path string) (*os.File, error) {
	f, err := root.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		f.Close()
		return nil, nil
	}
	return f, nil
}

// lockedFilesStay reports whether a file can't be removed while it is locked.
const lockedFilesStay = false

// isOurs reports whether a file belongs to the user of this process.
func isOurs(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// browserCommand returns the command that opens a URL in the browser. It has a session
// of its own, so that Ctrl-C doesn't end the browser.
func browserCommand(url string) *exec.Cmd {
	name := "xdg-open"
	if runtime.GOOS == "darwin" {
		name = "open"
	}
	cmd := exec.Command(name, url)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// ownGroup gives the process of cmd, which isn't started yet, a process group of its own.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// endGroup asks the processes of cmd's group to end, or kills them.
func endGroup(cmd *exec.Cmd, kill bool) {
	sig := syscall.SIGTERM
	if kill {
		sig = syscall.SIGKILL
	}
	_ = syscall.Kill(-cmd.Process.Pid, sig)
}

// columns returns the width of a terminal, or 80 if that isn't known.
func columns(f *os.File) int {
	if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 {
		return int(size.Col)
	}
	return 80
}
