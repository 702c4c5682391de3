package gale

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/internal/pool"
)

// Reasons why a pipelined connection ends, besides errors of the connection.
var (
	errPipeIdle    = errors.New("gale: the connection was idle")
	errPipeGivenUp = errors.New("gale: nobody waits for the responses any longer")
	errPipeUnasked = errors.New("gale: the server sent something that nobody had asked for")
	errPipeLast    = errors.New("gale: the connection was used for the last time")
)

// pipeReadRoom is the size of the buffer that responses are read into, in
// bytes.
const pipeReadRoom = 16 << 10

// pipeConn is a connection of a lane. One goroutine writes and one reads. A timer
// watches both, so no deadlines need to be set. Whichever of the three finds that
// the connection must end closes it, which wakes both goroutines.
type pipeConn struct {
	l       *pipeLane
	cc      *clientConn
	batch   []*pipeCall // what is being written; used only by the writer
	rules   readRules   // used only by the reader
	reading *pipeCall   // the call whose response is being read; used only by the reader
	arrived atomic.Bool // bytes have come; it isn't known yet for which call

	// Guarded by the lane's lock.
	ended    bool
	err      error      // why
	last     bool       // nothing more is written to it
	closing  bool       // the server said that it will close the connection
	served   int        // responses
	writing  clock.Tick // when the running write began; 0 if there is none
	progress clock.Tick // since when the next response is expected; see finish
	idle     clock.Tick // since when the connection is idle
	due      clock.Tick // when timer fires
	timer    *time.Timer
}

func newPipeConn(l *pipeLane, cc *clientConn) *pipeConn {
	p := &pipeConn{l: l, cc: cc}
	p.rules.lim = l.c.host.responseLimits()
	cc.conn.Buffer(pipeReadRoom)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn = p
	p.idle = clock.Ticks()
	p.due = p.idle + clock.Tick(l.c.idle())
	p.timer = time.AfterFunc(l.c.idle(), p.watch)
	return p
}

// end ends the connection. The caller holds the lane's lock. Another goroutine closes the
// connection: Close, which may be user code, may take long, call the client, or end its goroutine.
func (p *pipeConn) end(err error) {
	if p.ended {
		return
	}
	p.ended, p.err = true, err
	p.l.nudge()
	go p.cc.conn.Cancel()
}

// fail is end for callers that don't hold the lock.
func (p *pipeConn) fail(err error) {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	p.end(err)
}

// stuck is called when a caller has left. It reports whether to give up waiting for
// the next response: its own caller has left, and since then the server has been
// silent for at least half of the time that this caller had waited. Later calls
// would have to wait for this response as well. The caller holds the lane's lock.
func (p *pipeConn) stuck(now clock.Tick) bool {
	front := p.l.flight.front
	if front == nil || !front.left || front.got {
		return false
	}
	silent := now - max(front.leftAt, p.progress)
	return silent > 0 && silent >= (front.leftAt-front.sentAt)/2
}

// watch ends the connection if it is idle for too long or a time limit is over.
// Otherwise it sets the timer to the next time when that may be so.
func (p *pipeConn) watch() {
	l := p.l
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.ended {
		return
	}
	now := clock.Ticks()
	next := now + clock.Tick(l.c.idle())
	check := func(since clock.Tick, limit time.Duration, err error) {
		if t := since + clock.Tick(limit); t <= now {
			p.end(err)
		} else {
			next = min(next, t)
		}
	}
	if l.queue.n == 0 && l.flight.n == 0 {
		check(p.idle, l.c.idle(), errPipeIdle)
	}
	if p.writing != 0 && l.c.WriteTimeout > 0 {
		check(p.writing, l.c.WriteTimeout, ErrTimeout)
	}
	if l.flight.n > 0 && p.writing == 0 && l.c.ReadTimeout > 0 {
		check(p.progress, l.c.ReadTimeout, ErrTimeout)
	}
	if !p.ended {
		p.due = next
		p.timer.Reset(time.Duration(next - now))
	}
}

