package gale

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/galehttp/gale/internal/bytesconv"
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

// servedExchange is the exchange of a connection of a Server. listened returns where that came from.
type servedExchange interface{ listened() *listening }

var (
	_ servedExchange = (*h1Session)(nil)
	_ servedExchange = (*h2Stream)(nil)
)

func (sc *serverConn) listened() *listening { return sc.l }

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

// outcome is what a handler did to its connection, apart from making a response. It belongs to the
// goroutine that serves the request.
type outcome uint8

const (
	leftConn  outcome = iota // nothing
	brokeConn                // the connection must be aborted: what was sent is not complete
	tookConn                 // it took the connection, see HijackNow; this stays
)

// abort makes o brokeConn, unless the handler took the connection.
func (o *outcome) abort() {
	if *o != tookConn {
		*o = brokeConn
	}
}

// protocol is a protocol other than HTTP/1.1 whose connections the engines serve.
// (Handlers of NextProto read and write by themselves.)
type protocol struct {
	// alpn is its name in the TLS handshake (RFC 7301), "" for none. A handler of
	// NextProto for the same name takes precedence.
	alpn string
	// preface is the first bytes of a client that uses the protocol without negotiation,
	// "" for none. The session gets them too. They can't be the beginning of an HTTP/1.1
	// request, and don't begin with CR or LF.
	preface string
	// session returns a new session. The caller must then call begin or inherit.
	session func() serverSession
}

// newConn returns the session for a connection of l. If the connection uses TLS, its
// handshake is done. ip is what admit returned.
func (s *Server) newConn(l *listening, nc net.Conn, ip netip.Addr) serverSession {
	ss := s.firstSession(nc)
	sc := ss.conn()
	sc.s, sc.l = s, l
	sc.admitted(ip)
	return ss
}

// firstSession returns a session for the protocol that was negotiated, or for HTTP/1.1.
func (s *Server) firstSession(nc net.Conn) serverSession {
	if tc, ok := nc.(*tls.Conn); ok {
		name := tc.ConnectionState().NegotiatedProtocol
		for i := range s.protocols {
			if p := &s.protocols[i]; p.alpn != "" && p.alpn == name {
				return p.session()
			}
		}
		if name == alpnHTTP2 {
			return newH2Session()
		}
	}
	return newSession()
}

// addALPN returns the names to offer in TLS handshakes: names, with those of the
// protocols that are missing in front.
func (s *Server) addALPN(names []string) []string {
	var more []string
	for _, p := range s.protocols {
		if p.alpn != "" && !slices.Contains(names, p.alpn) {
			more = append(more, p.alpn)
		}
	}
	return append(more, names...)
}

// greeted is called when the first bytes of a connection are not a request, or not yet.
// It looks for the preface of another protocol. It returns true if next must be done
// first: to switch to the protocol, or to wait for more bytes.
func (ss *h1Session) greeted(w *engine.Work, next *engine.Next) bool {
	in := w.Unread()
	for i := range len(ss.s.protocols) + 1 {
		p := &h2c
		switch {
		case i < len(ss.s.protocols):
			p = &ss.s.protocols[i]
		case !ss.takesHTTP2():
			continue
		}
		whole := strings.HasPrefix(bytesconv.B2S(in), p.preface)
		if p.preface == "" || !whole && !strings.HasPrefix(p.preface, bytesconv.B2S(in)) {
			continue
		}
		if head := &ss.m.ctx.Request.Header.s; head.Suspended() {
			head.Abandon()
		}
		ss.drop(w)
		if whole {
			ss.switchTo(p.session(), next)
		} else {
			ss.awaitHead(next)
		}
		return true
	}
	return false
}

// takesHTTP2 reports whether the connection may begin with the preface of HTTP/2: by
// prior knowledge, or because it is a TLS connection of a type that firstSession doesn't
// know and that has negotiated HTTP/2.
func (ss *h1Session) takesHTTP2() bool {
	if tc, ok := ss.nc.(interface{ ConnectionState() tls.ConnectionState }); ok {
		return tc.ConnectionState().NegotiatedProtocol == alpnHTTP2
	}
	return ss.s.HTTP2.H2C
}

// switchTo lets another session go on with the connection, between messages.
func (ss *h1Session) switchTo(to serverSession, next *engine.Next) {
	to.conn().inherit(&ss.serverConn)
	next.Op, next.Session = engine.Switch, to
}
