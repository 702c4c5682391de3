//go:build unix

package drive

import (
	"golang.org/x/sys/unix"

	"github.com/galehttp/gale/lab/plan"
)

// Connections is how many connections a load opens. A process has one descriptor for each,
// and each needs a local port, of which the kernel gives some 28,000 for a server's address.
func Connections(l *plan.Load) int {
	if l.Connections != plan.All {
		return l.Connections
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return 900
	}
	const others = 100 // descriptors of the process that are no connections
	return int(min(uint64(limit.Max)-others, 25000))
}
