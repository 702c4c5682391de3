package process

import (
	"runtime"

	"github.com/galehttp/gale/internal/measure/figures"
)

// Machine describes the machine and how much of it this process may use.
func Machine() figures.Machine {
	m := figures.Machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Allowed: runtime.NumCPU(),
		GOMAXPROCS: runtime.GOMAXPROCS(0), GoVersion: runtime.Version(),
	}
	describe(&m)
	return m
}

// machineTime is the CPU time of the whole machine since it started, in seconds of all
// cores. known is false if the system doesn't tell.
type machineTime struct {
	known bool
	total float64
	// programs is what ran programs and the kernel for them. Interrupts aren't in it: they
	// come from both sides' packets.
	programs float64
	stolen   float64
}
