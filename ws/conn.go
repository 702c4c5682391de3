package ws

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/pool"
	"github.com/galehttp/gale/internal/wsframe"
)

// Conn is a WebSocket with methods that block. Any goroutine may call them. Calls that
// read, and calls that write, take turns.
//
// A context limits the time of each call, whatever the call waits for. If it ends while a
// call reads, the call returns and the Conn can be used further. If it ends while a message
// is being written of which the peer has got a part, the connection is closed, because the
// rest can't be skipped. If the connection isn't a plain socket, but TLS or a stream of
// HTTP/2, that is so as soon as writing has begun.
//
// Control frames are handled while a call reads: Read, a Reader, Ping or Close. So a
// program should always have a goroutine that reads, also if it doesn't expect messages.
// PingInterval and IdleTimeout count only while a call waits for bytes.
//
// After the WebSocket has ended, all calls return why: a *CloseError if a close frame was
// received or sent. Errors of calls that write also match ErrClosed then.
type Conn struct {
	nc  net.Conn
	raw syscall.RawConn // of a plain socket, otherwise nil
	set *params

	// What the holder of reading uses.
	reading turn
	wanted  atomic.Int32  // calls that wait for reading, for which a Ping gives it up
	poked   atomic.Uint32 // how often pokeReads was called
	in      connInput
	msgs    *connMessages // nil if none is held
	parser  wsframe.Reader
	meter   connMeter

	// What the holder of wire uses.
	wire       turn
	out        *connOutput // nil while wire is unlocked
	writeUntil clock.Tick  // the deadline for writes that is set, if it isn't a socket; 0 is none
	writeWatch *ctxWatch
	takes      clock.Tick   // since when the peer has been making room for writes that wait
	took       atomic.Int64 // the clock.Tick until which that shows that it isn't idle; see taken

	zip *connDeflate // nil without compression

	client  bool
	closing atomic.Bool // closeSent or over: data of the peer isn't wanted any more
	mu      sync.Mutex
	state   connState // guarded by mu
	subs    memberships
}

// connState is what all goroutines of a Conn share.
type connState struct {
	over      bool
	closeSent bool        // a close frame was sent, or waits
	gotClose  bool        // the peer's close frame was received
	hangup    bool        // the connection is closed when nothing waits to be sent
	started   bool        // start has returned: other goroutines may use the Conn
	leaving   bool        // leave was called
	err       error       // if over: why the WebSocket has ended
	broke     error       // if over: what has ended it, apart from close frames
	cause     *CloseError // what err will be; nil before a close frame was sent or received
	ended     chan struct{}
	lingering chan struct{}
	life      *time.Timer
	stream    chan struct{} // closed when the message of a Writer ends; nil without one
	lastPing  uint64
	pings     *connPing  // a list of those that wait for their pongs
	waits     *connQueue // nil if nothing waits
}

// connDeflate is the state of permessage-deflate.
type connDeflate struct {
	inflater wsframe.Inflater // for the holder of reading
	deflater wsframe.Deflater // for the holder of wire
}

// newConn returns a Conn without a connection; see start.
func newConn(set *params, client bool) *Conn {
	return &Conn{set: set, client: client}
}

// start gives c its connection. unread is what was already read from it.
func (c *Conn) start(nc net.Conn, unread []byte) {
	nc, more := unwrap(nc)
	c.nc = nc
	c.initRaw()
	if d := c.set.deflate; d.On {
		c.zip = &connDeflate{
			inflater: wsframe.NewInflater(d, c.client),
			deflater: wsframe.NewDeflater(d, c.client, c.set.compression.Level),
		}
	}
	c.parser.Init(wsframe.Config{
		Client:     c.client,
		Deflate:    c.set.deflate.On,
		MaxMessage: max(c.set.maxMessage, c.set.maxCompressed),
	})
	if n := len(unread) + len(more); n > 0 {
		c.in.buf = pool.Get(max(n, readSize))
		c.in.buf.B = append(append(c.in.buf.B, unread...), more...)
	}
	c.mu.Lock()
	c.state.started = true
	c.mu.Unlock()
	c.startLife()
}

// unwrap returns the connection below one of which some bytes were already read, and the
// bytes.
func unwrap(nc net.Conn) (below net.Conn, unread []byte) {
	if h, ok := nc.(interface {
		UnsafeConn() net.Conn
		TakeUnread() []byte
	}); ok {
		return h.UnsafeConn(), h.TakeUnread()
	}
	return nc, nil
}

// Subprotocol returns the application protocol that was chosen, or "".
func (c *Conn) Subprotocol() string { return c.set.subprotocol }

// Compressed reports whether permessage-deflate was negotiated.
func (c *Conn) Compressed() bool { return c.set.deflate.On }

// LocalAddr returns the address of this side.
func (c *Conn) LocalAddr() net.Addr { return c.nc.LocalAddr() }

