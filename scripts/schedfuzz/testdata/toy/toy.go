// Package toy has a wait in the right order, and in the wrong one.
package toy

import "sync/atomic"

// Bell wakes one goroutine that waits for it.
type Bell struct {
	rung, awaited atomic.Bool
	wake          chan struct{}
}

// New returns a Bell that has not rung.
func New() *Bell { return &Bell{wake: make(chan struct{}, 1)} }

// Ring ends a wait.
func (b *Bell) Ring() {
	b.rung.Store(true)
	if b.awaited.Load() {
		b.wake <- struct{}{}
	}
}

// Wait announces itself, and looks then.
func (b *Bell) Wait() {
	b.awaited.Store(true)
	if b.rung.Load() {
		return
	}
	<-b.wake
}

// WaitLate looks, and announces itself then: a Ring in between is lost.
func (b *Bell) WaitLate() {
	if b.rung.Load() {
		return
	}
	b.awaited.Store(true)
	<-b.wake
}
