package h2

import (
	"context"
	"crypto/tls"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
)

// brokenConn is a connection of a program whose method panics, or ends the goroutine.
type brokenConn struct {
	net.Conn
	method string
}

func (c *brokenConn) fail(method string) {
	switch c.method {
	case method:
		panic("broken")
	case "goexit " + method:
		runtime.Goexit()
	}
}

func (c *brokenConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.fail("read")
	return n, err
}

func (c *brokenConn) Write(p []byte) (int, error) {
	c.fail("write")
	return c.Conn.Write(p)
}

// dialTo dials the address that addr holds at the time.
type dialTo struct{ addr *atomic.Value }

func (d *dialTo) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	var nd net.Dialer
	return nd.DialContext(ctx, network, d.addr.Load().(string))
}

// dialFallback dials a server without TLS and says that it has chosen HTTP/2 the first time,
// and later another one with TLS and HTTP/1.1.
type dialFallback struct {
	t             *testing.T
	plain, secure string
}

type saysH2 struct{ net.Conn }

func (saysH2) ConnectionState() tls.ConnectionState {
	return tls.ConnectionState{Version: tls.VersionTLS13, NegotiatedProtocol: "h2"}
}

func (d *dialFallback) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	if addr := d.plain; addr != "" {
		d.plain = ""
		var nd net.Dialer
		nc, err := nd.DialContext(ctx, network, addr)
		return saysH2{nc}, err
	}
	td := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	return td.DialContext(ctx, network, d.secure)
}
