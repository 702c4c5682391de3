package lifetime

import (
	"sync"
	"time"
)

const (
	// maxPlaces is how many places of a program are told apart. All others count as one.
	maxPlaces = 256
	// logEvery is how often a place is logged.
	logEvery = 10 * time.Second
)

// places bounds what is logged. It knows where the program used what it didn't own.
type places struct {
	mu  sync.Mutex
	all map[uintptr]*usedAt
}

type usedAt struct {
	logged  time.Time
	leftOut int64
}

// note counts a use at pc. It returns whether it belongs in the log, and how many uses at
// the place did not since the last one that did.
func (p *places) note(pc uintptr, now time.Time) (log bool, leftOut int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.all[pc]
	if at == nil {
		if len(p.all) >= maxPlaces {
			pc = 0
		}
		if at = p.all[pc]; at == nil {
			at = &usedAt{}
			if p.all == nil {
				p.all = map[uintptr]*usedAt{}
			}
			p.all[pc] = at
		}
	}
	if !at.logged.IsZero() && now.Sub(at.logged) < logEvery {
		at.leftOut++
		return false, 0
	}
	leftOut = at.leftOut
	at.logged, at.leftOut = now, 0
	return true, leftOut
}
