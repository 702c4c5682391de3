package engine

// The bits of a connection's word. They say what has happened to the connection and was
// not handled yet, and whether it has an owner. Only the owner may touch the connection.
// All other goroutines post what has happened. Functions here take no lock, except post,
// which may take loop.mu.
//
//	isIdle     => !isOwned
//	isWaiting  => isOwned
//	isClosed   => isOwned, forever: post does nothing
//	isOwned    <=> a worker visits it, or it is in loop.turns, or the caller of Adopt
//	               has it, or it has ended
//	isShared   => !isOwned, and a call of the session may take it back: unshare
//	isOffered  => isShared
//	isTaken    => isOwned; the owner took it from such a call, and its visit has not begun
//	pending    => isOwned or isOffered
//	isWatched  => connMore.watch was set before
//	wantsRoom  => isOwned, and connMore.room was made before
const (
	evIn        uint32 = 1 << iota // there may be bytes to read, or their end
	evOut                          // there may be room to write
	evHup                          // the peer has ended its side
	evReset                        // the connection broke
	evTimeout                      // due may have passed
	evStop                         // it must close if it is idle
	evKill                         // it must close at once
	evInterrupt                    // Fill must fail, forever
	evCut                          // writes must fail, forever
	evTurn                         // its turn has come: the visit takes what was posted
	evUrgent                       // a byte out of band has come
	evWake                         // the session must be fed

	isOwned   // it has an owner
	isWaiting // the owner is parked until something is posted
	isWriting // room to write matters: post drops evOut without it
	wantsRoom // a goroutine that writes waits for room, see awaitRoom
	isWatched // a session wants to know when the peer leaves
	isIdle    // it has no owner, and nothing of a message has arrived
	isServed  // the peer has sent something
	hasWaker  // connPart.waker is set
	isClosed  // it has ended
	isShared  // it has no owner, and a handler runs in the call of the session that shared it: see Conn.Share
	isOffered // it is shared, and there is something to do for another worker
	isTaken   // its owner took it over while it was shared
)

// pending are the bits that keep an owner from releasing the connection. evInterrupt and
// evCut are not among them: they are never cleared, and the owner looks at them where
// they matter.
const pending = evIn | evOut | evHup | evReset | evTimeout | evStop | evKill | evTurn | evUrgent | evWake

// endsWrite are the bits that a goroutine in awaitRoom waits for.
const endsWrite = evOut | evHup | evReset | evKill | evCut

// tellRoom wakes the goroutine in awaitRoom. If none is there, the value stays in the
// channel and wakes the next one too early, which then tries its write again.
func (c *eventConn) tellRoom() {
	select {
	case c.more.Load().room <- struct{}{}:
	default:
	}
}

// post tells the connection what has happened. Any goroutine may call it, without holding
// loop.mu. It returns true if the connection had no owner. Then the caller is the owner,
// ev is not in the word, and the caller must visit the connection with ev or inject it.
// Otherwise the owner finds ev: take, await and release look at the same word.
//
// If the connection is shared, ev stays in the word for the next owner, and post offers
// the connection.
func (c *eventConn) post(ev uint32) (mine bool) {
	mine, offers := c.tell(ev)
	if offers {
		c.l.makeOffer(c)
	}
	return mine
}

// tell is post for callers that may hold loop.mu. If it returns offers, the caller must
// put the connection into loop.offers.
func (c *eventConn) tell(ev uint32) (mine, offers bool) {
	for {
		old := c.word.Load()
		ev := ev
		if old&wantsRoom != 0 && ev&endsWrite != 0 {
			c.tellRoom()
		}
		if old&isWriting == 0 {
			ev &^= evOut
		}
		if ev == 0 || old&isClosed != 0 {
			return false, false
		}
		if old&isOwned == 0 {
			if old&isShared != 0 {
				if c.word.CompareAndSwap(old, old|ev|isOffered) {
					return false, true
				}
			} else if c.word.CompareAndSwap(old, old&^isIdle|isOwned) {
				return true, false
			}
			continue
		}
		if !c.word.CompareAndSwap(old, (old|ev)&^isWaiting) {
			continue
		}
		if old&isWatched != 0 && ev&(evHup|evReset) != 0 {
			c.tellWatch(ev&evReset != 0)
		}
		if old&isWaiting != 0 {
			c.more.Load().wake <- struct{}{}
		}
		return false, false
	}
}