// RemoteAddr returns the address of the peer.
func (c *Conn) RemoteAddr() net.Addr { return c.nc.RemoteAddr() }

// Accept answers the request with a WebSocket handshake, and calls handler with the
// WebSocket after the calling handler has returned, on a goroutine of its own. When handler
// returns, the WebSocket is closed with StatusNormal if it is still open, and if it panics
// with StatusInternalError. Errors are as for Serve.
//
// The response that is sent decides: after Accept, a middleware or a function of BeforeSend
// may still refuse the client, for example with 403. Then handler isn't called.
//
// When the server shuts down or drains, the WebSocket is closed with StatusGoingAway.
func Accept(ctx *gale.RequestCtx, handler func(c *Conn), o *Options) error {
	if o == nil {
		o = &defaultOptions
	}
	s, err := handshake(ctx, o)
	if err != nil {
		return err
	}
	c := newConn(o.shared.params.get(&s), false)
	ctx.HijackCounted(func(nc net.Conn) { c.serve(nc, handler) }, c.leave)
	return nil
}

// serve runs handler. The server logs a panic.
func (c *Conn) serve(nc net.Conn, handler func(c *Conn)) {
	c.set.stats.accepted.Add(1)
	c.set.stats.open.Add(1)
	c.start(nc, nil)
	fine := false
	defer func() {
		if !fine {
			c.set.stats.panics.Add(1)
			_ = c.Close(StatusInternalError, "")
		}
		c.settle()
		c.set.stats.open.Add(-1)
	}()
	c.mu.Lock()
	leaving := c.state.leaving
	c.mu.Unlock()
	if leaving {
		go c.goAway()
	}
	handler(c)
	fine = true
	_ = c.Close(StatusNormal, "")
}

// settle waits until the close frame is sent and linger has ended.
func (c *Conn) settle() {
	ctx, cancel := context.WithTimeout(context.Background(), c.set.closeTimeout)
	defer cancel()
	if c.lockWire(ctx) == nil {
		c.unlockWire()
	}
	c.mu.Lock()
	lingering := c.state.lingering
	c.mu.Unlock()
	if lingering != nil {
		<-lingering
	}
}

// leave closes the WebSocket because the server stops. The server calls it on a goroutine
// of its own, perhaps before serve.
func (c *Conn) leave() {
	c.mu.Lock()
	ready := c.state.started
	c.state.leaving = true
	c.mu.Unlock()
	if ready {
		c.goAway()
	}
}

func (c *Conn) goAway() { _ = c.Close(StatusGoingAway, "") }

// end makes err the reason why the WebSocket has ended, unless there is one, and closes the
// connection. It returns the reason. Any goroutine may call it.
func (c *Conn) end(err error) error {
	c.mu.Lock()
	first := c.endLocked(err)
	err = c.state.err
	c.mu.Unlock()
	if first {
		c.closeNow(false)
	}
	return err
}

// endLocked is the part of end that needs mu. It reports whether the WebSocket was open.
func (c *Conn) endLocked(err error) bool {
	s := &c.state
	if s.over {
		return false
	}
	c.subs.end() // before a call can return the error
	s.over, s.broke = true, err
	c.closing.Store(true)
	if s.cause != nil {
		err = s.cause
	}
	s.err = err
	if s.ended != nil {
		close(s.ended)
	}
	for p := s.pings; p != nil; p = p.after {
		close(p.done)
	}
	s.pings = nil
	if s.life != nil {
		s.life.Stop()
	}
	return true
}

// why returns the reason why the WebSocket has ended, or nil.
func (c *Conn) why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.state.over {
		return nil
	}
	return c.state.err
}

// endedLocked returns a channel that is closed when the WebSocket ends. mu is held.
func (c *Conn) endedLocked() <-chan struct{} {
	s := &c.state
	if s.ended == nil {
		s.ended = make(chan struct{})
		if s.over {
			close(s.ended)
		}
	}
	return s.ended
}

// memberships returns the topics that c has subscribed to.
func (c *Conn) memberships() *memberships { return &c.subs }

// connMeter limits how many control frames a peer sends.
type connMeter struct {
	since clock.Tick
	used  int
}

// take reports whether one more is allowed at rate a second, with as many at once. rate is at
// most mostControl.
func (m *connMeter) take(rate int) bool {
	if rate <= 0 {
		return true
	}
	now := clock.Ticks()
	if m.since == 0 {
		m.since = now
	}
	const second = 1e9
	if back := int64(now-m.since) / (second / int64(rate)); back > 0 { // how many came free
		if back >= int64(m.used) {
			m.used, m.since = 0, now
		} else {
			m.used -= int(back)
			m.since += clock.Tick(back * (second / int64(rate)))
		}
	}
	m.used++
	return m.used <= rate
}
