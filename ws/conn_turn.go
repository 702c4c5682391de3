package ws

import (
	"context"
	"sync"
)

// turn is a lock for which a call can wait until its context ends. Those that wait get it
// in order. It may be unlocked by another goroutine. The zero value is unlocked.
type turn struct {
	mu    sync.Mutex
	held  bool
	first *waiter // of a list
}

// waiter is a call that waits for a turn.
type waiter struct {
	ready chan struct{} // closed when the call has locked the turn
	after *waiter
}

// tryLock locks l if it is unlocked.
func (l *turn) tryLock() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held {
		return false
	}
	l.held = true
	return true
}

// lock waits until l is locked. It returns the error of ctx if that ends first.
func (l *turn) lock(ctx context.Context) error {
	ready := l.join()
	if ready == nil {
		return nil
	}
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		l.leave(ready)
		return ctx.Err()
	}
}

// join locks l and returns nil, or returns a channel that is closed when l is locked for
// the caller. Then the caller must wait for the channel or call leave.
func (l *turn) join() (ready chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.held {
		l.held = true
		return nil
	}
	ready = make(chan struct{})
	end := &l.first
	for *end != nil {
		end = &(*end).after
	}
	*end = &waiter{ready: ready}
	return ready
}

// leave stops waiting. If l was locked for the caller already, it unlocks l.
func (l *turn) leave(ready chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for w := &l.first; *w != nil; w = &(*w).after {
		if (*w).ready == ready {
			*w = (*w).after
			return
		}
	}
	l.next()
}

// unlock unlocks l.
func (l *turn) unlock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next()
}

func (l *turn) next() {
	if l.first == nil {
		l.held = false
		return
	}
	close(l.first.ready)
	l.first = l.first.after
}
