package engine

import (
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// Waker lets any goroutine make the engine feed a session, although nothing has arrived
// for it: because an answer is ready, or something was published. Each session has one of
// its own, so that no wake-up reaches the next session of the connection, or another
// connection. Goroutines may keep it after the session has ended.
//
// Wake and ring are for any goroutine. The others are called by the goroutine that serves
// the connection: fed before each Feed; begin, then read or await, then finish, in this
// order; end last. mu comes after Block.mu and before loop.mu.
type Waker struct {
	// pending: Wake was called, and no Feed has begun since. Every Wake swaps it, so
	// that the Feed that takes it back happens after all of them.
	pending atomic.Bool

	mu sync.Mutex
	c  wakeable // nil when the session has ended

	// Of Block, under mu: waits && !roused means that its goroutine waits for bytes and
	// may be interrupted. bell is made once no bytes come any more, and then never
	// changes; it holds a ring that no await has met. killed: the connection was closed,
	// for good.
	waits, roused, killed bool
	bell                  chan struct{}
}

// wakeable is the connection of a Waker. Its awaken is called under Waker.mu.
type wakeable interface{ awaken(k *Waker) }

// Wake makes the engine feed the session. What the caller did before is seen by a Feed
// that begins after it: none is lost, but several calls may lead to one Feed. Any
// goroutine may call it at any time, in Feed too; when the session has ended, it does
// nothing. It doesn't wait for the session, nor for methods of the connection, and the
// caller may hold locks. It doesn't allocate, except on connections of Block that are
// neither sockets nor TLS of this package.
//
// Where the deadlines of a connection of Block have no effect, nothing interrupts a
// read: the session is fed when the next bytes arrive.
func (k *Waker) Wake() {
	if k.pending.Swap(true) {
		return
	}
	k.mu.Lock()
	if k.c != nil {
		k.c.awaken(k)
	}
	k.mu.Unlock()
}

// fed is called before the session is fed: what is done from now on needs another Feed. A
// plain load comes first, since the swap costs more and is seldom needed.
func (k *Waker) fed() {
	if k.pending.Load() {
		k.pending.Swap(false)
	}
}

// end is called before Closed or Hijacked. When it returns, no Wake touches the
// connection any more. k may be nil.
func (k *Waker) end() {
	if k == nil {
		return
	}
	k.mu.Lock()
	k.c = nil
	k.mu.Unlock()
}

// begin lets Wake interrupt a wait of Block, until finish. It returns true, and begins
// nothing, if Wake was called already: then there is no need to wait.
func (k *Waker) begin() (woken bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.pending.Load() {
		return true
	}
	k.waits, k.roused = true, false
	return false
}

// finish ends what begin began, and reports whether the wait was interrupted.
func (k *Waker) finish() (roused bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.waits = false
	return k.roused
}

// await is a read after the end of what the peer sends: it waits, between begin and
// finish, for Wake, ring, or due, 0 for never.
func (k *Waker) await(due clock.Tick) error {
	var late <-chan time.Time
	if due != 0 {
		timer := time.NewTimer(time.Duration(due - clock.Ticks()))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-k.bell:
	case <-late:
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.killed {
		return net.ErrClosed
	}
	return os.ErrDeadlineExceeded
}

// awaits prepares await: it is called before, once the peer's end was read.
func (k *Waker) awaits() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.bell == nil {
		k.bell = make(chan struct{}, 1)
		if k.killed {
			k.ringLocked()
		}
	}
}

// ring ends await, or the next one; for good if the connection was closed. k may be
// nil.
func (k *Waker) ring(closed bool) {
	if k == nil {
		return
	}
	k.mu.Lock()
	k.killed = k.killed || closed
	k.ringLocked()
	k.mu.Unlock()
}

// ringLocked is ring under mu. It doesn't block.
func (k *Waker) ringLocked() {
	select {
	case k.bell <- struct{}{}: // never if there is none
	default:
	}
}
