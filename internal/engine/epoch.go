package engine

import "sync/atomic"

// epoch is the number of the present epoch of an engine, with the bit draining while its
// end has begun. A connection keeps the number of the epoch in which it began, without the
// bit. So one comparison with Load says that a connection must tell its peer of the end:
// what a request costs is the same, whether the epoch drains or has ended.
type epoch struct{ atomic.Uint32 }

const draining = 1 << 31

// number returns the epoch without the bit.
func (e *epoch) number() uint32 { return e.Load() &^ draining }

// drain sets the bit.
func (e *epoch) drain() { e.Or(draining) }

// end begins the next epoch, which does not drain.
func (e *epoch) end() {
	for {
		old := e.Load()
		if e.CompareAndSwap(old, (old+1)&^draining) {
			return
		}
	}
}
