package gale

import (
	"slices"
	"time"

	"github.com/galehttp/gale/internal/h2"
)

// HTTP2Config says whether a server speaks HTTP/2 (RFC 9113), and within which limits. The
// zero value is right for most servers. Not in fasthttp.
type HTTP2Config struct {
	// Mode says whether HTTP/2 is offered to clients of TLS listeners (RFC 7301). By
	// default, HTTP2Auto, it is, except where Server.TLSConfig has NextProtos without
	// "h2".
	Mode HTTP2Mode
	// H2C lets clients speak HTTP/2 without TLS that know beforehand that the server
	// does (prior knowledge, RFC 9113 section 3.3). They share the listener with
	// clients of HTTP/1.1. "Upgrade: h2c" is ignored. Off by default.
	H2C bool

	// MaxStreams is how many requests a client may have in flight on a connection; it
	// bounds the handlers that run for it (default 250).
	MaxStreams int
	// MaxHeaderBytes bounds the head of a request: the sum of name, value and 32 of each
	// field, in bytes (default 64 KiB, or what Server.MaxHeaderBytes or Server.ReadBufferSize
	// says), beyond it 431.
	MaxHeaderBytes int
	// MaxHeaderFields bounds the fields of a head, each piece of Cookie counted (default
	// 512, or Server.MaxHeaderFields), beyond it 431.
	MaxHeaderFields int
	// MaxStreamWindow bounds what a client may send of a body before the handler has read
	// it, in bytes for each request (default 12 MiB). It is 64 KiB at first, or this if it
	// is less, and doubles whenever the handler has read all and waits for more. So clients
	// that are far away can send at full speed.
	MaxStreamWindow int
	// MaxConnWindow is how much all bodies of a connection may have under way, in bytes
	// (default 15 MiB, at least 64 KiB). It is also what the windows of all requests
	// together may exceed 64 KiB each by, so that what waits for handlers is bounded.
	MaxConnWindow int
}

// HTTP2Mode says whether a server offers HTTP/2 over TLS.
type HTTP2Mode uint8

// The modes of HTTP2Config.
const (
	// HTTP2Auto: as HTTP2On, unless Server.TLSConfig.NextProtos is set and has no "h2".
	// In programs that use Gale under fasthttp's name it is as HTTP2Off.
	HTTP2Auto HTTP2Mode = iota
	// HTTP2On offers it before HTTP/1.1.
	HTTP2On
	// HTTP2Off doesn't offer it, even if Server.TLSConfig.NextProtos has "h2". A handler
	// that was given to Server.NextProto for "h2" is offered in every mode.
	HTTP2Off
)

// defaultHelloTimeout bounds the time until a client of HTTP/2 has sent its preface and
// settings, unless Server.ReadTimeout is shorter.
const defaultHelloTimeout = 10 * time.Second

// alpnHTTP2 is the name of HTTP/2 in TLS handshakes.
const alpnHTTP2 = "h2"

// http2Preface is what a client begins HTTP/2 with (RFC 9113 section 3.4).
const http2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// h2c is HTTP/2 for clients that know beforehand.
var h2c = protocol{preface: http2Preface, session: newH2Session}

// offersHTTP2 reports whether clients of TLS listeners are offered HTTP/2. names are those
// of the configuration that the program has set.
func (s *Server) offersHTTP2(names []string) bool {
	switch s.HTTP2.Mode {
	case HTTP2On:
		return true
	case HTTP2Off:
		return false
	}
	return defaultHTTP2 && (len(names) == 0 || slices.Contains(names, alpnHTTP2))
}

// addHTTP2 returns the names to offer in TLS handshakes, of which own are those that the
// program has set: with HTTP/2 first, where it is named nowhere, or without it. It is called
// under tls.mu. A handler of NextProto for it comes before the server's own.
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
	}
	cfg.Fill()
	return cfg
}
