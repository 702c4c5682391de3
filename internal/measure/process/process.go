package process

import (
	"errors"
	"time"
)

// ErrUnsupported says that processes can't be watched on this system.
var ErrUnsupported = errors.New("a process can be watched on Linux only")

// Usage is what a process and its descendants used so far, and have now.
type Usage struct {
	CPU       time.Duration
	Delay     time.Duration // that threads were ready to run and waited for a core; -1 if unknown
	Memory    int64         // resident, in bytes
	Threads   int
	Processes int
	Ended     bool // there is no such process anymore; the rest is what was seen last
	// Thread holds the CPU time of each thread that was seen, by its id.
	Thread map[int]time.Duration

	looked int // threads whose files were read
}

// busiest returns the CPU time of the thread that ran most since before.
func (u *Usage) busiest(before *Usage) (most time.Duration) {
	for id, cpu := range u.Thread {
		most = max(most, cpu-before.Thread[id])
	}
	return most
}