// nudge makes an owner, and a goroutine in awaitRoom, look at their deadlines again. Any
// goroutine may call it, after it has stored the new deadline. evTimeout stays for an owner
// that doesn't wait: it may have looked at the deadline already, and be about to wait.
func (c *eventConn) nudge() {
	for {
		old := c.word.Load()
		if old&wantsRoom != 0 {
			c.tellRoom()
		}
		if old&isOwned == 0 || old&isClosed != 0 {
			return
		}
		if c.word.CompareAndSwap(old, (old|evTimeout)&^isWaiting) {
			if old&isWaiting != 0 {
				c.more.Load().wake <- struct{}{}
			}
			return
		}
	}
}

// claimIdle makes the caller the owner of an idle connection. It returns false if the
// connection isn't idle. Any goroutine may call it. After true it must visit or inject
// the connection, with the bits that it has for it.
func (c *eventConn) claimIdle() (mine bool) {
	for {
		old := c.word.Load()
		if old&isIdle == 0 {
			return false
		}
		if c.word.CompareAndSwap(old, old&^isIdle|isOwned) {
			return true
		}
	}
}

// take returns and clears what was posted since the owner last looked. Only the owner may
// call it, and must give the result to note.
func (c *eventConn) take() uint32 {
	for {
		old := c.word.Load()
		if old&pending == 0 || c.word.CompareAndSwap(old, old&^pending) {
			return old & pending
		}
	}
}

// release ends the ownership of the caller. If something was posted meanwhile, it returns
// false and the caller stays the owner. After true the caller may use c only as any
// goroutine may. The wheel must be armed before.
func (c *eventConn) release(idle bool) bool {
	for {
		old := c.word.Load()
		if old&pending != 0 {
			return false
		}
		free := old &^ isOwned
		if idle {
			free |= isIdle
		}
		if c.word.CompareAndSwap(old, free) {
			return true
		}
	}
}

// share is release for a call of the session that goes on and may take the connection
// back by unshare. If more is true or something was posted, there is something to do.
// Then share sets isOffered and returns true, and other workers may call claimOffered.
func (c *eventConn) share(more bool) (offered bool) {
	for {
		old := c.word.Load()
		free := old&^isOwned | isShared
		if offered = more || old&pending != 0; offered {
			free |= isOffered
		}
		if c.word.CompareAndSwap(old, free) {
			return offered
		}
	}
}

// unshare makes the caller the owner of a connection that is shared. It can't tell which
// worker has shared it: see eventConn.regain.
func (c *eventConn) unshare() (mine bool) {
	for {
		old := c.word.Load()
		if old&isShared == 0 {
			return false
		}
		if c.word.CompareAndSwap(old, old&^(isShared|isOffered)|isOwned) {
			return true
		}
	}
}

// claimOffered makes the caller the owner of a connection that is offered. It returns
// false if it is not. Any goroutine may call it. After true it must visit the connection
// with evTurn or inject it.
func (c *eventConn) claimOffered() (mine bool) {
	for {
		old := c.word.Load()
		if old&isOffered == 0 {
			return false
		}
		if c.word.CompareAndSwap(old, old&^(isShared|isOffered)|isOwned|isTaken) {
			return true
		}
	}
}

// await parks the owner until one of the bits of want was posted. It returns those of
// them that were, and clears them, except evKill, evInterrupt and evCut. Bits that aren't
// in want stay for the visit. Only the owner may call it, after loop.blocks and without
// locks.
func (c *eventConn) await(want uint32) uint32 {
	m := c.extra()
	if m.wake == nil {
		m.wake = make(chan struct{}, 1)
	}
	for {
		old := c.word.Load()
		got := old & want
		switch {
		case got == 0:
			if c.word.CompareAndSwap(old, old|isWaiting) {
				<-m.wake
			}
		case c.word.CompareAndSwap(old, old&^(got&^(evKill|evInterrupt|evCut))):
			return got
		}
	}
}

// set and unset change a flag of the word. Any goroutine may call them, but only the
// functions above change isOwned, isWaiting and isIdle.
func (c *eventConn) set(flag uint32)   { c.word.Or(flag) }
func (c *eventConn) unset(flag uint32) { c.word.And(^flag) }
