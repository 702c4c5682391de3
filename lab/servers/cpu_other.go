//go:build !linux

package servers

import "os/exec"

// CPUs returns nil: processes can't be given a core here.
func CPUs() []int { return nil }

// StartOn starts cmd on any core.
func StartOn(cmd *exec.Cmd, cpu int) error { return cmd.Start() }

// Resident returns 0: unknown.
func Resident(pid int) int64 { return 0 }
