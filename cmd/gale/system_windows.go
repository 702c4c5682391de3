package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/windows"
)

// Errors of listening and dialing.
const (
	errInUse   = windows.WSAEADDRINUSE
	errDenied  = windows.WSAEACCES
	errNotHere = windows.WSAEADDRNOTAVAIL
	errRefused = windows.WSAECONNREFUSED
)

// createLocked creates a file and locks it until it is closed: no other process can open
// it.
func createLocked(path string) (*os.File, error) { return openAlone(path, windows.CREATE_NEW) }

// lockOld opens a file that exists, so that no other process can. It returns nil if a
// process has the lock.
func lockOld(root *os.Root, path string) (*os.File, error) {
	f, err := openAlone(filepath.Join(root.Name(), path), windows.OPEN_EXISTING)
	if errors.Is(err, windows.ERROR_SHARING_VIOLATION) {
		return nil, nil
	}
	return f, err
}

func openAlone(path string, how uint32) (*os.File, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	const access = windows.GENERIC_READ | windows.GENERIC_WRITE
	h, err := windows.CreateFile(name, access, 0, nil, how, windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(h), path), nil
}

// lockedFilesStay reports whether a file can't be removed while it is locked.
const lockedFilesStay = true

// isOurs is true: every user has a folder for temporary files.
func isOurs(fs.FileInfo) bool { return true }

// browserCommand returns the command that opens a URL in the browser. It has a process
// group of its own, so that Ctrl-C doesn't end the browser.
func browserCommand(url string) *exec.Cmd {
	cmd := exec.Command("rundll32", "url.dll,FileProtocolHandler", url)
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
	return cmd
}

// ownGroup gives the process of cmd, which isn't started yet, a process group of its own.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// endGroup kills the process of cmd: there is no signal that asks it to end.
func endGroup(cmd *exec.Cmd, _ bool) { _ = cmd.Process.Kill() }

// columns returns the width of a terminal, or 80 if that isn't known.
func columns(f *os.File) int {
	var info windows.ConsoleScreenBufferInfo
	if windows.GetConsoleScreenBufferInfo(windows.Handle(f.Fd()), &info) == nil {
		return int(info.Window.Right-info.Window.Left) + 1
	}
	return 80
}
