package gale

import (
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/galehttp/gale/internal/h2"
)

// hostProto says which protocol the host of a HostClient speaks. Calls share wires of those after protoHTTP1.
type hostProto uint32

const (
	protoNew   hostProto = iota // no call was made yet
	protoHTTP1                  // HTTP/1.1
	protoUnset                  // the first connection will show it
	protoHTTP2                  // HTTP/2
)

// h2Host is what a HostClient knows of its host and HTTP/2.
type h2Host struct {
	proto   atomic.Uint32 // a hostProto
	refused atomic.Bool   // the server wants HTTP/1.1 instead
	once    sync.Once
	cfg     h2.Config // of connections
}

// offersHTTP2 reports whether connections may be of HTTP/2.
func (c *HostClient) offersHTTP2() bool {
	switch c.HTTP2 {
	case HTTP2On, HTTP2Only:
		return true
	case HTTP2Auto:
		return defaultHTTP2 && (c.TLSConfig == nil || len(c.TLSConfig.NextProtos) == 0 || slices.Contains(c.TLSConfig.NextProtos, alpnHTTP2))
	}
	return false
}

// speaks returns which protocol the host speaks, as far as that is known.
func (c *HostClient) speaks() hostProto {
	if p := hostProto(c.h2.proto.Load()); p != protoNew {
		return p
	}
	return c.learn()
}

// learn decides, at the first call, what can be known of the host's protocol.
func (c *HostClient) learn() hostProto {
	p := protoHTTP1
	switch {
	case c.forward || !c.offersHTTP2():
	case c.HTTP2 == HTTP2Only:
		p = protoHTTP2
	case c.IsTLS:
		p = protoUnset
	}
	c.h2.proto.CompareAndSwap(uint32(protoNew), uint32(p))
	return hostProto(c.h2.proto.Load())
}

// refusedHTTP2 records that the server wants HTTP/1.1. It does nothing, and returns false, if the
// client must not speak that.
func (c *HostClient) refusedHTTP2() bool {
	if c.HTTP2 == HTTP2Only {
		return false
	}
	c.h2.refused.Store(true)
	c.h2.proto.Store(uint32(protoHTTP1))
	return true
}

// speaksHTTP1 records that the server has chosen HTTP/1.1 for a connection that could be of
// HTTP/2.
func (c *HostClient) speaksHTTP1() {
	x := &c.h2
	if hostProto(x.proto.Load()) != protoHTTP1 {
		x.proto.Store(uint32(protoHTTP1))
		c.tellLines()
	}
}

// isH2 reports whether nc, a new connection, is of HTTP/2. A connection that the call can't
// use is an error.
func (c *HostClient) isH2(k *call, nc net.Conn, addr string) (bool, error) {
	if k.kind == callRaw || c.forward || !c.offersHTTP2() {
		return false, nil
	}
	tc, ok := nc.(interface{ ConnectionState() tls.ConnectionState })
	if !ok {
		return c.HTTP2 == HTTP2Only && !k.http1, nil
	}
	state := tc.ConnectionState()
	chosen := state.NegotiatedProtocol == alpnHTTP2
	switch {
	case c.HTTP2 == HTTP2Only && !k.http1 && !chosen:
		return false, fmt.Errorf("gale: the server at %q doesn't speak HTTP/2: it chose the protocol %q (ALPN). Set HTTP2 to another value than HTTP2Only to use HTTP/1.1", addr, state.NegotiatedProtocol)
	case chosen && k.http1:
		return false, fmt.Errorf("gale: the request needs HTTP/1.1, but the connection to %q that was dialed speaks HTTP/2", addr)
	case chosen && !secureForHTTP2(&state):
		return false, fmt.Errorf("gale: the server at %q chose HTTP/2 with TLS parameters that HTTP/2 forbids (RFC 9113 section 9.2)", addr)
	}
	return chosen, nil
}

// shakeError returns the error of a handshake that failed with err. With HTTP2Only it says so
// if the server knows none of the protocols that were offered.
func (c *HostClient) shakeError(addr string, err error) error {
	// Package tls has no exported type for this alert (RFC 7301 section 3.2).
	if c.HTTP2 == HTTP2Only && strings.HasSuffix(err.Error(), "no application protocol") {
		return fmt.Errorf("gale: the server at %q doesn't speak HTTP/2, which HTTP2Only demands: %w", addr, err)
	}
	return err
}

// alpnChoice says which protocols a TLS handshake offers.
type alpnChoice uint8

const (
	alpnAsSet   alpnChoice = iota // those of the user's configuration
	alpnBoth                      // HTTP/2 before them, and HTTP/1.1
	alpnH2                        // HTTP/2 only
	alpnNoHTTP2                   // those of the user's configuration without HTTP/2
)

func (c *HostClient) alpn(k *call) alpnChoice {
	switch {
	case k.kind == callRaw:
		return alpnAsSet
	case k.http1 || c.HTTP2 == HTTP2Off || c.h2.refused.Load():
		return alpnNoHTTP2
	case c.forward || !c.offersHTTP2():
		return alpnAsSet
	case c.HTTP2 == HTTP2Only:
		return alpnH2
	}
	return alpnBoth
}

// names returns the protocols to offer, when the user has set own.
func (a alpnChoice) names(own []string) []string {
	switch a {
	case alpnBoth:
		names := []string{alpnHTTP2}
		for _, name := range own {
			if name != alpnHTTP2 {
				names = append(names, name)
			}
		}
		if len(own) == 0 || !slices.Contains(own, "http/1.1") {
			names = append(names, "http/1.1")
		}
		return names
	case alpnH2:
		return []string{alpnHTTP2}
	case alpnNoHTTP2:
		if slices.Contains(own, alpnHTTP2) {
			return slices.DeleteFunc(slices.Clone(own), func(name string) bool { return name == alpnHTTP2 })
		}
	}
	return own
}
