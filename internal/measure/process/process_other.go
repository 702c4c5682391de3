//go:build !linux

package process

import "github.com/galehttp/gale/internal/measure/figures"

// Process is a process that is watched. There are none on this system.
type Process struct{}

// Open returns ErrUnsupported on this system.
func Open(pid int) (*Process, error) { return nil, ErrUnsupported }

func openSelf() (*Process, error) { return nil, ErrUnsupported }

// PID returns 0 on this system.
func (p *Process) PID() int { return 0 }

// Command returns "" on this system.
func (p *Process) Command() string { return "" }

// Usage returns nothing on this system.
func (p *Process) Usage() *Usage { return &Usage{Delay: -1, Ended: true} }

// Cores returns nothing on this system.
func (p *Process) Cores() (list string, allowed float64) { return "", 0 }

func describe(*figures.Machine) {}

func timeOfMachine() machineTime { return machineTime{} }
