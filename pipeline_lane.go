package gale

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/galehttp/gale/internal/clock"
)

// pipeLane is the place of one connection of a PipelineClient: calls queue up
// for it, and a goroutine makes connections as long as there are calls.
type pipeLane struct {
	c    *PipelineClient
	load atomic.Int32 // calls that are queued or in flight
	wake chan struct{}

	mu      sync.Mutex
	queue   pipeList
	flight  pipeList // in the order in which they were written
	waited  int      // calls in flight whose caller still waits
	running bool     // the goroutine exists
	parked  bool     // it waits at wake
	batched bool     // it waits for more calls to write together
	queued  int      // bytes of the calls that are queued
	careful bool     // a connection was lost; see window
	conn    *pipeConn
	undial  context.CancelFunc // cancels the running dial
}

func (l *pipeLane) init(c *PipelineClient) {
	l.c = c
	l.wake = make(chan struct{}, 1)
}

// push adds a call. If patient is false and too many calls wait, it refuses the
// call.
func (l *pipeLane) push(pc *pipeCall, patient bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !patient && l.queue.n >= l.c.window() {
		return false
	}
	pc.hold()
	l.load.Add(1)
	l.enqueue(pc, false)
	if !l.running {
		l.running = true
		go l.run()
		return true
	}
	l.nudge()
	return true
}

func (l *pipeLane) enqueue(pc *pipeCall, first bool) {
	pc.state = pipeQueued
	l.queued += len(pc.bytes.B)
	if first {
		l.queue.pushFront(pc)
	} else {
		l.queue.pushBack(pc)
	}
}

func (l *pipeLane) dequeue(pc *pipeCall) {
	l.queued -= len(pc.bytes.B)
	l.queue.remove(pc)
}

// leave tells the lane that the caller of pc doesn't wait any longer. It returns
// false if the call is done.
func (l *pipeLane) leave(pc *pipeCall) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch pc.state {
	case pipeDone:
		<-pc.done // it was sent under the lock, so this doesn't block
		return false
	case pipeQueued:
		l.dequeue(pc)
		pc.state = pipeDone
		l.load.Add(-1)
		pc.drop()
		if l.queue.n == 0 && l.undial != nil {
			l.undial()
		}
		return true
	}
	pc.left, pc.leftAt = true, clock.Ticks()
	l.waited--
	if l.waited == 0 || l.conn.stuck(pc.leftAt) {
		l.conn.end(errPipeGivenUp)
	}
	return true
}

// done ends a call. The caller holds the lock.
func (l *pipeLane) done(pc *pipeCall, err error) {
	pc.state = pipeDone
	l.load.Add(-1)
	if !pc.left {
		pc.err = err
		pc.done <- struct{}{}
	}
	pc.drop()
}

// window returns how many calls may be in flight. After a connection was lost, the
// next one may have only one call in flight until it has answered it (RFC 9112
// section 9.3.2).
func (l *pipeLane) window() int {
	if l.careful {
		return 1
	}
	return l.c.window()
}

// writable reports whether there is a call that may be written now.
func (l *pipeLane) writable() bool {
	return l.queue.n > 0 && l.flight.n < l.window() && !l.conn.last
}

// nudge wakes the goroutine of the lane if it has something to do.
func (l *pipeLane) nudge() {
	switch {
	case !l.parked:
		return
	case l.conn.ended:
	case l.batched && l.queued < l.c.batch() && l.queue.n+l.flight.n < l.window():
		return
	case !l.writable():
		return
	}
	l.parked = false
	l.wake <- struct{}{}
}

