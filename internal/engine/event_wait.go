package engine

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// The blocking half of Conn: it parks the goroutine that runs the session until it can go
// on. Other workers do the loop's work meanwhile. Only the owner may call the functions
// here, while a message is in flight. The exceptions are Interrupt, InterruptWrites and
// the methods of eventWatch. While one goroutine is in Fill, another one may write: the
// two are the owner together, and the only changing thing that they share is the word.
// Fill waits in waitFor, writes wait in awaitRoom.

// NetConn returns the connection that sessions and handlers see: the one on top, such as
// TLS, if there is one.
func (c *eventConn) NetConn() net.Conn {
	if c.layered {
		return c.more.Load().top
	}
	return (*eventSocket)(c)
}

// SetWriteTimeout limits how long a write waits without progress, by the shorter one of d
// and stall that is above 0. Each progress restarts the time.
func (c *eventConn) SetWriteTimeout(d, stall time.Duration) {
	if d <= 0 || stall > 0 && stall < d {
		d = stall
	}
	c.writeTimeout = d
}

// SetWriteDeadline sets when all of the writes that follow must have ended; 0 means
// never.
func (c *eventConn) SetWriteDeadline(t clock.Tick) {
	if t != 0 || c.more.Load() != nil {
		c.extra().writeLimit = t
	}
}

// InterruptWrites makes writes fail from now on. Any goroutine may call it, without
// locks.
func (c *eventConn) InterruptWrites() {
	c.set(evCut) // it lasts
	if c.post(evCut) {
		c.l.inject(c, evCut) // not while a message is in flight
	}
}

// Interrupt makes Fill fail from now on. Any goroutine may call it, without locks.
func (c *eventConn) Interrupt() {
	c.set(evInterrupt) // it lasts
	if c.post(evInterrupt) {
		c.l.inject(c, evInterrupt) // not while a message is in flight
	}
}

// Fill reads more into w, and waits for that until due at most. w is c.w. Slices that
// Unread returned before aren't valid after it: w.room moves bytes.
func (c *eventConn) Fill(w *Work, due clock.Tick) error {
	_, err := c.FillInto(w, nil, due)
	return err
}

// FillInto is Fill, except that it reads into b if b isn't empty and nothing is unread.
func (c *eventConn) FillInto(w *Work, b []byte, due clock.Tick) (landed int, err error) {
	c.forgetInto()
	w.landed = 0
	for {
		if c.word.Load()&evInterrupt != 0 {
			return 0, os.ErrDeadlineExceeded
		}
		until := due
		if m := c.more.Load(); m != nil {
			until = clock.Earlier(due, c.userReads(m))
			if until != due && clock.Ticks() >= until {
				return 0, os.ErrDeadlineExceeded // although there may be bytes
			}
		}
		room, elsewhere := b, len(b) > 0 && w.empty()
		if !elsewhere {
			room = w.room()
		}
		n, err := c.readNow(room)
		if n > 0 {
			w.took(n, len(room), elsewhere)
			w.Now = clock.Ticks()
			return w.Landed(), nil
		}
		if err != errWouldBlock {
			return 0, err
		}
		if err := c.waitFor(evIn|evHup|evReset|evInterrupt, until); err != nil {
			return 0, err
		}
	}
}

// userReads returns the read deadline that a program has set for the message in flight, 0 for
// none. The deadlines that are known now need no evTimeout: it would end the next wait in vain. A
// deadline that is stored after the look posts it again: see nudge. The owner calls it before it
// reads or waits; evTimeout of the wheel ends only waits, for which waitFor looks at the clock and
// arms the wheel.
func (c *eventConn) userReads(m *connMore) clock.Tick {
	if c.word.Load()&evTimeout != 0 {
		c.unset(evTimeout)
	}
	return clock.Tick(m.readUntil.Load())
}

// readNow reads what is there. It returns errWouldBlock if nothing is. p must not be
// empty: a read of 0 bytes means the end.
func (c *eventConn) readNow(p []byte) (n int, err error) {
	if c.layered {
		return c.readTop(p)
	}
	return c.readSocket(p)
}

// readSocket is readNow for the socket itself. After a short read of a stream no read is
// needed before the next edge (epoll(7), question 9). eventConn.hup and whole are the
// exceptions.
func (c *eventConn) readSocket(p []byte) (n int, err error) {
	for {
		n, errno := c.l.sys.read(c.fd, p)
		switch {
		case n > 0:
			short := n < len(p) && !c.hup && !c.whole
			if c.layered {
				c.more.Load().dry = short
			} else {
				c.drained = short
			}
			return n, nil
		case errno == syscall.EINTR:
		case errno == syscall.EAGAIN:
			c.drained = true
			if c.layered {
				c.more.Load().dry = true
			}
			return 0, errWouldBlock
		case errno == 0:
			return 0, c.failed(io.EOF)
		default:
			return 0, c.opError("read", errno)
		}
	}
}

