package engine

import (
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// acceptor is a listener of Event. A loop accepts its connections: it is visited
// like a connection.
type acceptor struct {
	c     eventConn // stands for it in the loop
	sys   sockets
	ln    net.Listener
	raw   syscall.RawConn
	addr  net.Addr
	local net.Addr // that of all connections; nil if they differ
	whole bool     // see eventConn.whole

	options [][3]int // to be set for each connection; see prepare

	handle  func(net.Conn)
	starved func(error)

	got   accepted // without a descriptor if there was none
	err   error
	try   func(fd uintptr) // accepts into got
	pause time.Duration
	count atomic.Int64  // accepted by the loop
	look  chan struct{} // tells Serve to look whether the listener is closed
	done  chan struct{} // closed when the loop has let go of it
}

// accepted is a connection that has no more than its descriptor.
type accepted struct {
	fd   int32
	addr rawAddr
}

const (
	// acceptBatch is how many connections are accepted before others get their
	// turn.
	acceptBatch = 16
	// closedPoll is how often Serve looks whether a busy listener was closed.
	closedPoll = 100 * time.Millisecond
	// quietAfter is after how many looks without connections a listener
	// counts as quiet.
	quietAfter = 10
)

// Serves reports whether Event serves the connections of ln: plain listeners of
// package net for TCP and UNIX sockets, where the system has a poller for it.
func (e *Event) Serves(ln net.Listener) bool {
	switch ln.(type) {
	case *net.TCPListener, *net.UnixListener:
		return haveSystem
	}
	return false
}

// Serve accepts connections from ln, for which Serves must be true, and hands
// them to handle, until ln fails for good; see Accept. handle calls Start or
// Detach, or closes what it got. Probes for peers that are gone are sent after
// keepAlive of silence.
func (e *Event) Serve(ln net.Listener, keepAlive time.Duration, handle func(net.Conn), starved func(error)) error {
	if err := e.Hold(); err != nil {
		return err
	}
	defer e.Unhold()
	a, err := newAcceptor(ln)
	if err != nil {
		return err
	}
	a.handle, a.starved = handle, starved
	if err := a.prepare(keepAlive); err != nil {
		return err
	}
	l := e.nextLoop()
	a.c.l, a.c.phase, a.c.from = l, accepting, a
	a.look, a.done = make(chan struct{}, 1), make(chan struct{})
	slotAt, gen := l.adopt(&a.c)
	e.acceptors.Store(a, nil)
	defer func() {
		e.acceptors.Delete(a)
		for over := false; !over; { // then no connection comes any more
			if a.c.post(evStop) || l.unqueue(&a.c) {
				a.letGo() // all goroutines may be busy for long
			}
			select {
			case <-a.done:
				over = true
			case <-time.After(closedPoll): // it may have been queued meanwhile
			}
		}
	}()
	var addErr error
	if err := a.raw.Control(func(fd uintptr) { addErr = l.sys.add(int32(fd), slotAt, gen) }); err != nil {
		return err
	}
	if addErr != nil {
		return addErr
	}
	return a.wait()
}

// nextLoop returns the loop for the next listener: each in turn.
func (e *Event) nextLoop() *loop {
	loops := e.all()
	return loops[int(e.served.Add(1)-1)%len(loops)]
}

// wait returns when the listener fails. Accept alone tells when somebody closes
// it; but it would compete with the loop for connections, and what it brings has
// to be made one of ours at some cost. So it is called while the listener is
// quiet, which also means that nothing wakes up for nothing then; otherwise a
// look now and then has to do.
func (a *acceptor) wait() error {
	tick := time.NewTicker(closedPoll)
	defer tick.Stop()
	var pause time.Duration
	quiet, seen := 0, int64(0)
	for {
		select {
		case <-tick.C:
		case <-a.look:
		}
		if err := a.raw.Control(a.unblock); err != nil {
			return err
		}
		if n := a.count.Load(); n != seen {
			seen, quiet = n, 0
		}
		if quiet++; quiet <= quietAfter {
			continue
		}
		tick.Stop()
		nc, err := a.ln.Accept()
		switch {
		case err == nil:
			pause, quiet = 0, 0
			if c := a.steal(nc); c != nil {
				a.handle(c)
			}
		case !passing(err):
			return err
		default:
			if !errors.Is(err, syscall.ECONNABORTED) {
				a.starved(err)
			}
			pause = min(max(2*pause, minPause), maxPause)
			time.Sleep(pause)
		}
		tick.Reset(closedPoll)
	}
}

// steal makes a connection of package net one of ours.
func (a *acceptor) steal(nc net.Conn) net.Conn {
	defer nc.Close()
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	var got accepted
	err = raw.Control(func(fd uintptr) { got, err = a.sys.duplicate(fd) })
	if err != nil || got.fd < 0 {
		a.starved(err)
		return nil
	}
	return a.newConn(got)
}

func (a *acceptor) newConn(got accepted) net.Conn {
	c := &eventConn{from: a, fd: got.fd, addr: got.addr, whole: a.whole}
	c.word.Store(isOwned)
	return (*eventSocket)(c)
}

// stepAccept accepts some connections and hands them on.
func (c *eventConn) stepAccept(ev uint32, wk *worker) verdict {
	a := c.from
	if ev&evStop != 0 {
		wk.c = nil
		a.letGo()
		return ended
	}
	n := 0
	for ; n < acceptBatch; n++ {
		a.got.fd, a.err = -1, nil
		if a.raw.Control(a.try) != nil {
			return wait // it is closed, and Serve sees it
		}
		if a.got.fd < 0 {
			break
		}
		// At once: if the listener is made one that blocks at this moment, the
		// next call returns with the next connection only.
		a.count.Add(1)
		a.handle(a.newConn(a.got))
	}
	switch {
	case n == acceptBatch:
		wk.feeds = visitFeeds // others first
		return again
	case a.err == nil:
		a.pause = 0
		c.setDue(0)
		return wait
	case errors.Is(a.err, syscall.ECONNABORTED):
		return again
	case passing(a.err):
		a.starved(a.err)
	}
	if n > 0 {
		a.pause = 0
	}
	a.pause = min(max(2*a.pause, minPause), maxPause)
	c.setDue(clock.Ticks() + clock.Tick(a.pause))
	return wait
}

// letGo ends the accepting. The caller owns a.c.
func (a *acceptor) letGo() {
	a.c.l.forget(&a.c)
	a.c.set(isClosed)
	a.c.l.wheel.remove(&a.c)
	close(a.done)
}

// acceptHook lets tests have accepting fail.
var acceptHook func() error

// LookAtListeners has the calls of Serve look at once whether their listeners
// were closed.
func (e *Event) LookAtListeners() {
	e.acceptors.Range(func(a, _ any) bool {
		select {
		case a.(*acceptor).look <- struct{}{}:
		default:
		}
		return true
	})
}

func newAcceptor(ln net.Listener) (*acceptor, error) {
	raw, err := ln.(syscall.Conn).SyscallConn()
	if err != nil {
		return nil, err
	}
	a := &acceptor{ln: ln, raw: raw, addr: ln.Addr(), sys: plainSockets}
	a.try = a.accept
	switch addr := a.addr.(type) {
	case *net.TCPAddr:
		if !addr.IP.IsUnspecified() {
			a.local = addr
		}
	case *net.UnixAddr:
		a.local, a.whole = addr, true
	}
	return a, nil
}

// Detach makes a connection of Serve an ordinary one, whether Adopt was called
// for it or not. The connection that it was given goes on as that one; after an
// error it is closed.
func (e *Event) Detach(nc net.Conn) (net.Conn, error) {
	c := (*eventConn)(nc.(*eventSocket))
	if c.l == nil {
		ordinary, err := c.from.sys.netConn(c.fd)
		c.from.sys.close(c.fd)
		return ordinary, err
	}
	c.l.wheel.remove(c)
	ordinary, err := c.ordinary(nil)
	if err != nil {
		e.Drop(nc)
		return nil, err
	}
	e.disown(c)
	return ordinary, nil
}

// Drop closes a connection for which Adopt was called.
func (e *Event) Drop(nc net.Conn) {
	c := (*eventConn)(nc.(*eventSocket))
	c.l.wheel.remove(c)
	c.close()
	e.disown(c)
}

// disown undoes the counting of Adopt.
func (e *Event) disown(c *eventConn) {
	c.l.conns.Add(-1)
	e.n.Add(-1)
	e.Unhold()
}

// hijack gives the connection away.
func (c *eventConn) hijack(wk *worker) verdict {
	nc, err := c.ordinary(c.w)
	if err != nil {
		return c.end(err, wk)
	}
	c.forsake(wk)
	wk.c = nil
	go c.sess.Hijacked(nc)
	c.l.ended(c, nil)
	return ended
}

// ordinary makes the connection one of package net, with what is unread in
// front.
func (c *eventConn) ordinary(w *Work) (net.Conn, error) {
	rest := append([]byte(nil), c.extra().stash...)
	if w != nil {
		rest = append(rest, w.Unread()...)
	}
	nc, err := c.l.sys.netConn(c.fd)
	if err != nil {
		return nil, err // it goes on as it was
	}
	c.l.sys.remove(c.fd)
	if nc.RemoteAddr() == nil {
		nc = &namedConn{nc, c.RemoteAddr()} // the peer has left already
	}
	below := nc // nc may be on top of it
	c.extra().hijacked.Store(&below)
	c.close()
	if c.over {
		nc = c.more.Load().over // which reads from that one from now on
	}
	if len(rest) > 0 {
		nc = &hijackedConn{Conn: nc, rest: rest}
	}
	return nc, nil
}

// Detach makes the connection an ordinary one while a message is in flight.
func (c *eventConn) Detach(w *Work) (net.Conn, error) {
	if err := c.Flush(w); err != nil {
		return nil, err
	}
	if m := c.more.Load(); m != nil {
		if wt := m.watch.Swap(nil); wt != nil {
			wt.stop()
		}
	}
	nc, err := c.ordinary(w)
	if err != nil {
		return nil, err
	}
	c.detached = true
	w.Consume(len(w.Unread()))
	return nc, nil
}

// namedConn is a connection with an address for its peer.
type namedConn struct {
	net.Conn
	remote net.Addr
}

func (c *namedConn) RemoteAddr() net.Addr { return c.remote }

// CloseWrite ends our side of the connection.
func (c *namedConn) CloseWrite() error {
	if cw, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return cw.CloseWrite()
	}
	return errors.ErrUnsupported
}
