package engine

// The bits of a connection's word: what has happened to it and was not looked
// at yet, and who has it. Only its owner touches the connection; everybody else
// posts what happened.
const (
	evIn        uint32 = 1 << iota // there may be bytes to read, or their end
	evOut                          // there may be room to write
	evHup                          // the peer has ended its side
	evReset                        // the connection broke
	evTimeout                      // due may have passed
	evStop                         // it is to close if it is idle
	evKill                         // it is to close at once
	evInterrupt                    // Fill is to fail, for ever
	evTurn                         // it waited for its turn
	evUrgent                       // a byte out of band has come

	isOwned   // a goroutine has it
	isWaiting // and is parked until something is posted
	isWriting // room to write is of interest
	isWatched // somebody wants to know when the peer leaves
	isIdle    // nobody has it, and nothing of a message has arrived
	isServed  // it has sent something
	isClosed  // it has ended
)

// pending are the bits that keep an owner from letting go.
const pending = evIn | evOut | evHup | evReset | evTimeout | evStop | evKill | evTurn | evUrgent

// post tells the connection what has happened. It returns true if nobody had
// it: then the caller owns it, and must have it visited with ev.
func (c *eventConn) post(ev uint32) (mine bool) {
	for {
		old := c.word.Load()
		ev := ev
		if old&isWriting == 0 {
			ev &^= evOut
		}
		if ev == 0 || old&isClosed != 0 {
			return false
		}
		if old&isOwned == 0 {
			if c.word.CompareAndSwap(old, old&^isIdle|isOwned) {
				return true
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
		return false
	}
}

// postIdle is post for idle connections only.
func (c *eventConn) postIdle(ev uint32) (mine bool) {
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

// take returns and clears what was posted since the owner looked last.
func (c *eventConn) take() uint32 {
	for {
		old := c.word.Load()
		if old&pending == 0 || c.word.CompareAndSwap(old, old&^pending) {
			return old & pending
		}
	}
}

// release lets the connection go, unless something was posted meanwhile.
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

// await parks the owner until one of want was posted, and returns and clears
// those that were; evKill and evInterrupt stay.
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
		case c.word.CompareAndSwap(old, old&^(got&^(evKill|evInterrupt))):
			return got
		}
	}
}

// set and unset change a flag of the word.
func (c *eventConn) set(flag uint32)   { c.word.Or(flag) }
func (c *eventConn) unset(flag uint32) { c.word.And(^flag) }