// waitFor parks the owner until one of want was posted, or due has passed. It may also
// return nil before that: the caller must try again, and look at the clock and at the
// deadlines of the program. A deadline that is set after that look has posted evTimeout: see
// nudge. waitFor arms the wheel and calls a standby before it parks. Only reads use it.
func (c *eventConn) waitFor(want uint32, due clock.Tick) error {
	if due != 0 && clock.Ticks() >= due {
		return os.ErrDeadlineExceeded
	}
	c.l.wheel.arm(c, due)
	c.l.blocks()
	got := c.await(want | evTimeout | evKill)
	c.note(got)
	if got&evKill != 0 {
		return net.ErrClosed
	}
	return nil // after evTimeout the caller looks at the clock again
}

// awaitRoom parks a goroutine that writes, and has set wantsRoom, until there may be
// room, the connection has ended, or due has passed. It may also return nil before that:
// the caller must try its write again, and look at the clock. What ends writes is in the
// word before tell looks for wantsRoom, so awaitRoom looks at the word before it parks.
func (c *eventConn) awaitRoom(due clock.Tick) error {
	var late <-chan time.Time
	if due != 0 {
		left := time.Duration(due - clock.Ticks())
		if left <= 0 {
			return os.ErrDeadlineExceeded
		}
		t := time.NewTimer(left)
		defer t.Stop()
		late = t.C
	}
	if err := c.writesEnded(); err != nil {
		return err // it came before wantsRoom was set
	}
	c.l.blocks()
	select {
	case <-c.more.Load().room:
	case <-late:
	}
	return c.writesEnded()
}

// writesEnded returns an error if the connection is killed or cut.
func (c *eventConn) writesEnded() error {
	switch word := c.word.Load(); {
	case word&evKill != 0:
		return net.ErrClosed
	case word&evCut != 0:
		return errBroken
	}
	return nil
}

// wantRoom sets wantsRoom. A write that found no room must be tried again after it: room
// that came before wantsRoom was set was not reported.
func (c *eventConn) wantRoom() {
	if m := c.extra(); m.room == nil {
		m.room = make(chan struct{}, 1)
	}
	c.set(wantsRoom)
}

// Flush writes w.Out and empties it, even after an error, since it isn't known how much
// was written.
func (c *eventConn) Flush(w *Work) error {
	if len(w.Out) == 0 {
		return nil
	}
	err := c.writeAll(w.Out)
	w.Out = w.Out[:0]
	return err
}

// writeAll writes b, and waits for room if there is none.
func (c *eventConn) writeAll(b []byte) error {
	if c.layered {
		return c.writeTop(b)
	}
	return c.writeSocket(b)
}

// writeSocket is writeAll to the socket itself, within the time limits of writes. After
// an error all later writes fail.
func (c *eventConn) writeSocket(b []byte) error {
	err := c.writeWithin(b)
	if err != nil {
		c.set(evCut)
	}
	return err
}

// writeWithin writes b. If there is no room, it waits until the time limits of writes. At
// the first EAGAIN, or short write, it sets wantsRoom and tries again, since edges that
// came before were not reported. It computes the limit only when the goroutine has to
// wait: most writes never look at the clock.
func (c *eventConn) writeWithin(b []byte) error {
	if err := c.mayWrite(); err != nil {
		return err
	}
	armed := false
	due := clock.Tick(0)
	for {
		n, errno := c.l.sys.write(c.fd, b)
		if n > 0 {
			if b = b[n:]; len(b) == 0 {
				break
			}
			due = 0 // there was progress
		} else {
			switch errno {
			case syscall.EINTR:
				continue
			case syscall.EAGAIN:
			default:
				return c.opError("write", errno)
			}
		}
		if !armed {
			armed = true
			c.wantRoom()
			defer c.unset(wantsRoom)
			continue
		}
		if n > 0 {
			continue
		}
		if due == 0 {
			due = c.writeDue()
		} else if err := c.mayWrite(); err != nil { // a program may have set a deadline
			return err
		}
		until := due
		if m := c.more.Load(); m != nil {
			until = clock.Earlier(due, m.userWrites())
		}
		if err := c.awaitRoom(until); err != nil {
			if err == os.ErrDeadlineExceeded {
				c.l.e.writeTimeouts.Add(1)
			}
			return err
		}
	}
	return nil
}

