package gale

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"sync/atomic"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/engine"
)

// serverSession is the session of a Server's connection, whatever its protocol. It has
// all methods that the Server itself calls.
type serverSession interface {
	engine.Session
	// conn returns what the server knows about the connection.
	conn() *serverConn
	// staysCounted is called when a connection has ended, on its last session, before free. It
	// reports whether user code of the connection still runs. Then the session undoes the
	// admission of the connection when that ends, by Server.unhold. It is false for connections
	// of ServeConn.
	staysCounted() bool
	// free is called on the last session of a connection that has ended. No other method
	// is called afterwards, and the session may be used again.
	free()
}

// serverConn is what the sessions of every protocol know about their connection. Each
// session embeds one. A session that takes a connection over gets a copy; see inherit.
// Only the goroutine that runs the session may use it, except for parent.
type serverConn struct {
	s    *Server
	l    *listening // where it came from
	c    engine.Conn
	nc   net.Conn
	rare atomic.Pointer[sessionRare] // see extra

	id     uint64     // 0 until it was opened
	opened clock.Tick // when the connection began

	isTLS bool
	state uint8 // the ConnState last told to Server.ConnState
	isNew bool  // StateNew was not told yet
}

// sessionRare has the fields that few sessions need. It is separate because a million
// other sessions may be idle (TestEventWeight of internal/engine).
type sessionRare struct {
	ip     netip.Addr      // counted for Server.MaxConnsPerIP, if valid
	parent context.Context // of BaseContext and ConnContext, nil without them
	own    *requestLimits  // see change; nil until it is needed
	hijack HijackHandler   // that takes over the connection
	counts bool            // the server goes on to count the connection after that
	sent   sentResponse    // of an h1Session
	err    error           // see fault
	pump   *upgradePump    // of an UpgradedConn that no engine serves
}

// conn returns sc, for serverSession.
func (sc *serverConn) conn() *serverConn { return sc }

func (sc *serverConn) staysCounted() bool { return false }

// extra returns the rarely used part. Contexts that were left to other goroutines may
// read parent at the same time; parent is set before the first request.
func (sc *serverConn) extra() *sessionRare {
	rare := sc.rare.Load()
	if rare == nil {
		rare = new(sessionRare)
		sc.rare.Store(rare)
	}
	return rare
}

// parent returns the context of the connection that BaseContext and ConnContext made, or
// nil.
func (sc *serverConn) parent() context.Context {
	if rare := sc.rare.Load(); rare != nil {
		return rare.parent
	}
	return nil
}

// fault records what ends the connection, if the session knows better than the engine.
func (sc *serverConn) fault(err error) {
	if err != nil || sc.cause() != nil {
		sc.extra().err = err
	}
}

// cause returns what fault has recorded last, or nil.
func (sc *serverConn) cause() error {
	if rare := sc.rare.Load(); rare != nil {
		return rare.err
	}
	return nil
}

// addr returns the IP address for which the connection is counted, or the zero Addr.
func (sc *serverConn) addr() netip.Addr {
	if rare := sc.rare.Load(); rare != nil {
		return rare.ip
	}
	return netip.Addr{}
}

// admitted records the IP address for which the connection is counted, if there is one.
func (sc *serverConn) admitted(ip netip.Addr) {
	if ip.IsValid() {
		sc.extra().ip = ip
	}
}

// inherit takes over the connection of another session, which will then ask for Switch.
// Both keep the data about limits, but only the last session is freed.
func (sc *serverConn) inherit(from *serverConn) {
	sc.s, sc.l, sc.c, sc.nc = from.s, from.l, from.c, from.nc
	sc.id, sc.opened, sc.isTLS, sc.state = from.id, from.opened, from.isTLS, from.state
	if rare := from.rare.Load(); rare != nil {
		sc.rare.Store(&sessionRare{ip: rare.ip, parent: rare.parent})
	}
}

var connIDs atomic.Uint64

// begin is called first in Open. On an inherited connection the hooks have already run.
func (sc *serverConn) begin(c engine.Conn) {
	s := sc.s
	sc.c, sc.nc = c, c.NetConn()
	if sc.id != 0 {
		return
	}
	if sc.isNew {
		s.setState(sc.nc, StateNew)
	}
	sc.id, sc.opened = connIDs.Add(1), clock.Ticks()
	_, sc.isTLS = sc.nc.(interface{ ConnectionState() tls.ConnectionState })
	if s.BaseContext != nil {
		sc.extra().parent = s.BaseContext(sc.l.ln)
	}
	if s.ConnContext != nil {
		parent := sc.parent()
		if parent == nil {
			parent = context.Background()
		}
		sc.extra().parent = s.ConnContext(parent, sc.nc)
	}
}

// end is called in Closed when the connection has ended. It logs err, the reason.
func (sc *serverConn) end(err error) {
	if cause := sc.cause(); cause != nil {
		err = cause
	}
	if err != nil && err != engine.ErrAborted {
		sc.s.logError(sc.nc, "serving", err)
	}
	sc.s.setState(sc.nc, StateClosed)
}

// Panicked logs a panic of a method of the connection on a goroutine of the engine.
func (sc *serverConn) Panicked(r any) {
	sc.s.logPanic("in a method of a connection", r, stack())
}

func (sc *serverConn) setState(st ConnState) {
	if sc.s.ConnState != nil {
		sc.tellState(st)
	}
}

func (sc *serverConn) tellState(st ConnState) {
	if sc.state != uint8(st) {
		sc.state = uint8(st)
		sc.s.ConnState(sc.nc, st)
	}
}

// over reports whether a shutdown has ended the connection's epoch, which happens after a
// drain.
func (sc *serverConn) over() bool { return sc.l.epoch != sc.s.engine.Epoch() }

// prepareResponse applies the settings of the server to a response that was reset.
func (sc *serverConn) prepareResponse(ctx *RequestCtx) {
	ctx.Response.Header.defaultServer = sc.l.fixed.name
	if sc.l.fixed.keepNames {
		ctx.Response.Header.DisableNormalizing()
	}
}

// outcome is what a handler did to its connection, apart from making a response.
type outcome struct {
	aborted  bool // the connection must be aborted: what was sent is not complete
	detached bool // it took the connection, see HijackNow
}
