package peers

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/door"
)

// UsedAgain makes servers that begin to serve in the test use contexts again, even with the
// race detector: without it no request is guarded.
func UsedAgain(t *testing.T) {
	before := door.GuardByDefault(false)
	t.Cleanup(func() { door.GuardByDefault(before) })
}

// Allocated returns how many bytes the program allocates during f. No collection empties
// the pools meanwhile.
func Allocated(f func()) int {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// KeepPools restores the guard of the pools at the end of the test.
func KeepPools(t *testing.T) {
	t.Cleanup(door.KeepPools())
}

type ProcessState struct {
	Goroutines, Fds int
	Heap            int64
}

func State() ProcessState {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fds, _ := os.ReadDir("/proc/self/fd")
	return ProcessState{runtime.NumGoroutine(), len(fds), int64(m.HeapAlloc)}
}

// Took calls f and returns how long that took, in whole seconds.
func Took(f func()) time.Duration {
	begin := time.Now()
	f()
	return time.Since(begin).Truncate(time.Second)
}