// WriteBody writes w.Out and b, and empties w.Out. b belongs to the caller again when it
// returns.
func (c *eventConn) WriteBody(w *Work, b []byte) error {
	if len(b) < vectored {
		w.Out = append(w.Out, b...)
		return c.Flush(w)
	}
	for len(w.Out) > 0 {
		if c.layered || c.mayWrite() != nil {
			if err := c.Flush(w); err != nil {
				return err
			}
			break
		}
		n, errno := c.l.sys.writev(c.fd, w.Out, b)
		if n < 0 {
			if errno == syscall.EINTR {
				continue
			}
			n = 0 // the next write gets the error, or waits
		}
		if n < len(w.Out) {
			w.Out = w.Out[:copy(w.Out, w.Out[n:])]
			if err := c.Flush(w); err != nil {
				return err
			}
			break
		}
		b = b[n-len(w.Out):]
		w.Out = w.Out[:0]
	}
	if len(b) == 0 {
		return nil
	}
	return c.writeAll(b)
}

// maxLeft is the most that LeaveBody keeps. That is about as much memory as a waiting
// goroutine needs.
const maxLeft = 64 << 10

// LeaveBody writes w.Out and b as far as there is room, and waits until at most maxLeft
// bytes are left. It copies those to pend, which stepWrite writes after the session has
// returned. So b always belongs to the caller again when it returns.
func (c *eventConn) LeaveBody(w *Work, b []byte) (left bool, err error) {
	if c.layered || len(b) < vectored || c.mayWrite() != nil {
		return false, c.WriteBody(w, b)
	}
	n, errno := c.l.sys.writev(c.fd, w.Out, b)
	if n < 0 {
		if errno != syscall.EAGAIN && errno != syscall.EINTR {
			return false, c.opError("write", errno)
		}
		n = 0
	}
	b = b[max(n-len(w.Out), 0):]
	w.Out = w.Out[:copy(w.Out, w.Out[min(n, len(w.Out)):])]
	if most := len(b) - maxLeft; most > 0 {
		if err := c.Flush(w); err != nil {
			return false, err
		}
		if err := c.writeAll(b[:most]); err != nil {
			return false, err
		}
		b = b[most:]
		if n, _ := c.l.sys.write(c.fd, b); n > 0 { // stepWrite gets the error again
			b = b[n:]
		}
	}
	if len(w.Out)+len(b) == 0 {
		return false, nil
	}
	pend := make([]byte, 0, len(w.Out)+len(b))
	c.extra().unsent.pend = append(append(pend, w.Out...), b...)
	w.Out = w.Out[:0]
	return true, nil
}

// eventWatch tells a session that the peer has left. mu guards settled, and is held while
// gone runs, so that stop waits for gone. gone must not call stop. settled says that gone
// must not be called any more.
type eventWatch struct {
	mu      sync.Mutex
	gone    func(reset bool)
	halved  bool // gone was called for the end of the peer's side: only a reset may follow
	settled bool
}

// Watch calls gone when the peer leaves. The poller reports that even if there are unread
// bytes, since EPOLLRDHUP is an edge of its own. If it came before isWatched was set,
// hungUp finds it. gone runs on a goroutine of its own. Only the owner may call Watch and
// stop: stop clears isWatched after it has taken its watch away, so a Watch in between would
// not be told.
func (c *eventConn) Watch(gone func(reset bool)) (stop func()) {
	wt := &eventWatch{gone: gone}
	c.extra().watch.Store(wt)
	c.set(isWatched)
	if hup, reset := c.l.sys.hungUp(c.fd); hup {
		go wt.tell(reset)
	}
	return func() {
		if c.more.Load().watch.CompareAndSwap(wt, nil) {
			c.unset(isWatched)
		}
		wt.stop()
	}
}

// stop waits until gone has returned, if it runs, and keeps it from running later.
func (wt *eventWatch) stop() {
	wt.mu.Lock()
	wt.settled = true
	wt.mu.Unlock()
}

// tellWatch tells the watch, if there is one, that the peer has left. tell calls it, on
// any goroutine, with or without loop.mu. So it only starts a goroutine.
func (c *eventConn) tellWatch(reset bool) {
	if wt := c.more.Load().watch.Load(); wt != nil {
		go wt.tell(reset)
	}
}

// tell calls gone, unless stop came first: once for the end of the peer's side, and once for a
// reset, which may come after it.
func (wt *eventWatch) tell(reset bool) {
	wt.mu.Lock()
	defer wt.mu.Unlock()
	if wt.settled || wt.halved && !reset {
		return
	}
	wt.halved, wt.settled = true, reset
	wt.gone(reset)
}
