package servers

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// CPUs returns the numbers of the cores that this process may use.
func CPUs() (cpus []int) {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return nil
	}
	for i := range len(set) * 64 {
		if set.IsSet(i) {
			cpus = append(cpus, i)
		}
	}
	return cpus
}

// StartOn starts cmd on a core, or on any if cpu is negative.
func StartOn(cmd *exec.Cmd, cpu int) error {
	if cpu < 0 {
		return cmd.Start()
	}
	// A child begins with the cores of the thread that starts it.
	runtime.LockOSThread()
	var before, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		runtime.UnlockOSThread()
		return err
	}
	one.Set(cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		runtime.UnlockOSThread()
		return err
	}
	err := cmd.Start()
	if back := unix.SchedSetaffinity(0, &before); back != nil {
		return err // the thread stays locked, so it ends with its goroutine
	}
	runtime.UnlockOSThread()
	return err
}

// Resident returns the resident memory of a process in bytes, 0 if it is unknown.
func Resident(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(text), "VmRSS:")
	if !ok {
		return 0
	}
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}
