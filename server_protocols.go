package gale

import (
	"crypto/tls"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/galehttp/gale/internal/bytesconv"
	"github.com/galehttp/gale/internal/engine"
)

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
