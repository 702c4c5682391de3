package gale

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/engine"
)

// serverSession is the session of a Server's connection, whatever its protocol. All
// that the Server itself calls is here.
type serverSession interface {
	engine.Session
	// conn returns what is known of the connection.
	conn() *serverConn
	// free is called when the connection has ended, by its last session: nothing of
	// the session is called any more. The session may be used again.
	free()
}

// serverConn is what every protocol of a Server knows of its connection. Each session
// embeds one; one that takes a connection over gets a copy, see inherit. It belongs to
// the goroutine that runs the session, except for parent.
type serverConn struct {
	s    *Server
	l    *listening // where it came from
	c    engine.Conn
	nc   net.Conn
	rare atomic.Pointer[sessionRare] // see extra

	id     uint64    // 0 until it was opened
	opened time.Time // when the connection began
	err    error     // what ended it, if the session knows better than the engine

	isTLS bool
	state uint8 // the ConnState last told to Server.ConnState
	isNew bool  // StateNew was not told yet
}

// sessionRare is what few sessions need: a million of the others may be idle
// (TestEventWeight of internal/engine).
type sessionRare struct {
	ip     netip.Addr      // as it counts for Server.MaxConnsPerIP, if it does
	parent context.Context // of BaseContext and ConnContext, nil without them
	own    *requestLimits  // see change; nil as long as there was no need for it
	hijack HijackHandler   // that takes over the connection
}

// conn returns sc, for serverSession.
func (sc *serverConn) conn() *serverConn { return sc }

// extra returns the rarely used part. Contexts that were left to others may look
// for parent, which is set before the first request, at the same time.
func (sc *serverConn) extra() *sessionRare {
	rare := sc.rare.Load()
	if rare == nil {
		rare = new(sessionRare)
		sc.rare.Store(rare)
	}
	return rare
}

// parent returns what the hooks made the context of the connection, or nil.
func (sc *serverConn) parent() context.Context {
	if rare := sc.rare.Load(); rare != nil {
		return rare.parent
	}
	return nil
}

// addr returns the address that the connection counts for, or none.
func (sc *serverConn) addr() netip.Addr {
	if rare := sc.rare.Load(); rare != nil {
		return rare.ip
	}
	return netip.Addr{}
}

// admitted records the address that the connection counts for, if there is one.
func (sc *serverConn) admitted(ip netip.Addr) {
	if ip.IsValid() {
		sc.extra().ip = ip
	}
}

// inherit takes over the connection of another session, which is about to want Switch.
// What counts for the connection stays with both: only the last session is freed.
func (sc *serverConn) inherit(from *serverConn) {
	sc.s, sc.l, sc.c, sc.nc = from.s, from.l, from.c, from.nc
	sc.id, sc.opened, sc.isTLS, sc.state = from.id, from.opened, from.isTLS, from.state
	if rare := from.rare.Load(); rare != nil {
		sc.rare.Store(&sessionRare{ip: rare.ip, parent: rare.parent})
	}
}

var connIDs atomic.Uint64

// begin is called first in Open. On a connection that was inherited the hooks have
// run.
func (sc *serverConn) begin(c engine.Conn) {
	s := sc.s
	sc.c, sc.nc = c, c.NetConn()
	if sc.id != 0 {
		return
	}
	if sc.isNew {
		s.setState(sc.nc, StateNew)
	}
	sc.id, sc.opened = connIDs.Add(1), clock.Instant()
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

// end is called in Closed when the connection has ended because of err, which is
// logged.
func (sc *serverConn) end(err error) {
	if sc.err == nil {
		sc.err = err
	}
	if sc.err != nil && sc.err != engine.ErrAborted {
		sc.s.logError(sc.nc, "serving", sc.err)
	}
	sc.s.setState(sc.nc, StateClosed)
}

// Panicked logs what a method of the connection panicked with in a goroutine of
// the engine's.
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

// over reports whether a shutdown has ended the connection's epoch: a drain is over.
func (sc *serverConn) over() bool { return sc.l.epoch != sc.s.engine.Epoch() }

// prepareResponse makes a response that was reset one of this server.
func (sc *serverConn) prepareResponse(ctx *RequestCtx) {
	ctx.Response.Header.defaultServer = sc.l.fixed.name
	if sc.l.fixed.keepNames {
		ctx.Response.Header.DisableNormalizing()
	}
}

// outcome is what a handler did to its connection, beside making a response.
type outcome struct {
	aborted  bool // it wants the connection dropped: what was sent is not whole
	detached bool // it took the connection, see HijackNow
}
