package engine

import (
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// acceptor is a listener of Event. Workers of a loop visit it, one at a time, to accept
// its connections. Serve sets the fields up to done before it registers the listener.
// They don't change after that.
type acceptor struct {
	l     *loop
	port  *port
	sys   sockets
	ln    net.Listener
	raw   syscall.RawConn
	addr  net.Addr
	local net.Addr // the local address of all connections; nil if they differ
	whole bool     // see eventConn.whole

	options [][3]int // set for each connection; see prepare

	// Workers and the goroutine of Serve may call both, at the same time.
	handle  func(net.Conn)
	starved func(error)

	try    func(fd uintptr) // accepts into got
	number uint32           // in loop.listeners
	last   *LastCall        // of Serve
	look   chan struct{}    // buffered; makes Serve look whether the listener is closed
	done   chan struct{}    // closed when a visit ends after leave

	count atomic.Int64 // connections that the loop has accepted

	// These belong to the worker that visits the acceptor, or to Serve before the first
	// visit.
	got   accepted // without a descriptor if there was none
	err   error
	pause time.Duration
	timer *time.Timer // ends a pause
	// early are options for connections that were in the queue before the listener got
	// these options; later ones inherit them. It is nil once the queue was seen empty.
	early [][3]int

	// Under loop.mu:
	state acceptorState
	after uint64 // while it is queued: see turns
}

// acceptorState says whether a worker visits an acceptor. The state after each step:
//
//	           knock    turns.pop  end of a visit  leave
//	unvisited  visited                             left
//	queued     queued   visited                    left
//	visited    knocked             unvisited, 1    left, 2
//	knocked    knocked             queued          left, 2
//	left       left                left, 3
//
// 1: or queued, if there may be more to accept. 2: leave waits until done is closed. 3:
// done is closed. pushListener changes visited to queued if the visit has not begun.
type acceptorState uint8

const (
	unvisited acceptorState = iota // it waits for a knock
	queued                         // in loop.turns
	visited                        // a worker visits it, or is about to
	knocked                        // visited, and something has come since the visit began
	left                           // Serve wants no visits any more
)

// accepted is a connection that was accepted, but has no eventConn yet.
type accepted struct {
	fd   int32
	addr rawAddr
}

const (
	// acceptBatch is how many connections one visit accepts before others have their
	// turn.
	acceptBatch = 16
	// closedPoll is the interval at which Serve checks whether a busy listener was
	// closed.
	closedPoll = 100 * time.Millisecond
	// quietAfter is the number of checks without new connections after which a listener
	// counts as quiet.
	quietAfter = 10
)

// Serves reports whether Event serves the connections of ln: plain listeners of
// package net for TCP and UNIX sockets, if the system has a poller.
func (e *Event) Serves(ln net.Listener) bool {
	switch ln.(type) {
	case *net.TCPListener, *net.UnixListener:
		return haveSystem
	}
	return false
}

// Serve accepts connections from ln, for which Serves must be true, and calls handle with
// each, until ln fails permanently; see Accept. handle must call Adopt or Detach for the
// connection. It must not block, since workers of a loop call it. TCP keep-alive probes
// are sent after keepAlive without traffic.
//
// After last.Make it accepts what waits in the queue and returns nil; LookAtListeners
// must be called after Make. last may be nil.
//
// When Serve has returned, handle isn't called any more. Serve doesn't close ln, except
// after last.Make.
func (e *Event) Serve(ln net.Listener, keepAlive time.Duration, last *LastCall, handle func(net.Conn), starved func(error)) error {
	if err := e.Hold(); err != nil {
		return err
	}
	defer e.Unhold()
	a, err := newAcceptor(ln)
	if err != nil {
		return err
	}
	port, l := e.join(a.addr)
	defer e.part(port, l)
	a.port, a.sys = port, l.sys
	a.handle, a.starved, a.last = handle, starved, last
	if err := a.prepare(keepAlive); err != nil {
		return err
	}
	a.l, a.look, a.done = l, make(chan struct{}, 1), make(chan struct{})
	l.listen(a)
	e.acceptors.Store(a, nil)
	defer func() {
		e.acceptors.Delete(a)
		l.leave(a)
	}()
	var addErr error
	if err := a.raw.Control(func(fd uintptr) { addErr = l.sys.add(int32(fd), listenerSlot, a.number) }); err != nil {
		return err
	}
	if addErr != nil {
		return addErr
	}
	return a.wait()
}

// wait returns when the listener fails. Only ln.Accept tells at once that the listener
// was closed. But it competes with the loop for connections, and converting one that it
// accepts costs something. So wait calls Accept only while the listener is quiet, and
// then needs no ticks. While the listener is busy, wait checks it at each tick. The
// goroutine of Serve calls it.
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
		if a.last.Made() {
			a.acceptLast()
			return nil
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
			a.handleStolen(nc)
		case a.last.Made():
			a.acceptLast()
			return nil
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

// acceptLast does what LastCall.Make asked for. Workers may accept at the same time.
func (a *acceptor) acceptLast() {
	_ = a.raw.Control(a.unblock) // see acceptSome
	a.last.accept(a.ln, a.handleStolen, a.starved)
}

func (a *acceptor) handleStolen(nc net.Conn) {
	if c := a.steal(nc); c != nil {
		a.handle(c)
	}
}

// steal makes an eventConn from a connection of package net. It duplicates the descriptor
// of nc and closes nc. The goroutine of Serve calls it.
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

// visit accepts some connections and calls handle with each. worker.visit calls it. If
// handle panics or ends the goroutine, the visit ends too, and another worker goes on.
func (a *acceptor) visit() {
	more := true
	defer func() { a.l.endVisit(a, more) }()
	more = a.acceptSome()
}

// acceptSome is visit without its end. It reports whether there may be more: one edge
// stands for any number of connections (epoll(7)), so visits follow until accept finds
// none.
func (a *acceptor) acceptSome() (more bool) {
	for range acceptBatch {
		a.got.fd, a.err = -1, nil
		if a.raw.Control(a.try) != nil {
			return false // the listener is closed, and Serve sees that
		}
		switch {
		case a.got.fd >= 0:
			a.pause = 0
			// Call handle before the next accept: if the listener becomes blocking now,
			// that accept returns only with the next connection.
			a.count.Add(1)
			a.handle(a.newConn(a.got))
		case a.err == nil:
			a.pause = 0
			return false
		case errors.Is(a.err, syscall.ECONNABORTED): // that peer has left
		default:
			if passing(a.err) {
				a.starved(a.err)
			}
			a.takePause()
			return false
		}
	}
	return true // others first
}

// takePause makes a worker visit the listener after a pause, which doubles each time. The
// worker that visits the listener calls it. When the timer fires, there may be nothing to
// do: an edge may have led to a visit before, or Serve may have ended.
func (a *acceptor) takePause() {
	a.pause = min(max(2*a.pause, minPause), maxPause)
	if a.timer == nil {
		a.timer = time.AfterFunc(a.pause, a.retry)
	} else {
		a.timer.Reset(a.pause)
	}
}

// retry ends a pause, on a timer's goroutine. inject says why it wakes the poller.
func (a *acceptor) retry() {
	l := a.l
	l.mu.Lock()
	mine := a.knock()
	if mine {
		l.turns.pushListener(a)
	}
	polling := l.polling
	l.mu.Unlock()
	if mine && polling {
		l.sys.wake()
	}
}

// knock says that there may be something to accept. It is called under loop.mu. If it
// returns true, the caller must visit a or put it into turns.
func (a *acceptor) knock() (mine bool) {
	switch a.state {
	case unvisited:
		a.state = visited
		return true
	case visited:
		a.state = knocked
	}
	return false
}

// listen gives a listener its number. Events name the listener by it.
func (l *loop) listen(a *acceptor) {
	l.mu.Lock()
	l.listened++
	a.number = l.listened
	l.listeners[a.number] = a
	l.mu.Unlock()
}

// endVisit ends a visit. It needn't wake the poller: the worker that made the visit looks
// at turns next, or worker.ended does.
func (l *loop) endVisit(a *acceptor, more bool) {
	l.mu.Lock()
	switch {
	case a.state == left:
		close(a.done)
	case more || a.state == knocked:
		l.turns.pushListener(a)
	default:
		a.state = unvisited
	}
	l.mu.Unlock()
}

// leave ends the visits to a permanently: when it returns, none runs. It waits for a
// visit that runs, but not for a worker to become free, since all may be busy for long.
// Serve calls it, once.
func (l *loop) leave(a *acceptor) {
	l.mu.Lock()
	delete(l.listeners, a.number)
	was := a.state
	if was == queued {
		l.turns.remove(a)
	}
	a.state = left
	l.mu.Unlock()
	if was == visited || was == knocked {
		<-a.done
	}
}

// LookAtListeners makes the calls of Serve check at once whether their listeners were
// closed. Any goroutine may call it; it doesn't block.
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
	a := &acceptor{ln: ln, raw: raw, addr: ln.Addr()}
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

// Detach returns a connection of Serve as one of package net. Adopt may have been called
// for nc, but not Start. The caller must own nc, and must use only the result after that.
// After an error nc is closed.
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

// Drop closes a connection for which Adopt was called, but not Start. The caller must own
// it.
func (e *Event) Drop(nc net.Conn) {
	c := (*eventConn)(nc.(*eventSocket))
	c.l.wheel.remove(c)
	c.close()
	e.disown(c)
}

// disown undoes the counting of Adopt, for a connection that never had a session.
func (e *Event) disown(c *eventConn) {
	c.l.conns.Add(-1)
	c.l.unhold()
}

// hijack gives the connection away. Its owner calls it in phase writing, when all output
// is written. The Waker ends before Hijacked begins. No other method of the session runs
// then, and Closed isn't called.
func (c *eventConn) hijack(wk *worker) verdict {
	nc, err := c.ordinary(c.w)
	if err != nil {
		return c.end(err, wk)
	}
	c.forsake(wk)
	wk.c = nil
	c.more.waker().end()
	go c.sess.Hijacked(nc)
	c.ended(nil)
	return ended
}

// ordinary returns the connection as one of package net. Its Read returns the unread
// bytes first: a copy of the stash and of those of w. The owner calls it. After an error
// the connection is as it was. Otherwise the new one has a duplicate of the descriptor,
// which the poller doesn't know, and fd is closed. Methods of the old net.Conn then call
// those of the new one, so that TLS on top of it goes on.
func (c *eventConn) ordinary(w *Work) (net.Conn, error) {
	rest := append([]byte(nil), c.stashed()...)
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
	below := nc // nc becomes the connection on top, if there is one
	c.extra().hijacked.Store(&below)
	c.close()
	if c.layered {
		nc = c.more.Load().top // which reads from below from now on
	}
	if len(rest) > 0 {
		nc = &hijackedConn{Conn: nc, rest: rest}
	}
	return nc, nil
}

// Detach returns the connection as one of package net while a message is in flight. Only
// the goroutine that runs the session may call it. obey does the rest when the session
// has returned.
func (c *eventConn) Detach(w *Work) (net.Conn, error) {
	if err := c.Flush(w); err != nil {
		return nil, err
	}
	c.endWatch()
	nc, err := c.ordinary(w)
	if err != nil {
		return nil, err
	}
	c.rare |= detached
	w.Consume(len(w.Unread()))
	return nc, nil
}

// namedConn is a connection that remembers the address of its peer: package net has none
// if the peer has already reset the connection.
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