// expect makes the timer fire in time for something that is due within limit of since. A
// limit of 0 means none.
func (p *pipeConn) expect(since, now clock.Tick, limit time.Duration) {
	if t := since + clock.Tick(limit); limit > 0 && t < p.due {
		p.due = t
		p.timer.Reset(time.Duration(t - now))
	}
}

// errPipeGoexit ends a connection with a method that ended its goroutine.
var errPipeGoexit = errors.New("gale: a method of the connection ended its goroutine")

// calmly runs f, which is read or write. If a method of the connection, which may
// be user code, panics, it ends the connection.
func (p *pipeConn) calmly(f func()) {
	err := errPipeGoexit
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("gale: a method of the connection panicked: %v\n%s", r, stack())
		}
		if err != nil {
			p.fail(err)
		}
	}()
	f()
	err = nil
}

// write writes the calls of the lane until the connection ends.
func (p *pipeConn) write() {
	for p.await() {
		n, err := p.writeBatch()
		p.wrote(n, err)
	}
}

// await waits for calls to write and takes them. It returns false when the
// connection ends.
func (p *pipeConn) await() bool {
	l := p.l
	l.mu.Lock()
	defer l.mu.Unlock()
	for waited := false; !p.ended; {
		switch {
		case !l.writable():
			l.parked = true
			l.mu.Unlock()
			<-l.wake
			// Other callers were woken together with the one that pushed this call.
			// They push calls, too.
			runtime.Gosched()
			waited = true
			l.mu.Lock()
		case waited && l.c.MaxBatchDelay > 0:
			p.delay(l.c.MaxBatchDelay) // all callers may have left after it
			waited = false
		default:
			p.fillBatch()
			return !p.ended
		}
	}
	return false
}

// delay waits for more calls. The caller holds the lock.
func (p *pipeConn) delay(d time.Duration) {
	l := p.l
	l.parked, l.batched = true, true
	l.nudge()
	l.mu.Unlock()
	timer := AcquireTimer(d)
	select {
	case <-timer.C:
	case <-l.wake:
	}
	ReleaseTimer(timer)
	l.mu.Lock()
	if !l.parked { // it was woken, perhaps just after the timer
		select {
		case <-l.wake:
		default:
		}
	}
	l.parked, l.batched = false, false
}

// fillBatch moves calls from the queue to the batch. The caller holds the lock.
func (p *pipeConn) fillBatch() {
	l := p.l
	now := clock.Ticks()
	if l.flight.n == 0 {
		if p.arrived.Load() { // a response before any request
			p.end(errPipeUnasked)
			return
		}
		p.progress = now
	}
	size := 0
	for l.writable() && (size == 0 || size < l.c.batch()) {
		pc := l.queue.front
		l.dequeue(pc)
		l.flight.pushBack(pc)
		l.waited++
		pc.state, pc.sent, pc.sentAt = pipeFlying, true, now
		pc.hold()
		p.batch = append(p.batch, pc)
		p.last = pc.last
		size += len(pc.bytes.B)
	}
	p.writing = now
	p.expect(now, now, l.c.ReadTimeout)
	p.expect(now, now, l.c.WriteTimeout)
}

// writeBatch writes the batch and returns how many bytes of it were written.
func (p *pipeConn) writeBatch() (int, error) {
	if len(p.batch) == 1 {
		return p.cc.conn.Write(p.batch[0].bytes.B)
	}
	out := pool.Get(p.l.c.batch())
	defer pool.Put(out)
	written := 0
	for i, pc := range p.batch {
		b := pc.bytes.B
		if len(b) <= bodyAlong || i == 0 {
			_, _ = out.Write(b)
			continue
		}
		n, err := p.cc.conn.Write(out.B)
		written += n
		out.Reset()
		if err == nil {
			n, err = p.cc.conn.Write(b)
			written += n
		}
		if err != nil {
			return written, err
		}
	}
	if len(out.B) == 0 {
		return written, nil
	}
	n, err := p.cc.conn.Write(out.B)
	return written + n, err
}

