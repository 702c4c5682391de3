package gale

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/engine"
)

// upgradePump moves the bytes of an UpgradedConn that no engine serves, such as a stream of
// HTTP/2, on one goroutine. It calls the handler as an upgradeSession does. Only that
// goroutine uses the fields before pending.
type upgradePump struct {
	nc    net.Conn
	under net.Conn // of the request, for the TLS state; may be nil

	buf   []byte
	r, w  int // unread bytes are in buf[r:w]
	out   []byte
	into  []byte // of ReadInto
	atEnd bool   // the peer has ended its side

	writeTimeout time.Duration
	bounded      bool // nc has a write deadline

	pending atomic.Bool   // Wake was called, and no call of Received has begun since
	bell    chan struct{} // wake sends to it; read only after the end of stream

	mu    sync.Mutex // of the deadlines of nc and what follows
	waits bool       // wake may interrupt a Read that runs
	cut   bool       // Kill was called
}

const (
	pumpBuffer = 4 << 10
	// pumpPiece is the size in bytes of the writes to which UpgradedConn.SetWriteTimeout
	// applies.
	pumpPiece = 16 << 10
	// pumpLinger is how long the pump discards what the peer sends after Close, and
	// pumpLingerStop how long it does while the server stops.
	pumpLinger     = 2 * time.Second
	pumpLingerStop = 100 * time.Millisecond
)

// errPumpWoken is the result of a wait that Wake has ended.
var errPumpWoken = errors.New("gale: woken")

// hijackFor returns what Upgrade passes to Hijack, for exchanges that know nothing of
// Upgrade. Others don't call it.
func hijackFor(ctx *RequestCtx, h UpgradeHandler) HijackHandler {
	if ctx.bringer().Hands() == door.HandsSession {
		return neverHijack
	}
	return upgradeByPump(ctx, h)
}

// neverHijack stands in contexts of an exchange that serves an UpgradeHandler itself.
func neverHijack(nc net.Conn) { _ = nc.Close() }

// upgradeByPump returns a HijackHandler that serves h.
func upgradeByPump(ctx *RequestCtx, h UpgradeHandler) HijackHandler {
	c := &UpgradedConn{h: h}
	c.sc.s, c.sc.l = ctx.server(), ctx.listening()
	c.sc.id, c.sc.opened = ctx.ConnID(), clock.TickOf(ctx.ConnTime())
	under := ctx.bringer().Conn()
	return func(nc net.Conn) {
		c.sc.nc = nc
		p := &upgradePump{nc: nc, under: under, bell: make(chan struct{}, 1)}
		c.sc.extra().pump = p
		defer c.sc.s.countTaken(c.sc.l, c.Wake, func() { c.Kill(nil) })()
		p.run(c)
	}
}

// run serves the connection until it has ended.
func (p *upgradePump) run(c *UpgradedConn) {
	err := net.ErrClosed // after runtime.Goexit, and a panic of a method of nc
	defer func() { c.end(err) }()
	defer p.close(c)
	c.begun = true
	err = p.serve(c)
}

// serve calls the handler until the connection must end, and returns the reason.
func (p *upgradePump) serve(c *UpgradedConn) error {
	p.guard(c, func() { c.h.Opened(c) })
	feed := c.Stopping()
	for {
		if c.killed.Load() || c.ends == upgradeAborts {
			return engine.ErrAborted
		}
		feed = feed || len(p.out) > OutLimit
		if err := p.send(nil); err != nil {
			return err
		}
		if c.ends == upgradeCloses {
			return nil
		}
		var why error
		if c.landed = 0; !feed {
			why = p.wait(c)
		}
		feed, p.into = false, nil
		switch {
		case c.killed.Load():
			return engine.ErrAborted
		case why == nil || why == errPumpWoken:
			p.pending.Swap(false)
			p.guard(c, func() { p.receive(c) })
		default:
			p.guard(c, func() { c.h.Stalled(c, why) })
			if c.ends == upgradeGoesOn && why != io.EOF && !engine.IsTimeout(why) {
				return why
			}
		}
	}
}

// guard calls f, which calls the handler. A panic is logged and ends the connection.
func (p *upgradePump) guard(c *UpgradedConn, f func()) {
	defer func() {
		if r := recover(); r != nil {
			c.panicked(r)
		}
	}()
	f()
}

// receive calls Received.
func (p *upgradePump) receive(c *UpgradedConn) {
	in := p.buf[p.r:p.w]
	n := c.h.Received(c, in)
	if n < 0 || n > len(in) {
		panic(errConsumed)
	}
	if p.r += n; p.r == p.w {
		p.r, p.w = 0, 0
		if len(p.buf) > pumpPiece {
			p.buf = nil
		}
	}
}

