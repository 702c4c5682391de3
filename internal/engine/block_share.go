package engine

import (
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// On Block a connection that is shared is taken over by a goroutine that has nothing else
// to do, its standby. It is made runnable once a Feed. If the handler blocks, Go's
// scheduler runs it. If not, it mostly runs when Feed is over, finds nothing to do and
// goes: to where Dispatch had it from, or for good. With several processors it may run
// beside the handler. It then waits until one handler takes long.

// blockShare is what a connection has once it was shared. Connections that have it aren't
// used again. Its methods say who may call them.
type blockShare struct {
	c    *blockConn
	sess Session // the one that shares; another one never does

	// word is the state, the number of calls of Share above that, and above that the
	// number of takeovers: the turn. The owner of the connection stores it; while
	// it is shared or passedOn, it changes by compare-and-swap alone. So a goroutine that
	// remembers its turn knows whether it still is the owner.
	word atomic.Uint64
	// called: there is a standby, or will be. It changes from true to false by the standby
	// alone, which looks at word after that.
	called   atomic.Bool
	calledAt uint64  // word when the standby was called; set before that
	want     Next    // for who takes over; the owner's
	cur      *Sharer // of the owner; nil until it shares

	// users are the goroutines that are in Serve, Start or Resume, or on the way to it, for
	// this connection, one that is parked included. The last one that leaves returns what
	// has ended the connection, the others ErrParked. unwinds: one was ended by a panic or
	// Goexit, see Block.Unwound.
	users    atomic.Int32
	unwinds  atomic.Bool
	last     Session // set by the last owner, before it leaves
	err      error
	panicked any           // with what the last owner panicked, if Serve is to panic with it
	over     chan struct{} // closed when all have left; Serve waits for it
}

// The states of blockShare.word.
const (
	unshared uint64 = iota // its owner runs no handler that shares it
	shared                 // its owner may take it back
	kept                   // its owner has taken it back, in the same call of Feed
	passedOn               // it has no owner: the standby takes it
	states                 // as many there are

	oneShare    = states
	oneTakeover = 1 << 24
)

// errLost is how run ends when another goroutine has taken the connection over.
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

// Unshare takes the connection back. The word is the one that Share has stored, or another
// goroutine has it.
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
		return // the one that was about to leave stays
	}
	sh.calledAt = sh.word.Load()
	sh.users.Add(1)
	if sh.c.apart {
		sh.c.e.Dispatch((*standby)(sh))
		return
	}
	go (*standby)(sh).Resume() // Serve returns for it
}

// settle is called when the session has returned, by a goroutine whose turn it was. It
// reports whether it still is. A session must not return while it shares, but might.
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

// standby is a blockShare as a Parked: Resume takes the connection over, if there is need
// for that.
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

// How the standby looks, where several processors let it run beside a handler. A handler
// that does not end between patience looks is taken to block, or to compute for long. While
// others end, it looks on, and rests after so many looks as restAfter: for restLooks, or
// about 1 ms if nothing else wakes the scheduler.
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
			// The goroutine that shares it now calls another one, unless it saw called as it was.
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

// begin does what the session wants of the connection that was taken over. Another standby
// may be called from now on.
func (sh *blockShare) begin() {
	sh.cur = nil
	sh.c.next = sh.want
	sh.called.Store(false)
}

// end is called by the owner when the session was closed because of err.
func (sh *blockShare) end(last Session, err error) (Session, error) {
	sh.last, sh.err = last, err
	return sh.leave()
}

// leave is how a goroutine returns from Serve, Start or Resume, and is done with the
// connection.
func (sh *blockShare) leave() (last Session, err error) {
	if sh.leaves() && !sh.unwinds.Load() {
		return sh.last, sh.err
	}
	return sh.sess, ErrParked
}

// leaves counts out a goroutine, and reports whether it is the last one.
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

// await is for Serve, whose goroutine has lost the connection: it returns what ended that.
func (sh *blockShare) await() (last Session, err error) {
	<-sh.over
	if sh.panicked != nil {
		panic(sh.panicked)
	}
	return sh.last, sh.err
}

// breakConn breaks the connection, so that its owner ends it. A goroutine that has lost it
// calls it, after a panic.
func (sh *blockShare) breakConn() {
	e, c := sh.c.e, sh.c
	e.mu.Lock()
	c.killed = true
	k := c.waker
	e.mu.Unlock()
	calmly(sh.sess, func() { closeNow(c.nc) })
	k.ring(true)
}

// alone reports whether only the engine can recover a panic on the goroutine with this
// turn: it is a standby of Serve. Serve panics for it then.
func (sh *blockShare) alone(turn uint64) bool { return !sh.c.apart && turn > 0 }

// unwind is leave for a goroutine that does not return.
func (sh *blockShare) unwind() {
	sh.unwinds.Store(true)
	sh.leaves()
}
