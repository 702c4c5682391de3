package ws

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/pool"
	"github.com/galehttp/gale/internal/wsframe"
)

// How a Conn ends: the closing handshake (RFC 6455 section 7) and failures.

// errCloseTimeout is the error of Close if the peer doesn't answer.
var errCloseTimeout error = &timeoutError{"ws: the peer didn't answer the close frame within CloseTimeout"}

// Close does the closing handshake (RFC 6455 section 7): it sends a close frame, waits for
// the peer's, at most for Options.CloseTimeout, and closes the connection. Messages that
// arrive meanwhile are dropped. It returns nil if the peer has answered, or has begun the
// handshake. Otherwise it returns what broke the connection, or an error whose Timeout
// method returns true.
//
// reason is cut to 123 bytes. With StatusNoStatus, the close frame has no code. A code that
// must not be sent is replaced with StatusNormal.
func (c *Conn) Close(code StatusCode, reason string) error {
	if code != StatusNoStatus && !wsframe.ValidSent(uint16(code)) {
		code = StatusNormal
	}
	c.beginClose(code, reason)
	c.mu.Lock()
	ended := c.endedLocked()
	c.mu.Unlock()
	timer := time.NewTimer(c.set.closeTimeout)
	defer timer.Stop()
	until := clock.Ticks().Add(c.set.closeTimeout)
	ready := c.reading.join()
	if ready == nil {
		c.readToEnd(until)
		c.unlockReading()
		return c.closeResult()
	}
	select {
	case <-ended:
		c.reading.leave(ready)
	case <-timer.C:
		_ = c.end(errCloseTimeout)
		c.reading.leave(ready)
	case <-ready:
		c.readToEnd(until)
		c.unlockReading()
	}
	return c.closeResult()
}

// closeResult returns the error of Close for a WebSocket that has ended.
func (c *Conn) closeResult() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.gotClose {
		return nil
	}
	return c.state.broke
}

// readToEnd reads until the WebSocket has ended or the time is up. The holder of reading
// calls it.
func (c *Conn) readToEnd(until clock.Tick) {
	c.in.ctx, c.in.until = context.Background(), until
	c.dropMessages()
	var f wsframe.Frame
	for {
		err := c.why()
		if err == nil {
			err = c.frame(&f)
		}
		switch err {
		case nil:
		case context.DeadlineExceeded:
			_ = c.end(errCloseTimeout)
			return
		default:
			return
		}
	}
}

// beginClose sends a close frame, unless one was sent. It doesn't wait for the peer.
func (c *Conn) beginClose(code StatusCode, reason string) {
	c.mu.Lock()
	s := &c.state
	if s.over || s.closeSent {
		c.mu.Unlock()
		return
	}
	s.cause = &CloseError{Code: code, Reason: reason, Local: true}
	c.queueCloseLocked(uint16(code), reason)
	c.mu.Unlock()
	c.kick()
}

// queueCloseLocked puts a close frame at the end of what waits to be sent. mu is held.
func (c *Conn) queueCloseLocked(code uint16, reason string) {
	var room [wsframe.MaxControl]byte
	b := c.newFrame(wsframe.Close, true, false, wsframe.AppendClose(room[:0], code, reason))
	s := &c.state
	s.closeSent = true
	c.closing.Store(true)
	if s.stream != nil {
		s.dropMessages() // they can't be sent before the Writer's message has ended
	}
	w, q := s.queue(), queued{b: b.B, own: b}
	if len(w.messages) > 0 {
		w.messages = append(w.messages, q)
		w.size += q.cost()
		return
	}
	w.control = append(w.control, q)
}

// peerCloses handles the peer's close frame. It returns why the WebSocket has ended.
func (c *Conn) peerCloses(code uint16, reason []byte) error {
	c.mu.Lock()
	s := &c.state
	if s.over {
		defer c.mu.Unlock()
		return s.err
	}
	s.gotClose = true
	if !s.closeSent {
		s.cause = &CloseError{Code: StatusCode(code), Reason: string(reason)}
		s.dropMessages()
		c.queueCloseLocked(code, "")
	}
	err := error(s.cause)
	c.endLocked(err)
	c.mu.Unlock()
	c.hangUpSoon()
	return err
}

// fail ends the WebSocket because the peer broke a rule or exceeded a limit: it sends a
// close frame, doesn't wait for the peer's, and closes the connection (RFC 6455 section
// 7.1.7). It returns why the WebSocket has ended. The holder of reading calls it.
func (c *Conn) fail(code StatusCode, reason string) error {
	c.mu.Lock()
	s := &c.state
	if s.over {
		defer c.mu.Unlock()
		return s.err
	}
	if !s.closeSent {
		s.cause = &CloseError{Code: code, Reason: reason, Local: true}
		s.dropMessages()
		c.queueCloseLocked(uint16(code), reason)
	}
	err := error(s.cause)
	s.broke = err
	c.endLocked(err)
	s.lingering = make(chan struct{})
	c.mu.Unlock()
	c.kick()
	go c.linger()
	return err
}

