package gale

import (
	"crypto/tls"
	"errors"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/engine"
)

// UpgradeHandler serves a connection whose protocol was switched by [RequestCtx.Upgrade].
//
// The server calls its methods one at a time. Opened is first, and Closed is last. The
// methods may block: that doesn't hold up other connections. While no method runs, the
// connection needs no goroutine and no buffer on EngineEvent, and one goroutine elsewhere.
//
// A panic in a method is logged and counted in Stats.Panics, and ends the connection: as
// Close does if that was called before, else as Abort does. Then Closed gets a *PanicError.
type UpgradeHandler interface {
	// Opened is called when the response to the request was written. Its output is sent
	// after the response. If the response can't be written, no method of the handler is
	// called.
	Opened(c *UpgradedConn)

	// Received is called when bytes have arrived. in has all bytes that were not consumed
	// yet, oldest first, and n is how many of them the handler consumes. The others come
	// again, with those that follow. The handler may change the bytes of in, and what it
	// has not consumed then comes again as changed. in belongs to the server when Received
	// returns.
	//
	// Received is also called after Wake, when the server begins to drain or to stop, see
	// Stopping, and when output was written that was larger than OutLimit or that Send has
	// left to the server. Then in may be empty, and may be the same as before. It is not
	// called for output that is smaller.
	//
	// The server keeps all bytes that were not consumed: the handler must end the
	// connection if they become too many.
	Received(c *UpgradedConn, in []byte) (n int)

	// Stalled is called instead of Received when no more bytes come: why is a timeout of
	// SetTimeout (its Timeout method returns true), io.EOF if the peer has ended its side,
	// or the error that broke the connection. After a timeout, the connection goes on
	// unless the handler calls Close or Abort. After io.EOF it goes on too, and the handler
	// may still send; Received is then called for the reasons other than bytes. After
	// another error the connection ends, whatever the handler does.
	Stalled(c *UpgradedConn, why error)

	// Closed is called when the connection has ended. err is nil if that was because of
	// Close or Abort, and all output was written. It is the error of Kill, if that was
	// called before the end, and net.ErrClosed after Server.Close. Out and Send must not
	// be called.
	Closed(c *UpgradedConn, err error)
}

// OutLimit is the size in bytes from which on the output of an UpgradedConn is written
// before the UpgradeHandler gets more input; see UpgradedConn.Out.
const OutLimit = 64 << 10

// Upgrade switches the protocol of the connection (RFC 9110 section 7.8). The handler sets
// the response: status 101 with its Upgrade and Connection headers, or a status from 200 to
// 299 for the method CONNECT. When the server has written it, h gets the connection. h must
// not use ctx. Over HTTP/2, h gets the stream of an extended CONNECT (RFC 8441), and any
// other request gets 501.
//
// With any other status the request is an ordinary one: the response is sent, and no method
// of h is called. So a handler may call Upgrade first, and may still refuse with 400 or
// 403. If the request's version is HTTP/1.0, or it has "Connection: close", the client gets
// 400 instead of a response of 101. If the response has "Connection: close", it gets 503. If the request has a body that can't be read to its
// end, the connection is closed after the response.
//
// The server goes on to count the connection in Stats, MaxConnsPerIP and Concurrency. Its
// ConnState stays StateActive until it becomes StateClosed. Shutdown waits until it has
// ended: see UpgradedConn.Stopping. ReadTimeout, WriteTimeout and the like don't apply to
// it. Close closes it.
//
// A second call, and Hijack, replace what was called before; nil undoes it. Hijacked
// returns true after Upgrade. HijackSetNoResponse has no effect. Of requests that no Server
// has brought, see package adaptor, h is served by a goroutine of its own.
func (ctx *RequestCtx) Upgrade(h UpgradeHandler) {
	if h == nil {
		ctx.Hijack(nil)
		return
	}
	if ctx.asksLate() {
		return
	}
	ctx.Hijack(hijackFor(ctx, h))
	ctx.handover.upgrade, ctx.handover.silent = h, false
}

