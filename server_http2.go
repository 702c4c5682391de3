package gale

import (
	"slices"
	"time"

	"github.com/galehttp/gale/internal/h2"
)

// HTTP2Config turns HTTP/2 (RFC 9113) on or off and has its limits. The zero value is
// right for most servers.
type HTTP2Config struct {
	// Mode says whether HTTP/2 is offered to clients of TLS listeners (RFC 7301). The
	// default, HTTP2Auto, offers it, unless Server.TLSConfig has NextProtos without "h2",
	// or any package of the program, also a dependency such as a router or a WebSocket
	// library, imports the compat module (the module that replaces fasthttp). Then set
	// HTTP2On to offer HTTP/2.
	Mode HTTP2Mode
	// H2C also accepts HTTP/2 without TLS, from clients that begin with it because they
	// know that the server supports it (prior knowledge, RFC 9113 section 3.3). They use
	// the same listener as HTTP/1.1 clients. "Upgrade: h2c" is ignored. Off by default.
	H2C bool

	// MaxStreams is how many requests a client may have in flight on one connection
	// (default 250). So it also limits how many handlers run for one connection.
	MaxStreams int
	// MaxHeaderBytes is the largest size of a request's headers in bytes: the sum of
	// name, value and 32 for each header. A larger request is answered with 431. The
	// default is Server.MaxHeaderBytes or Server.ReadBufferSize, or 64 KiB if neither is
	// set.
	MaxHeaderBytes int
	// MaxHeaderFields is the highest number of headers of a request; each part of Cookie
	// counts. A request with more is answered with 431. The default is
	// Server.MaxHeaderFields, or 512 if that is not set.
	MaxHeaderFields int
	// MaxStreamWindow is the highest flow-control window of a request, in bytes (default
	// 12 MiB). The window is how much of a body a client may send before the handler has
	// read it. It begins with 64 KiB, or with MaxStreamWindow if that is less, and
	// doubles whenever the handler has read everything and waits for more. So clients
	// that are far away can send at full speed.
	MaxStreamWindow int
	// MaxConnWindow is how many bytes of all request bodies of a connection may wait for
	// handlers at a time (default 15 MiB, at least 64 KiB). The parts of all requests'
	// windows beyond their first 64 KiB may not add up to more than this. So the memory for
	// bodies has a limit.
	//
	// A body that is not streamed waits until all of it has arrived and its handler begins.
	// One such body of a connection may go beyond the limit, up to MaxRequestBodySize; the
	// clients of others wait for a window meanwhile, and no stall timeout applies to them.
	// So for a proxy in front of the server that sends long bodies of several users over one
	// connection, set a larger value, or StreamRequestBody.
	MaxConnWindow int

	// WebSocket lets clients open WebSockets over HTTP/2 (RFC 8441): the server sends
	// SETTINGS_ENABLE_CONNECT_PROTOCOL. Browsers take that as a promise that the handler
	// accepts WebSockets, and then don't try HTTP/1.1. Off by default.
	//
	// The handler gets an extended CONNECT as a request with the method CONNECT, a path and
	// a host, without a body, and RequestCtx.ConnectProtocol returns "websocket". It accepts
	// with a 2xx status and RequestCtx.Hijack or HijackNow, which give it the stream, or
	// refuses with any other response. A request for another protocol gets 501.
	WebSocket bool
}

// defaultHelloTimeout is how long an HTTP/2 client may take to send its preface and
// settings, unless Server.ReadTimeout is shorter.
const defaultHelloTimeout = 10 * time.Second

// h2c is HTTP/2 by prior knowledge.
var h2c = protocol{preface: h2.Preface, session: newH2Session}

// offersHTTP2 reports whether HTTP/2 is offered to clients of TLS listeners. names are
// the NextProtos that the program has set.
func (s *Server) offersHTTP2(names []string) bool {
	switch s.HTTP2.Mode {
	case HTTP2On, HTTP2Only:
		return true
	case HTTP2Off:
		return false
	}
	return defaultHTTP2 && (len(names) == 0 || slices.Contains(names, alpnHTTP2))
}

// addHTTP2 returns names with "h2" added at the front if HTTP/2 is offered and "h2" isn't
// in names, or without "h2" if it isn't offered. own are the NextProtos that the program
// has set. The caller holds tls.mu. A handler of NextProto for "h2" takes precedence over
// the server's own HTTP/2.
func (s *Server) addHTTP2(names, own []string) []string {
	if s.tls.protos[alpnHTTP2] != nil {
		return names
	}
	named := slices.Contains(names, alpnHTTP2)
	switch offers := s.offersHTTP2(own); {
	case offers && !named:
		return append([]string{alpnHTTP2}, names...)
	case !offers && named:
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == alpnHTTP2 })
	}
	return names
}

// h2Config returns the limits of the server's connections.
func (s *Server) h2Config() h2.Config {
	c := &s.HTTP2
	list := c.MaxHeaderBytes
	if list <= 0 {
		list = s.maxHeadBytes()
	}
	fields := c.MaxHeaderFields
	if fields <= 0 {
		fields = s.MaxHeaderFields
	}
	cfg := h2.Config{
		Streams:         c.MaxStreams,
		HeaderList:      list,
		Fields:          fields,
		Target:          max(s.maxHeadBytes()/4, minTarget),
		StreamWindow:    min(max(c.MaxStreamWindow, 0), h2.DefaultStreamWindow),
		StreamWindowMax: c.MaxStreamWindow,
		ConnWindow:      c.MaxConnWindow,
		ExtendedConnect: c.WebSocket,
	}
	cfg.Fill()
	return cfg
}
