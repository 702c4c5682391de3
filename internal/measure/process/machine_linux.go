package process

import (
	"bytes"
	"os"
	"strings"

	"github.com/galehttp/gale/internal/measure/figures"
)

func describe(m *figures.Machine) {
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(text))
	}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		_, m.CPU, _ = strings.Cut(field(text, "model name"), ": ")
	}
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		m.MemoryByte = kilobytes(field(text, "MemTotal:"))
	}
	if text, err := os.ReadFile("/proc/stat"); err == nil {
		m.CPUs = max(bytes.Count(text, []byte("\ncpu")), 1)
	}
	if text, err := os.ReadFile("/proc/self/status"); err == nil {
		m.Cores = field(text, "Cpus_allowed_list:")
		m.Allowed = max(len(figures.ParseCores(m.Cores)), 1)
	}
}

// timeOfMachine reads the first line of /proc/stat.
func timeOfMachine() (t machineTime) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return t
	}
	n := numbers([]byte(field(text, "cpu ")))
	if len(n) < 8 {
		return t
	}
	const ticks = 100 // per second, for every program on Linux
	user, nice, system, stolen := n[0], n[1], n[2], n[7]
	for _, v := range n[:8] { // what follows is in user and nice already
		t.total += float64(v) / ticks
	}
	t.programs = float64(user+nice+system) / ticks
	t.stolen = float64(stolen) / ticks
	t.known = true
	return t
}
