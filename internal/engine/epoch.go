package engine

import "sync/atomic"

// epoch is the number of the current epoch of an engine. The bit draining is set after
// Drain has begun its end. A connection keeps the number of the epoch in which it began,
// without the bit. So one comparison with Load tells whether the connection must tell its
// peer of the end, both while the epoch drains and after it has ended.
type epoch struct {
	atomic.Uint32
	kills atomic.Uint32 // see kill
}

const draining = 1 << 31

// number returns the epoch without the bit.
func (e *epoch) number() uint32 { return e.Load() &^ draining }

// drain sets the bit.
func (e *epoch) drain() { e.Or(draining) }

// kill notes that CloseAll closes what is left of the epochs that have ended. CloseAll calls it
// before it looks for connections. A connection that is being opened becomes visible and then
// calls killed. So one of the two sees the other.
func (e *epoch) kill() {
	for now := e.number(); ; {
		old := e.kills.Load()
		if old >= now || e.kills.CompareAndSwap(old, now) { // another call may be ahead
			return
		}
	}
}

// killed reports whether CloseAll was called after the end of that epoch.
func (e *epoch) killed(epoch uint32) bool { return epoch < e.kills.Load() }

// end begins the next epoch, which does not drain.
func (e *epoch) end() {
	for {
		old := e.Load()
		if e.CompareAndSwap(old, (old+1)&^draining) {
			return
		}
	}
}
