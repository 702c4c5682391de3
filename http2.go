package gale

import (
	"crypto/tls"
	"errors"
	"strconv"
	"time"
)

// HTTP2Mode says whether a server or a client speaks HTTP/2 (RFC 9113).
type HTTP2Mode uint8

// The modes of HTTP2Config.Mode, Client.HTTP2 and HostClient.HTTP2.
const (
	// HTTP2Auto is like HTTP2On, unless NextProtos of the TLSConfig is set and has no
	// "h2". In programs that import the compat module it is like HTTP2Off.
	HTTP2Auto HTTP2Mode = iota
	// HTTP2On makes a server offer HTTP/2 before HTTP/1.1 to clients with TLS. A client
	// offers both to servers with TLS (ALPN, RFC 7301) and speaks the one that the server
	// chooses; without TLS it speaks HTTP/1.1.
	HTTP2On
	// HTTP2Off doesn't offer HTTP/2, even if NextProtos of the TLSConfig has "h2". If a
	// handler was given to Server.NextProto for "h2", the server offers "h2" in every
	// mode, for that handler.
	HTTP2Off
	// HTTP2Only makes a client speak nothing but HTTP/2. With TLS it offers only HTTP/2,
	// and a connection to a server that doesn't choose it fails. Without TLS it begins
	// with HTTP/2 because it knows that the server supports it (prior knowledge, RFC 9113
	// section 3.3). For servers it is like HTTP2On.
	HTTP2Only
)

// alpnHTTP2 is the name of HTTP/2 in TLS handshakes.
const alpnHTTP2 = "h2"

// secureForHTTP2 reports whether a TLS connection meets the requirements of HTTP/2. For
// TLS 1.2 these are the cipher suites of package tls that RFC 9113 appendix A does not
// prohibit.
func secureForHTTP2(state *tls.ConnectionState) bool {
	if state.Version != tls.VersionTLS12 {
		return state.Version > tls.VersionTLS12
	}
	switch state.CipherSuite {
	case tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
		tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256:
		return true
	}
	return false
}

// StreamResetError says that a stream of HTTP/2, which is one request with its response,
// was reset (RFC 9113 section 6.4). The connection and its other streams continue.
//
// In a server it says why RequestCtx.Done was closed, and it is the error of reading the
// body. It then matches ErrClientGone with errors.Is. In a client it is an error of Do, or
// of reading a streamed body.
type StreamResetError struct {
	// Code is the error code (RFC 9113 section 7).
	Code uint32
	// Local says, in a client, that the client has reset the stream because the server
	// broke a rule or exceeded a limit. Otherwise the server has reset it.
	Local bool

	client bool  // it is an error of a client
	cause  error // what was wrong, or nil
}

// Error returns a message with the code.
func (e *StreamResetError) Error() string {
	text := "gale: the stream was reset with error code " + strconv.FormatUint(uint64(e.Code), 10)
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	return text
}

// Is reports whether target is ErrClientGone. It never is in a client.
func (e *StreamResetError) Is(target error) bool { return !e.client && target == ErrClientGone }

// Unwrap returns what was wrong with the response, or nil.
func (e *StreamResetError) Unwrap() error { return e.cause }

// HTTP2ConnError is an error of a client. It says that a connection of HTTP/2 has ended
// with an error code, and with it all requests that had no complete response: the server
// has sent GOAWAY with the code (RFC 9113 section 6.8), or the client has found that the
// server broke a rule of the protocol.
type HTTP2ConnError struct {
	// Code is the error code (RFC 9113 section 7). ENHANCE_YOUR_CALM (11) of the server
	// says that the client sends too much; of the client, that the server does.
	Code uint32
	// Local says that the client has ended the connection. Otherwise the server has.
	Local bool

	early bool // the server has sent nothing valid
}

// Error returns a message with the code.
func (e *HTTP2ConnError) Error() string {
	by := "the server has ended the HTTP/2 connection"
	if e.Local {
		by = "the HTTP/2 connection was ended, because the server broke its rules or a limit,"
	}
	text := "gale: " + by + " with error code " + strconv.FormatUint(uint64(e.Code), 10)
	if e.early {
		text += ". It sent no HTTP/2 settings: perhaps it speaks only HTTP/1.1"
	}
	return text
}

// h2LingerFor is how long a peer may take to end its side of a stream that is a net.Conn after
// Close. Then the stream is reset.
const h2LingerFor = 5 * time.Second

// errTunnelTrailers says why a stream that is a net.Conn was reset: only DATA may come (RFC
// 9113 section 8.5).
var errTunnelTrailers = errors.New("gale: an extended CONNECT has a trailer section")
