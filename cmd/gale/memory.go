package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// gcPercent makes the collector begin earlier than usual. The heap is small, so that this
// costs little, and the encoders of several MB that compress files for the first time
// don't add up. A request for a file of 1 KB takes 2 % more CPU time.
const gcPercent = 30

// Compressed files, archives and uploads need memory for a moment only. Unused memory is
// given back to the system at these intervals, if it is worth the collection.
const (
	trimInterval = 2 * time.Second
	trimWorth    = 2 << 20
)

// saveMemory keeps the process small until stop is called. The collector stays as the
// user has set it with GOGC.
func saveMemory() (stop func()) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	done := make(chan struct{})
	go func() {
		ticks := time.NewTicker(trimInterval)
		defer ticks.Stop()
		t := newTrimmer()
		for {
			select {
			case <-ticks.C:
				t.trim()
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}

// trimmer gives unused memory back.
type trimmer struct {
	samples []metrics.Sample
	left    uint64 // the heap after the last trim, or a smaller one since then
	cycles  uint64 // collections at the last look
}

func newTrimmer() *trimmer {
	return &trimmer{samples: []metrics.Sample{
		{Name: "/gc/cycles/total:gc-cycles"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
	}}
}

// look returns how much memory of the system the heap has, and how many collections
// there were.
func (t *trimmer) look() (heap, cycles uint64) {
	metrics.Read(t.samples)
	for _, s := range t.samples[1:] {
		heap += s.Value.Uint64()
	}
	return heap, t.samples[0].Value.Uint64()
}

// trim gives memory back if the heap has grown since the last time, and reports
// whether it did. If there were collections since the last look, the program is busy, and
// the collector does it.
func (t *trimmer) trim() bool {
	heap, cycles := t.look()
	busy := cycles != t.cycles
	t.left, t.cycles = min(t.left, heap), cycles
	if busy || heap < t.left+trimWorth {
		return false
	}
	runtime.GC() // what idles in a sync.Pool is freed by the second collection
	debug.FreeOSMemory()
	t.left, t.cycles = t.look()
	return true
}
