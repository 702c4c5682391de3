package engine

import (
	"net"
	"sync/atomic"

	"github.com/galehttp/gale/internal/clock"
)

// connPart holds what a connection needs that waits for wake-ups, or switches to another
// session. It is separate from connMore, which is much larger, because many upgraded
// connections may be idle (TestUpgradedWeight). Its fields belong to the owner, except
// more, which is set once and which any goroutine may load.
type connPart struct {
	waker *Waker  // of sess, if it asked for one
	next  Session // for Switch
	more  atomic.Pointer[connMore]
}

// moreLink leads to a connPart and a connMore. Any goroutine may call its methods.
type moreLink struct{ p atomic.Pointer[connPart] }

// part returns the connPart, nil if there is none.
func (l *moreLink) part() *connPart { return l.p.Load() }

// waker returns the Waker of the session, nil if it has none. The owner calls it.
func (l *moreLink) waker() *Waker {
	if p := l.p.Load(); p != nil {
		return p.waker
	}
	return nil
}

// makePart is part, but makes it if there is none. If several goroutines make one at the
// same time, all of them get the same one.
func (l *moreLink) makePart() *connPart {
	if l.p.Load() == nil {
		l.p.CompareAndSwap(nil, new(connPart))
	}
	return l.p.Load()
}

// Load returns the connMore, nil if there is none.
func (l *moreLink) Load() *connMore {
	if p := l.p.Load(); p != nil {
		return p.more.Load()
	}
	return nil
}

// connMore holds what only few connections need. Its fields belong to the owner. The
// exceptions are the atomic ones, which any goroutine may use; fdUse; and room and
// writeLimit, which belong to the goroutine that writes.
type connMore struct {
	// wake is made before isWaiting is set for the first time. It gets one value for each
	// time that isWaiting is cleared, so a send never blocks.
	wake       chan struct{}
	room       chan struct{} // see awaitRoom; buffered, made before wantsRoom is set
	stash      []byte        // unread bytes, kept while there is no workspace
	unsent     unsent
	lingerEnd  clock.Tick   // when lingering ends, whatever the peer sends
	writeLimit clock.Tick   // see SetWriteDeadline; 0: none
	readUntil  atomic.Int64 // deadlines of the net.Conn, set by a program; see Lend
	writeUntil atomic.Int64
	watch      atomic.Pointer[eventWatch]
	local      atomic.Pointer[rawAddr]
	top        net.Conn // see Start
	dry        bool     // the socket below top has nothing more to read, see eventConn.drained
	into       []byte   // see ReadInto
	hijacked   atomic.Pointer[net.Conn]
	fdUse      fdUse // under eventConn.mu

	// For connections that are shared, see event_share.go. takeovers is how often another
	// goroutine took the connection over from a call of the session, which is then lost.
	// Only the owner changes it. returned is how many of these lost calls have returned.
	// When the connection ends, takeovers is subtracted from returned: so it becomes 0
	// when the last lost call returns. why, the reason of the end, is set before that.
	takeovers atomic.Uint64
	returned  atomic.Int64
	why       error
	// offered says that the connection is in loop.offers. offeredAt is calm.looks at the
	// time when it was put there. They change under loop.mu; offered may be read without
	// it.
	offered   atomic.Bool
	offeredAt uint
}

// unsent is output that waits with the connection. Only the owner uses it.
//
//	blocked        => phase == writing, isWriting is set, pend or file is left, and
//	                  Event.pending counts the connection
//	len(pend) > 0  => phase == writing, or LeaveBody has just set it in Feed
type unsent struct {
	pend    []byte     // what the socket did not take
	file    *File      // to be sent after pend
	blocked bool       // pend or file waits for room
	readDue clock.Tick // while blocked: the due of the read that follows
}

// fdUse counts the calls of control that run. closes says that the last of them must
// close the descriptor toClose. It is used under eventConn.mu.
//
//	closes => users > 0, and eventConn.fd == -1
type fdUse struct {
	users   int32
	closes  bool
	toClose int32
}

// extra returns the rarely used part, and makes it if there is none. Any goroutine may
// call it. If several make one at the same time, all of them get the same one.
func (c *eventConn) extra() *connMore {
	p := c.more.makePart()
	if p.more.Load() == nil {
		p.more.CompareAndSwap(nil, new(connMore))
	}
	return p.more.Load()
}

// hasOutput reports whether something is left to be written, apart from w.Out. m may be
// nil.
func (m *connMore) hasOutput() bool {
	return m != nil && (len(m.unsent.pend) > 0 || m.unsent.file != nil)
}

// userWrites is the write deadline that a program has set for the message in flight, 0 for none.
// See also eventConn.userReads.
func (m *connMore) userWrites() clock.Tick { return clock.Tick(m.writeUntil.Load()) }