// wait waits for bytes, for Wake, or until the timeout of c has passed.
func (p *upgradePump) wait(c *UpgradedConn) error {
	into := p.into
	p.into = nil
	if p.atEnd {
		return p.waitAtEnd(c.wait())
	}
	elsewhere := len(into) > 0 && p.r == p.w
	if !elsewhere {
		into = p.room()
	}
	if err := p.beginRead(c.wait()); err != nil {
		return err
	}
	n, err := p.nc.Read(into)
	p.mu.Lock()
	p.waits = false
	p.mu.Unlock()
	switch {
	case n > 0 && elsewhere:
		c.landed = uint32(n)
	case n > 0:
		p.w += n
	case err == nil:
		return errPumpWoken
	case engine.IsTimeout(err) && p.pending.Load():
		return errPumpWoken
	case err == io.EOF:
		p.atEnd = true
		return err
	default:
		return err
	}
	return nil
}

// beginRead sets the read deadline, and lets wake interrupt the Read that follows.
func (p *upgradePump) beginRead(d time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut {
		return net.ErrClosed
	}
	if p.pending.Load() {
		return errPumpWoken
	}
	p.waits = true
	due := time.Time{}
	if d > 0 {
		due = time.Now().Add(d)
	}
	_ = p.nc.SetReadDeadline(due)
	return nil
}

// waitAtEnd takes the place of a Read after the peer has ended its side.
func (p *upgradePump) waitAtEnd(d time.Duration) error {
	var late <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		late = t.C
	}
	for !p.pending.Load() {
		select {
		case <-p.bell: // it may be an old one
		case <-late:
			return os.ErrDeadlineExceeded
		}
	}
	return errPumpWoken
}

// room returns a slice of buf to read into.
func (p *upgradePump) room() []byte {
	if p.r > 0 {
		p.w = copy(p.buf, p.buf[p.r:p.w])
		p.r = 0
	}
	if len(p.buf)-p.w < pumpBuffer/2 {
		buf := make([]byte, max(pumpBuffer, 2*len(p.buf)))
		copy(buf, p.buf[:p.w])
		p.buf = buf
	}
	return p.buf[p.w:]
}

// wake makes run call Received. Any goroutine may call it.
func (p *upgradePump) wake() {
	if p.pending.Swap(true) {
		return
	}
	select {
	case p.bell <- struct{}{}:
	default:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waits {
		defer recovered("interrupting a read")
		_ = p.nc.SetReadDeadline(clock.LongAgo)
	}
}

// interrupt makes reads and writes fail from now on. Any goroutine may call it.
func (p *upgradePump) interrupt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
	defer recovered("interrupting a connection")
	_ = p.nc.SetDeadline(clock.LongAgo)
}

// send writes the output and then b.
func (p *upgradePump) send(b []byte) error {
	if len(b) < pumpPiece {
		p.out = append(p.out, b...)
		b = nil
	}
	err := p.write(p.out)
	if p.out = p.out[:0]; cap(p.out) > OutLimit+pumpPiece {
		p.out = nil
	}
	if err == nil {
		err = p.write(b)
	}
	return err
}

// write writes b, in pieces if there is a timeout.
func (p *upgradePump) write(b []byte) error {
	for len(b) > 0 {
		piece := b
		if p.writeTimeout > 0 {
			piece = b[:min(len(b), pumpPiece)]
		}
		if err := p.beginWrite(); err != nil {
			return err
		}
		n, err := p.nc.Write(piece)
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// beginWrite sets the write deadline.
func (p *upgradePump) beginWrite() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.cut:
		return net.ErrClosed
	case p.writeTimeout > 0:
		p.bounded = true
		_ = p.nc.SetWriteDeadline(time.Now().Add(p.writeTimeout))
	case p.bounded:
		p.bounded = false
		_ = p.nc.SetWriteDeadline(time.Time{})
	}
	return nil
}

// close closes the connection. After Close it first ends its side, and discards what the
// peer sends for a while. After Abort it resets the stream or the TCP connection.
func (p *upgradePump) close(c *UpgradedConn) {
	switch {
	case c.ends == upgradeAborts || c.killed.Load():
		engine.ResetNow(p.nc)
		return
	case c.ends == upgradeCloses && !p.atEnd:
		d := pumpLinger
		if c.Stopping() {
			d = pumpLingerStop
		}
		p.linger(d)
	}
	_ = p.nc.Close()
}

func (p *upgradePump) linger(d time.Duration) {
	cw, ok := p.nc.(interface{ CloseWrite() error })
	if !ok || cw.CloseWrite() != nil {
		return
	}
	p.mu.Lock()
	if !p.cut {
		_ = p.nc.SetReadDeadline(time.Now().Add(d))
	}
	p.mu.Unlock()
	p.buf = nil
	buf := p.room()
	for {
		if _, err := p.nc.Read(buf); err != nil {
			return
		}
	}
}
