package lifetime

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// monitorEnv tells a process that it is the monitor of its parent. Its value has the
// descriptors that it must close, with commas between them.
const monitorEnv = "GALE_LIFETIME_MONITOR"

// monitor is the process that explains crashes, as its parent sees it.
var monitor struct {
	once sync.Once
	err  error

	mu   sync.Mutex
	file *os.File // see monitor_table.go
	head []byte   // mapped
	size int64    // of file
}

// startMonitor starts the monitor, once. It replaces what debug.SetCrashOutput was set to.
func startMonitor(library string) error {
	monitor.once.Do(func() {
		if err := launchMonitor(library); err != nil {
			monitor.err = fmt.Errorf("lifetime: starting the monitor: %w", err)
		}
	})
	return monitor.err
}

func launchMonitor(library string) error {
	file, err := sharedFile()
	if err != nil {
		return err
	}
	head, err := mapShared(file, 0, headBytes)
	if err != nil {
		_ = file.Close()
		return err
	}
	putHead(head, library)
	if err := runMonitor(file); err != nil {
		_, _ = unix.Munmap(head), file.Close()
		return err
	}
	monitor.file, monitor.head, monitor.size = file, head, alignPage(headBytes)
	return nil
}

// runMonitor starts this program again, with monitorEnv set: init (monitor_child_linux.go)
// sees it. The monitor reads what this process prints when it crashes. It ends when this
// process does, because the pipe ends.
//
// It isn't waited for: that would take a thread.
func runMonitor(file *os.File) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _, _ = r.Close(), w.Close() }()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	attr := &os.ProcAttr{
		Dir:   "/",
		Env:   append(os.Environ(), monitorEnv+"="+inherited(), "GOMAXPROCS=1"),
		Files: []*os.File{r, null, os.Stderr, file},
		Sys:   &syscall.SysProcAttr{Setpgid: true}, // signals of the terminal don't reach it
	}
	p, err := os.StartProcess("/proc/self/exe", []string{os.Args[0], "lifetime-monitor"}, attr)
	if errors.Is(err, os.ErrNotExist) { // no /proc
		var name string
		if name, err = os.Executable(); err == nil {
			p, err = os.StartProcess(name, []string{os.Args[0], "lifetime-monitor"}, attr)
		}
	}
	if err != nil {
		return err
	}
	if err := debug.SetCrashOutput(w, debug.CrashOptions{}); err != nil {
		return err
	}
	return p.Release()
}

// inherited returns the descriptors of this process that started programs get, such as
// listeners of systemd. Go's own are never among them.
func inherited() string {
	dir, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return ""
	}
	var all []string
	for _, e := range dir {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= monitorFile {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			all = append(all, e.Name())
		}
	}
	return strings.Join(all, ",")
}

// sharedFile returns a file in memory with no name, or else one that is deleted.
func sharedFile() (*os.File, error) {
	var f *os.File
	if fd, err := unix.MemfdCreate("gale-lifetime", unix.MFD_CLOEXEC); err == nil {
		f = os.NewFile(uintptr(fd), "gale-lifetime")
	} else {
		if f, err = os.CreateTemp("", "gale-lifetime-*"); err != nil {
			return nil, err
		}
		if err := os.Remove(f.Name()); err != nil {
			_ = f.Close()
			return nil, err
		}
	}
	if err := f.Truncate(alignPage(headBytes)); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func mapShared(f *os.File, offset int64, size int) ([]byte, error) {
	return unix.Mmap(int(f.Fd()), offset, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

// monitorSpace makes the monitor know a space, if it doesn't yet.
func monitorSpace(s *space) error {
	monitor.mu.Lock()
	defer monitor.mu.Unlock()
	if s.table != nil {
		return nil
	}
	size := alignPage(int64(len(s.owners)) * slotBytes)
	if err := monitor.file.Truncate(monitor.size + size); err != nil {
		return fmt.Errorf("lifetime: telling the monitor about pages: %w", err)
	}
	slots, err := mapShared(monitor.file, monitor.size, int(size))
	if err != nil {
		return fmt.Errorf("lifetime: telling the monitor about pages: %w", err)
	}
	if !putSpace(monitor.head, s, monitor.size) {
		_ = unix.Munmap(slots)
		return errors.New("lifetime: the monitor knows too many guards")
	}
	monitor.size += size
	s.table = &spaceTable{slots}
	return nil
}

func alignPage(n int64) int64 {
	page := int64(os.Getpagesize())
	return (n + page - 1) / page * page
}