// run makes connections as long as there are calls.
func (l *pipeLane) run() {
	ended := false
	defer func() {
		if !ended {
			l.broke()
		}
	}()
	for {
		cc, err := l.connect()
		if err == nil {
			l.serve(cc)
		}
		l.mu.Lock()
		if err != nil && err != errUndialed {
			for l.queue.n > 0 {
				pc := l.queue.front
				l.dequeue(pc)
				l.done(pc, err)
			}
		}
		if l.queue.n == 0 {
			l.running = false
			ended = true
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
	}
}

// broke cleans up after a user's function has ended the goroutine of the lane:
// Dial, a function of TLSConfig, or the Logger.
func (l *pipeLane) broke() {
	if r := recover(); r != nil {
		logRecovered("in a PipelineClient", r)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.queue.n > 0 {
		pc := l.queue.front
		l.dequeue(pc)
		l.done(pc, errNoConn)
	}
	l.running = false
}

// errUndialed is the error of a dial that was cancelled because no caller waited
// for it. It doesn't affect calls that came after that.
var errUndialed = errors.New("gale: nobody waits for the connection any more")

// connect makes a connection. It returns errUndialed when no caller waits for it
// any more.
func (l *pipeLane) connect() (cc *clientConn, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	l.mu.Lock()
	if l.queue.n == 0 { // they left before they could end the dial
		l.mu.Unlock()
		return nil, errUndialed
	}
	l.undial = cancel
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.undial = nil
		l.mu.Unlock()
	}()
	if l.c.addr == "" && l.c.Dial == nil {
		return nil, errNoAddr
	}
	k := newCall(ctx, 0)
	k.kind, k.http1 = callRaw, true // pipelines speak HTTP/1.1
	cc, err = l.c.host.connect(k, l.c.addr)
	if err != nil && ctx.Err() != nil {
		return nil, errUndialed
	}
	return cc, err
}

// serve sends calls over a new connection until the connection ends.
func (l *pipeLane) serve(cc *clientConn) {
	if cc == nil {
		return
	}
	conn := newPipeConn(l, cc)
	var both sync.WaitGroup
	both.Go(func() { conn.calmly(conn.read) })
	both.Go(func() { conn.calmly(conn.write) })
	both.Wait()
	conn.timer.Stop()
	l.mu.Lock()
	l.conn = nil
	lost := l.settle(conn)
	l.mu.Unlock()
	cc.conn.DropBuffer()
	if err := conn.err; err != errPipeIdle && err != errPipeGivenUp && err != errPipeLast && (lost || err != io.EOF) {
		l.c.logger().Printf("error in PipelineClient(%q): %v", l.c.Addr, err)
	}
}

// settle decides about the calls that a connection didn't answer; see
// PipelineClient. It reports whether there are such calls with a waiting caller.
// The caller holds the lock.
func (l *pipeLane) settle(conn *pipeConn) (lost bool) {
	var again []*pipeCall
	first := true
	for l.flight.n > 0 {
		pc := l.flight.front
		l.flight.remove(pc)
		l.careful = l.careful || pc.sent
		switch {
		case pc.left:
			l.done(pc, nil)
		case l.mayRepeat(conn, pc, first):
			again = append(again, pc)
			lost = true
		default:
			l.done(pc, lostError(conn.err, pc))
			lost = true
		}
		first = false
	}
	l.waited = 0
	for _, pc := range slices.Backward(again) {
		l.enqueue(pc, true)
	}
	if conn.closing {
		l.careful = false // the server announced that it would close it
	}
	return lost
}

// mayRepeat reports whether a call that a connection didn't answer is sent again.
// first says that it is the first of these calls.
func (l *pipeLane) mayRepeat(conn *pipeConn, pc *pipeCall, first bool) bool {
	switch {
	case !pc.sent:
		return true
	case pc.got || conn.err == ErrTimeout:
		return false
	case conn.closing:
		return true
	case first && conn.served == 0:
		return false
	}
	return pc.idempotent
}

// lostError is the error of a call whose connection ended with err, before its
// response began. It contains no text of err, because err may quote the response to
// another call.
func lostError(err error, pc *pipeCall) error {
	if err == ErrTimeout || err == errPipeGivenUp {
		return ErrTimeout
	}
	return sentError(ErrConnectionClosed, pc)
}

// sentError wraps err in an ErrRequestSent if the server may have acted on the
// call.
func sentError(err error, pc *pipeCall) error {
	if pc.sent && !pc.idempotent {
		return &ErrRequestSent{err}
	}
	return err
}
