package static

import (
	"sync"

	"github.com/galehttp/gale/internal/compress"
)

// flightGroup makes sure that only one goroutine at a time works on a variant.
type flightGroup struct {
	mu     sync.Mutex
	flying map[flightKey]*flight
}

type flightKey struct {
	name   string
	coding compress.Coding
	id     fileID // of the file, for Settings.Fresh: others wait only for work on the same content
}

// flight is work that is being done. The entry, if there is one, is set before done
// is closed. It has no reference count, so several callers may share it.
type flight struct {
	done  chan struct{}
	entry *Entry
}

// join returns the flight for key. The leader, the caller that began it, does the
// work and calls land. Others wait for done.
func (g *flightGroup) join(key flightKey) (fl *flight, leader bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if fl := g.flying[key]; fl != nil {
		return fl, false
	}
	if g.flying == nil {
		g.flying = make(map[flightKey]*flight)
	}
	fl = &flight{done: make(chan struct{})}
	g.flying[key] = fl
	return fl, true
}

// land ends a flight, whatever the result. The leader must call it even if it
// panics; otherwise the others would wait forever.
func (g *flightGroup) land(key flightKey, fl *flight) {
	g.mu.Lock()
	delete(g.flying, key)
	g.mu.Unlock()
	close(fl.done)
}