// wrote records the result of writing the batch: n bytes of it were written.
func (p *pipeConn) wrote(n int, err error) {
	defer p.dropBatch()
	l := p.l
	l.mu.Lock()
	defer l.mu.Unlock()
	p.writing = 0
	if l.c.ReadTimeout > 0 {
		now := clock.Ticks()
		if p.batch[0] == l.flight.front {
			p.progress = now
		}
		p.expect(p.progress, now, l.c.ReadTimeout) // the timer looks at no response while a write runs
	}
	if err == nil {
		return
	}
	at := 0
	for _, pc := range p.batch {
		pc.sent = at < n
		at += len(pc.bytes.B)
	}
	p.end(noResponse(err))
}

// dropBatch releases the calls that were written.
func (p *pipeConn) dropBatch() {
	for i, pc := range p.batch {
		pc.drop()
		p.batch[i] = nil
	}
	p.batch = p.batch[:0]
}

// read reads responses until the connection ends.
func (p *pipeConn) read() {
	for {
		if len(p.cc.conn.Unread()) == 0 {
			if err := p.cc.conn.Fill(); err != nil {
				p.fail(noResponse(err))
				return
			}
			p.arrived.Store(p.reading == nil)
		}
		if p.reading == nil && !p.begin() {
			return
		}
		if !p.finish(p.answer(p.reading)) {
			return
		}
	}
}

// begin finds the call whose response has come. It reports false if there is none.
func (p *pipeConn) begin() bool {
	l := p.l
	l.mu.Lock()
	defer l.mu.Unlock()
	p.reading = l.flight.front
	if p.reading == nil {
		p.end(errPipeUnasked)
		return false
	}
	p.reading.got = true
	p.arrived.Store(false)
	return true
}

// answer reads the response of pc. keep says that the connection can be used after
// it, closes that the server will close it.
func (p *pipeConn) answer(pc *pipeCall) (keep, closes bool, err error) {
	r, resp := &p.rules, &pc.resp
	r.limit, r.head, r.tunnel, r.interim = p.limit(), pc.head, pc.tunnel, 0
	r.lim.Tunnel = pc.tunnel
	if p.l.c.DisableHeaderNamesNormalizing {
		resp.Header.DisableNormalizing()
	}
	if err := p.cc.readFinalHead(nil, resp, r, nil, nil); err != nil {
		return false, false, noEOF(err)
	}
	keep = p.cc.frame(resp, r)
	closes = resp.Header.s.Conn&msg.ConnClose != 0
	if err := p.cc.readBody(resp, r); err != nil {
		return false, false, noEOF(err)
	}
	resp.ParseNetConn(p.cc.Conn())
	return keep, closes, nil
}

func (p *pipeConn) limit() int {
	switch n := p.l.c.MaxResponseBodySize; {
	case n < 0:
		return 0
	case n == 0:
		return DefaultMaxResponseBodySize
	default:
		return n
	}
}

// finish ends the call whose response was read or failed. It reports whether the
// next response can be read.
func (p *pipeConn) finish(keep, closes bool, err error) bool {
	l, pc := p.l, p.reading
	p.reading = nil
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		if p.ended {
			return false // err is the reason; the call is settled with the others
		}
		p.end(err)
		if isLost(err) {
			err = sentError(err, pc)
		}
	}
	l.flight.remove(pc)
	if !pc.left {
		l.waited--
	}
	l.done(pc, err)
	if err != nil {
		return false
	}
	p.served++
	l.careful = false
	if !keep || p.last && l.flight.n == 0 {
		p.closing = closes
		p.end(errPipeLast)
		return false
	}
	if l.flight.n > 0 && l.waited == 0 {
		p.end(errPipeGivenUp)
		return false
	}
	if front := l.flight.front; l.c.ReadTimeout > 0 || front != nil && front.left {
		p.progress = clock.Ticks()
	}
	switch surplus := len(p.cc.conn.Unread()) > 0; {
	case l.flight.n == 0 && surplus: // the surplus must not be taken for the response to the next call
		p.end(errPipeUnasked)
		return false
	case l.flight.n == 0:
		p.idle = clock.Ticks()
	case surplus:
		p.reading = l.flight.front
		p.reading.got = true
	}
	l.nudge()
	return true
}
