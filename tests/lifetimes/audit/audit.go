// Package audit is where programs write lines that are read later. It stands for a log, a
// database or a queue.
package audit

import (
	"sync"
	"time"
)

var (
	mu    sync.Mutex
	lines []string
)

// Log adds a line. It keeps the string.
func Log(line string) {
	mu.Lock()
	defer mu.Unlock()
	lines = append(lines, line)
}

// Lines returns all lines.
func Lines() []string {
	mu.Lock()
	defer mu.Unlock()
	return append([]string(nil), lines...)
}

// Wait waits until there are n lines, or stop returns true, or for at most limit. It
// reports whether there are n lines.
func Wait(n int, limit time.Duration, stop func() bool) bool {
	for end := time.Now().Add(limit); ; time.Sleep(time.Millisecond) {
		if len(Lines()) >= n {
			return true
		}
		if stop() || time.Now().After(end) {
			return false
		}
	}
}
