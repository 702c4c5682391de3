package static

import (
	"sync"

	"github.com/galehttp/gale/internal/compress"
)

// flightGroup sees to it that one goroutine at a time works on a variant.
type flightGroup struct {
	mu     sync.Mutex
	flying map[flightKey]*flight
}

type flightKey struct {
	name   string
	coding compress.Coding
}

// flight is work that is being done. The entry is set, if at all, before done is
// closed; it is one without references, which many may share.
type flight struct {
	done  chan struct{}
	entry *Entry
}

// join returns the flight for key. The leader, who began it, does the work and
// calls land; others wait for done.
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

// land ends a flight, whatever came of it. Its leader must not forget to call it, by a
// panic either: the others would wait for ever.
func (g *flightGroup) land(key flightKey, fl *flight) {
	g.mu.Lock()
	delete(g.flying, key)
	g.mu.Unlock()
	close(fl.done)
}