// UpgradedConn is a connection whose protocol was switched by [RequestCtx.Upgrade]. It may
// be kept after the end of the connection; its methods do nothing then.
//
// Out, Send, ReadInto, Landed, SetTimeout, SetWriteTimeout, Close and Abort may be called
// only while a method of the UpgradeHandler runs, and only by the goroutine that runs it,
// or by others while it waits for them. Any goroutine may call the other methods at any
// time.
type UpgradedConn struct {
	sc      serverConn
	h       UpgradeHandler
	w       *engine.Work // while a method of h runs, unless there is a pump
	waker   engine.Waker // unused if there is a pump
	landed  uint32       // see Landed
	timeout uint32       // see SetTimeout; in milliseconds

	begun bool      // Opened was called
	left  bool      // output of Send waits
	ends  upgradeOp // what comes after this call of h

	over   bool        // the connection has ended; mu guards it
	killed atomic.Bool // cause is the error of Kill; stored under mu
	mu     sync.Mutex
	cause  *error // what has ended the connection, nil if only the engine knows; mu guards it
}

// pump returns what moves the bytes if no engine does, or nil.
func (c *UpgradedConn) pump() *upgradePump {
	if rare := c.sc.rare.Load(); rare != nil {
		return rare.pump
	}
	return nil
}

// wait returns the time of SetTimeout.
func (c *UpgradedConn) wait() time.Duration { return time.Duration(c.timeout) * time.Millisecond }

// upgradeOp is how a handler ends its connection.
type upgradeOp uint8

const (
	upgradeGoesOn upgradeOp = iota
	upgradeCloses
	upgradeAborts
)

// Out returns the output. Append to it: when the method of the handler returns, the server
// writes all of it with one write. When it has grown beyond OutLimit, the method should
// return, even if it hasn't consumed all of its input: Received is called again, with the
// rest, when the output is written. The slice belongs to the server when the method returns
// or calls Send.
func (c *UpgradedConn) Out() *[]byte {
	if p := c.pump(); p != nil {
		return &p.out
	}
	return &c.w.Out
}

// Send writes Out and then b, with one system call if possible, and empties Out. It is for
// output of many kilobytes, since b isn't copied if the connection takes all of it. If the
// peer reads slowly, Send waits. On EngineEvent without TLS it waits only until 64 KiB or
// less are left: done is false and err is nil then, the server has copied the rest, and the
// method must return at once. Received is called when the rest was written. With a b of
// less than 16 KiB, also with nil, Send waits until all is written. b belongs to the caller
// again when Send returns.
//
// err is the error that broke the connection. Then nothing more can be sent, and the
// connection ends. When Kill or Close of the server breaks it, Send returns.
func (c *UpgradedConn) Send(b []byte) (done bool, err error) {
	switch {
	case c.left:
		return false, errSendLeft
	case c.pump() != nil:
		err = c.pump().send(b)
	default:
		c.left, err = c.sc.c.LeaveBody(c.w, b)
	}
	if err != nil {
		c.left = false
		c.broke(err)
		return false, err
	}
	return !c.left, nil
}

var errSendLeft = errors.New("gale: Send was called although output of an earlier call waits")

// broke ends the connection because of err.
func (c *UpgradedConn) broke(err error) {
	c.ends = upgradeAborts
	c.mu.Lock()
	if !c.killed.Load() {
		c.cause = &err
	}
	c.mu.Unlock()
}

// ReadInto makes the server read the next bytes that arrive into b, without a copy. It is
// for large data of known size. It has an effect only if all input was consumed. When
// Received is called the next time, Landed says how many bytes are in b, and in is empty if
// there are any. b belongs to the server until the next call of a method of the handler.
// That may be for another reason than bytes: then Landed returns 0, and the handler may
// call ReadInto again.
func (c *UpgradedConn) ReadInto(b []byte) {
	switch {
	case len(b) == 0:
	case c.pump() != nil:
		c.pump().into = b
	default:
		c.sc.c.ReadInto(b)
	}
}