// linger ends the sending side and waits until the peer has closed the connection, so that
// what it is still sending can't make it lose the close frame.
func (c *Conn) linger() {
	defer close(c.state.lingering)
	defer c.closeNow(true)
	ctx, cancel := context.WithTimeout(context.Background(), c.set.closeTimeout)
	defer cancel()
	end, _ := ctx.Deadline()
	if c.lockWire(ctx) != nil {
		return // the peer doesn't even take the close frame
	}
	if half, ok := c.nc.(interface{ CloseWrite() error }); ok {
		_ = c.nc.SetWriteDeadline(end)
		_ = half.CloseWrite()
	} else {
		_ = c.nc.SetWriteDeadline(end)
	}
	c.unlockWire()
	if c.reading.lock(ctx) != nil {
		return
	}
	defer c.unlockReading()
	_ = c.nc.SetReadDeadline(end)
	b := pool.Get(readSize)
	defer pool.Put(b)
	for total := 0; total < maxLinger; {
		n, err := c.nc.Read(b.B[:cap(b.B)])
		if err != nil {
			return
		}
		total += n
	}
}

// maxLinger is how many bytes linger reads.
const maxLinger = 64 << 20

// lostWriting ends the WebSocket because writing has failed, and returns why it has ended:
// if the peer has sent a close frame before it closed the connection, that is the reason.
// What came before it is held for Read. The look for it ends with ctx.
func (c *Conn) lostWriting(ctx context.Context, err error) error {
	if isTimeout(err) {
		return c.end(err)
	}
	c.mu.Lock()
	ended := c.state.over
	if ended {
		err = c.state.writable()
	}
	c.mu.Unlock()
	if ended {
		return err
	}
	if !c.reading.tryLock() { // the call that reads finds the reason
		time.AfterFunc(lastLook, func() { _ = c.end(err) })
		return err
	}
	defer c.unlockReading()
	c.in.ctx, c.in.until = ctx, clock.Ticks().Add(lastLook)
	for !c.heldFull() {
		if c.hold(true) != nil {
			break
		}
	}
	return c.end(err)
}

// lastLook is how long the peer's close frame is looked for when writing has failed.
const lastLook = time.Second

// hangUpSoon closes the connection when the close frame and what waits before it are sent,
// at the latest after CloseTimeout.
func (c *Conn) hangUpSoon() {
	c.mu.Lock()
	c.state.hangup = true
	c.mu.Unlock()
	c.kick()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.hangup { // others are sending
		time.AfterFunc(c.set.closeTimeout, func() { _ = c.end(errCloseTimeout); c.closeNow(false) })
	}
}

// CloseNow closes the connection without a handshake. It always returns nil.
func (c *Conn) CloseNow() error {
	_ = c.end(ErrClosed)
	c.tidy()
	return nil
}

// closeNow closes the connection. calm says that nothing is being written. If it is set, TLS
// sends its last record, for which it may wait for the peer.
func (c *Conn) closeNow(calm bool) {
	nc := c.nc
	if t, ok := nc.(interface{ NetConn() net.Conn }); ok && !calm {
		nc = t.NetConn() // closing TLS waits for writes
		for t, ok := nc.(*tls.Conn); ok; t, ok = nc.(*tls.Conn) {
			nc = t.NetConn() // TLS through a proxy that speaks TLS
		}
	}
	_ = nc.Close()
}

// hangUp is closeNow when nothing is being written, for calls that must not wait.
func (c *Conn) hangUp() {
	if c.raw == nil {
		go c.closeNow(true)
		return
	}
	c.closeNow(true)
}

// tidy gives back the memory of a WebSocket that has ended, unless other calls use it:
// they do it then.
func (c *Conn) tidy() {
	if c.reading.tryLock() {
		c.unlockReading()
	}
	c.kick()
}

// freeInput gives back the memory for reading of a WebSocket that has ended. The holder of
// reading calls it.
func (c *Conn) freeInput() {
	in := &c.in
	if in.buf != nil {
		pool.Put(in.buf)
		in.buf, in.at = nil, 0
	}
	in.watch.drop()
	if c.zip != nil && c.msgs == nil {
		c.zip.inflater.Free()
		c.zip.inflater = wsframe.Inflater{}
	}
}

// freeOutput is freeInput for writing. The holder of wire calls it.
func (c *Conn) freeOutput() {
	c.writeWatch.drop()
	if c.zip != nil {
		c.zip.deflater.Free() // its settings stay: publish reads them
	}
}

// startLife limits the life of the WebSocket.
func (c *Conn) startLife() {
	if d := c.set.maxLifetime; d > 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.state.life = time.AfterFunc(d, func() {
			c.set.stats.lifetimeClosed.Add(1)
			_ = c.Close(StatusGoingAway, "the WebSocket was open for too long")
		})
	}
}
