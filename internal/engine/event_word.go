package engine

// The bits of a connection's word: what has happened to it and was not looked at yet, and
// whether it has an owner. Only the owner touches the connection. All other goroutines
// post what happened, with or without locks: no function here takes one.
//
//	isIdle     => !isOwned
//	isWaiting  => isOwned
//	isClosed   => isOwned, forever: post does nothing any more
//	isOwned    <=> a worker visits it, or it is in loop.turns, or the caller of Adopt
//	               has it, or it has ended
//	isShared   => !isOwned, and a call of the session may take it back: unshare
//	isOffered  => isShared
//	isTaken    => isOwned, by one who took it from such a call, and whose visit is to begin
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
	evTurn                         // it waited for its turn
	evUrgent                       // a byte out of band has come
	evWake                         // the session must be fed

	isOwned   // it has an owner
	isWaiting // the owner is parked until something is posted
	isWriting // room to write matters: post drops evOut without it
	wantsRoom // a goroutine that writes waits for room, see awaitRoom
	isWatched // a session wants to know when the peer leaves
	isIdle    // it has no owner, and nothing of a message has arrived
	isServed  // the peer has sent something
	hasWaker  // connMore.waker is set
	isClosed  // it has ended
	isShared  // it has no owner, and a handler runs that had it: see Conn.Share
	isOffered // there is something to do for who takes it, without an event
	isTaken   // it was shared when its owner got it
)

// pending are the bits that keep an owner from letting go. evInterrupt and evCut are none
// of them: they are never cleared, and the owner looks at them where they matter.
const pending = evIn | evOut | evHup | evReset | evTimeout | evStop | evKill | evTurn | evUrgent | evWake

// endsWrite are the bits that a goroutine in awaitRoom waits for.
const endsWrite = evOut | evHup | evReset | evKill | evCut

// tellRoom wakes the goroutine in awaitRoom. A value that is left there wakes the next one
// for nothing, which tries its write again.
func (c *eventConn) tellRoom() {
	select {
	case c.more.Load().room <- struct{}{}:
	default:
	}
}

// post tells the connection what has happened. Any goroutine may call it, without loop.mu.
// It returns true if the connection had no owner: then the caller owns it, ev is not in the
// word, and the caller must visit it with ev or inject it. Otherwise the owner finds ev:
// take, await and release look at the same word.
//
// If the connection is shared, ev waits for who takes it back, and it is offered.
func (c *eventConn) post(ev uint32) (mine bool) {
	mine, offers := c.tell(ev)
	if offers {
		c.l.makeOffer(c)
	}
	return mine
}

// tell is post for callers that may hold loop.mu. With offers, the caller must put the
// connection into loop.offers.
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

// nudge makes the owner, if it is parked in await, and a goroutine in awaitRoom look at
// their deadlines again. Any goroutine may call it, after it has stored the new deadline.
func (c *eventConn) nudge() {
	for {
		old := c.word.Load()
		if old&wantsRoom != 0 {
			c.tellRoom()
		}
		if old&isWaiting == 0 {
			return
		}
		if c.word.CompareAndSwap(old, (old|evTimeout)&^isWaiting) {
			c.more.Load().wake <- struct{}{}
			return
		}
	}
}

// claimIdle makes the caller the owner of an idle connection; false if it isn't idle. Any
// goroutine may call it, and must then visit it with what it wants to tell it, or inject
// it.
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

// take returns and clears what was posted since the owner looked last. Only the owner may
// call it, and must give the result to note or to a step.
func (c *eventConn) take() uint32 {
	for {
		old := c.word.Load()
		if old&pending == 0 || c.word.CompareAndSwap(old, old&^pending) {
			return old & pending
		}
	}
}

// release lets the connection go, unless something was posted meanwhile: then it returns
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

// share is release for a call of the session that goes on: it may take the connection
// back by unshare. more says that there is something to do, which is also so if something
// was posted; then it is offered: claimOffered.
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

// unshare makes the caller the owner of a connection that is shared. It can't tell who has
// shared it: see eventConn.regain.
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

// claimOffered makes the caller the owner of a connection that is offered; false if it is
// not. Any goroutine may call it, and must then visit it with evTurn or inject it.
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

// await parks the owner until one of want was posted. It returns those that were, and
// clears them, except evKill, evInterrupt and evCut. Bits that aren't in want stay for
// the visit. Only the owner may call it, after loop.blocks and without locks.
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

// set and unset change a flag of the word. Any goroutine may call them, but isOwned,
// isWaiting and isIdle change only by the functions above.
func (c *eventConn) set(flag uint32)   { c.word.Or(flag) }
func (c *eventConn) unset(flag uint32) { c.word.And(^flag) }