// Landed returns how many bytes were read into the buffer of ReadInto.
func (c *UpgradedConn) Landed() int { return int(c.landed) }

// SetTimeout limits how long the server waits for bytes, from the end of each call of a
// method of the handler on. After that time Stalled is called. The limit stays until it is
// changed; 0, the default, means none.
func (c *UpgradedConn) SetTimeout(d time.Duration) {
	d = (max(d, 0) + time.Millisecond - 1) / time.Millisecond
	c.timeout = uint32(min(d, math.MaxUint32))
}

// SetWriteTimeout limits the time in which a write may make no progress. After that time
// the connection ends, and Closed gets an error whose Timeout method returns true. The limit
// stays until it is changed; 0, the default, means none.
func (c *UpgradedConn) SetWriteTimeout(d time.Duration) {
	if p := c.pump(); p != nil {
		p.writeTimeout = max(d, 0)
		return
	}
	c.sc.c.SetWriteTimeout(0, max(d, 0))
}

// Close ends the connection when the method of the handler returns: the server writes Out
// and ends its side. It then discards what the peer sends for a short time, so that the peer
// can read everything, and then calls Closed.
func (c *UpgradedConn) Close() { c.ends = upgradeCloses }

// Abort breaks the connection when the method of the handler returns. Its socket is reset,
// so that the peer can tell that the connection has not ended normally. Output that was not
// written is lost.
func (c *UpgradedConn) Abort() { c.ends = upgradeAborts }

// Wake makes the server call Received, although nothing may have arrived. A call of
// Received that begins after it sees what the caller did before it. Several calls may lead
// to one call of Received. Wake waits neither for the handler nor for the peer, and doesn't
// allocate on sockets.
func (c *UpgradedConn) Wake() {
	if p := c.pump(); p != nil {
		p.wake()
		return
	}
	c.waker.Wake()
}

// Kill breaks the connection, even if output waits for the peer or a method of the handler
// is in Send. Closed is called with err; if err is nil, with net.ErrClosed. If a method of
// the handler runs, that is when it has returned; Kill doesn't wait for it. Later calls have
// no effect.
func (c *UpgradedConn) Kill(err error) {
	if err == nil {
		err = net.ErrClosed
	}
	c.mu.Lock()
	if c.over || c.killed.Load() {
		c.mu.Unlock()
		return
	}
	c.cause = &err
	c.killed.Store(true)
	p := c.pump()
	if p == nil {
		c.sc.c.InterruptWrites() // under mu: after the end it could be another connection
	}
	c.mu.Unlock()
	if p != nil {
		p.interrupt()
	}
	c.Wake()
}

// Stopping reports whether the server drains or shuts down. Received is called when that
// begins. The handler should then tell its peer, and end the connection: Shutdown waits for
// it.
func (c *UpgradedConn) Stopping() bool { return c.sc.l != nil && c.sc.l.stops(c.sc.s) }

// LocalAddr returns the address of the server's side.
func (c *UpgradedConn) LocalAddr() net.Addr { return c.sc.nc.LocalAddr() }

// RemoteAddr returns the address of the peer. RequestCtx.SetRemoteAddr doesn't change it.
func (c *UpgradedConn) RemoteAddr() net.Addr { return c.sc.nc.RemoteAddr() }

// TLS returns the state of the TLS connection, nil for connections without TLS.
func (c *UpgradedConn) TLS() *tls.ConnectionState {
	nc := c.sc.nc
	if p := c.pump(); p != nil && p.under != nil {
		nc = p.under
	}
	tc, ok := nc.(interface{ ConnectionState() tls.ConnectionState })
	if !ok {
		return nil
	}
	st := tc.ConnectionState()
	return &st
}

// ID returns what RequestCtx.ConnID returned for the request.
func (c *UpgradedConn) ID() uint64 { return c.sc.id }

// Opened returns what RequestCtx.ConnTime returned for the request.
func (c *UpgradedConn) Opened() time.Time { return c.sc.opened.Time() }
