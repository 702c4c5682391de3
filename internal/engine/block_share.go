package engine

import (
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// On Block the standby of a shared connection is a goroutine that can take the connection
// over. The first Share of a Feed makes it runnable. If the handler blocks, Go's
// scheduler runs the standby. If not, the standby mostly runs after Feed has returned,
// finds nothing to do, and returns from Resume. With several processors it may run while
// the handler runs. Then it waits until one handler takes long.

// blockShare is the state of a connection that was shared at least once. A blockConn that
// has one is not used for another connection. Its methods say who may call them.
type blockShare struct {
	c    *blockConn
	sess Session // the session that calls Share; no other one of this connection does

	// word holds three numbers: in its lowest bits the state, above it the number of
	// calls of Share, and above that the number of takeovers, the turn. The owner of the
	// connection stores it. While the state is shared or passedOn, it changes by
	// compare-and-swap only. So a goroutine that remembers its turn can tell whether it
	// still is the owner.
	word atomic.Uint64
	// called says that there is a standby, or will be. Only the standby changes it from
	// true to false, and looks at word after that.
	called   atomic.Bool
	calledAt uint64  // word when the standby was called; set before that
	want     Next    // what a takeover begins with; the owner's
	cur      *Sharer // of the owner; nil until it shares

	// users is the number of goroutines that are in Serve, Start or Resume for this
	// connection, or will call Resume, including the one of a parked connection. The last
	// one to leave returns what has ended the connection, the others return ErrParked.
	// unwinds says that one was ended by a panic or Goexit, see Block.Unwound.
	users    atomic.Int32
	unwinds  atomic.Bool
	last     Session // set by the last owner, before it leaves
	err      error
	panicked any           // the panic of the last owner, if Serve must repeat it
	over     chan struct{} // closed when all have left; Serve waits for it
}

// The states of blockShare.word.
const (
	unshared uint64 = iota // its owner runs no handler that shares it
	shared                 // its owner may take it back
	kept                   // its owner has taken it back, in the same call of Feed
	passedOn               // it has no owner: the standby takes it
	states                 // the number of states

	oneShare    = states
	oneTakeover = 1 << 24
)

// errLost is what run returns when another goroutine has taken the connection over.
var errLost = errors.New("engine: another goroutine has the connection")

// turn returns the number of takeovers. Only the owner may call it.
func (c *blockConn) turn() uint64 {
	if c.shares == nil {
		return 0
	}
	return c.shares.word.Load() / oneTakeover
}

// Share lets the standby take the connection over.
func (c *blockConn) Share(w *Work, more bool, due clock.Tick) *Sharer {
	sh := c.shares
	if sh == nil {
		sh = &blockShare{c: c, sess: c.sess, over: make(chan struct{})}
		sh.users.Store(1)
		c.shares = sh
	}
	if sh.cur == nil {
		sh.cur = new(Sharer)
	}
	s := sh.cur
	sh.want = Next{Deadline: due}
	if more {
		sh.want.Op = Flush
	}
	old := sh.word.Load()
	s.turn = old/oneTakeover*oneTakeover | (old+oneShare)%oneTakeover&^(states-1) | shared
	sh.word.Store(s.turn)
	if !sh.called.Load() {
		sh.call()
	}
	return s
}

// Unshare takes the connection back. If word isn't what Share has stored, another
// goroutine has the connection.
func (c *blockConn) Unshare(s *Sharer) (w *Work, ok bool) {
	if !c.shares.word.CompareAndSwap(s.turn, s.turn-shared+kept) {
		return nil, false
	}
	return c.w, true
}

// PassOn leaves the connection to the standby, which Share has called.
func (c *blockConn) PassOn(s *Sharer) {
	c.shares.word.CompareAndSwap(s.turn, s.turn-shared+passedOn)
}

// call makes the standby runnable. The goroutine that shares the connection calls it.
func (sh *blockShare) call() {
	if !sh.called.CompareAndSwap(false, true) {
		return // the standby that was about to leave stays
	}
	sh.calledAt = sh.word.Load()
	sh.users.Add(1)
	if sh.c.apart {
		sh.c.e.Dispatch((*standby)(sh))
		return
	}
	go (*standby)(sh).Resume() // Serve returns for it
}

// settle is called after the session has returned, by the goroutine whose turn it was. It
// reports whether that goroutine still is the owner. A session must not return while it
// shares the connection; if it does, settle ends the sharing.
func (sh *blockShare) settle(turn uint64) bool {
	for {
		old := sh.word.Load()
		if old/oneTakeover != turn || old%states == passedOn {
			return false
		}
		if old%states == unshared || sh.word.CompareAndSwap(old, old&^(states-1)) {
			return true
		}
	}
}

// standby is a blockShare as a Parked. Its Resume takes the connection over if that is
// necessary.
type standby blockShare

// Session returns the session of the connection.
func (s *standby) Session() Session { return s.sess }

// Resume serves the connection, if it has to be taken over. Otherwise it returns
// ErrParked, mostly at once.
func (s *standby) Resume() (last Session, err error) {
	sh := (*blockShare)(s)
	if !sh.takeOver() {
		return sh.leave()
	}
	return sh.c.serve()
}

// How the standby looks at the connection if several processors let it run at the same
// time as a handler. If it sees the same handler in more than patience looks in a row,
// that handler blocks or computes for long. While handlers end, the standby goes on
// looking. After each restAfter looks it sleeps for restLooks, or about 1 ms if nothing
// else wakes the scheduler.
const (
	patience  = 4
	restAfter = 64
	restLooks = 50 * time.Microsecond
)

// takeOver makes the caller, the standby, the owner of the connection, or returns false if
// no handler shares it any more.
func (sh *blockShare) takeOver() bool {
	seen, same := sh.calledAt, 0
	for looks := 1; ; looks++ {
		w := sh.word.Load()
		switch state := w % states; {
		case state == unshared:
			sh.called.Store(false)
			// A Share after this calls another standby. One that came before saw called
			// still set: look again.
			if sh.word.Load()%states == unshared || !sh.called.CompareAndSwap(false, true) {
				return false
			}
			continue
		case state == kept || state == shared && w != seen:
			seen, same = w, 0
		case state == shared && same < patience:
			same++
		case sh.word.CompareAndSwap(w, (w/oneTakeover+1)*oneTakeover):
			sh.begin()
			return true
		}
		if looks%restAfter == 0 {
			time.Sleep(restLooks)
		} else {
			runtime.Gosched()
		}
	}
}

// begin prepares the next step that the session wants of the connection that was taken
// over. From now on another standby may be called.
func (sh *blockShare) begin() {
	sh.cur = nil
	sh.c.next = sh.want
	sh.called.Store(false)
}

// end is called by the owner after it has closed the session because of err.
func (sh *blockShare) end(last Session, err error) (Session, error) {
	sh.last, sh.err = last, err
	return sh.leave()
}

// leave is called by a goroutine that is done with the connection. It returns what Serve,
// Start or Resume must return.
func (sh *blockShare) leave() (last Session, err error) {
	if sh.leaves() && !sh.unwinds.Load() {
		return sh.last, sh.err
	}
	return sh.sess, ErrParked
}

// leaves decrements users, and reports whether the caller was the last one.
func (sh *blockShare) leaves() bool {
	if sh.users.Add(-1) > 0 {
		return false
	}
	close(sh.over)
	if sh.unwinds.Load() {
		sh.c.unwound()
	}
	return true
}

// await is called by Serve when its goroutine has lost the connection. It waits until all
// have left, and returns what ended the connection.
func (sh *blockShare) await() (last Session, err error) {
	<-sh.over
	if sh.panicked != nil {
		panic(sh.panicked)
	}
	return sh.last, sh.err
}

// breakConn closes the connection, so that its present owner ends it. A goroutine that
// has lost the connection calls it, after a panic.
func (sh *blockShare) breakConn() {
	e, c := sh.c.e, sh.c
	e.mu.Lock()
	k := c.kill()
	e.mu.Unlock()
	k.sess = sh.sess
	k.close()
}

// alone reports whether the goroutine with this turn is a standby of Serve. Only the
// engine can recover a panic there; Serve then panics with the same value.
func (sh *blockShare) alone(turn uint64) bool { return !sh.c.apart && turn > 0 }

// unwind is leave for a goroutine that a panic or Goexit ends.
func (sh *blockShare) unwind() {
	sh.unwinds.Store(true)
	sh.leaves()
}
