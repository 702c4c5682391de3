package engine

import (
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// Waker lets any goroutine make the engine feed a session although nothing has arrived,
// for example because an answer is ready. Each session has a Waker of its own, so that no
// wake-up reaches the next session of the connection, or another connection. Goroutines
// may keep it after the session has ended.
//
// Any goroutine may call Wake and ring. Only the goroutine that serves the connection may
// call the other methods: fed before each Feed; begin, then read or await, then finish,
// in this order; end last. mu comes after Block.mu and before loop.mu.
type Waker struct {
	c wakeable // nil when the session has ended; under mu

	// For Block, under mu. waits && !roused means that the goroutine waits for bytes and
	// may be interrupted. bell is made when no bytes will come any more, and never
	// changes after that. It holds a ring until an await takes it. killed says that
	// CloseAll has closed the connection, or another goroutine broke it after a panic.
	bell                  chan struct{}
	waits, roused, killed bool

	mu sync.Mutex
	// pending says that Wake was called and no Feed has begun since. Every Wake swaps it,
	// so that the Feed that clears it happens after all of these calls.
	pending atomic.Bool
}

// wakeable is the connection of a Waker. Its awaken is called under Waker.mu.
type wakeable interface{ awaken(k *Waker) }

// Wake makes the engine feed the session. A Feed that begins after it sees what the
// caller did before it. No call is lost, but several calls may lead to one Feed. Any
// goroutine may call it at any time, even in Feed. When the session has ended, it does
// nothing. It waits neither for the session nor for methods of the connection, so the
// caller may hold locks. It doesn't allocate, except on connections of Block that are
// neither sockets nor on top of one that Pace returned; on systems other than Unix, on
// all connections of Block.
//
// If the read deadlines of a connection of Block have no effect, nothing can interrupt a
// read. Then the session is fed when the next bytes arrive.
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

// wakes reports whether a wake-up is pending. An engine asks before it closes an idle connection:
// the call of Wake that has set pending may not have got to the connection yet, and later ones
// rely on it. k may be nil.
func (k *Waker) wakes() bool { return k != nil && k.pending.Load() }

// fed is called before the session is fed. A Wake after it leads to another Feed. fed
// loads pending first, since the swap costs more and is seldom needed.
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

// begin lets Wake interrupt a wait of Block, until finish. If Wake was already called, it
// returns true and changes nothing: then there is no need to wait.
func (k *Waker) begin() (woken bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.pending.Load() {
		return true
	}
	k.waits, k.roused = true, false
	return false
}

// finish ends what begin has begun, and reports whether the wait was interrupted.
func (k *Waker) finish() (roused bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.waits = false
	return k.roused
}

// await takes the place of a read after the peer's end of stream. It waits, between begin
// and finish, for Wake, for ring, or until due; 0 means never.
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

// awaits prepares for await. It is called when the peer's end of stream was read.
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

// ring ends an await that runs, or the next one. closed says that the connection was
// closed: then await returns net.ErrClosed. k may be nil.
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
	case k.bell <- struct{}{}: // never chosen if bell is nil
	default:
	}
}
