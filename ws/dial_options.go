package ws

import (
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/wsframe"
)

// DialOptions has the settings of a client's WebSocket. The zero value, and nil, have the
// defaults. Fields with the name of a field of Options mean the same. Dial doesn't change
// it, so any number of calls may use one at the same time.
type DialOptions struct {
	// Header has more headers for the request, such as Authorization or Cookie. Those of the
	// handshake (Host, Connection, Upgrade, Sec-WebSocket-*) are replaced, except Host.
	Header *gale.RequestHeader
	// Origin is the value of the header Origin, which browsers send and other clients
	// needn't (RFC 6455 section 10.2). Empty means none.
	Origin string
	// Jar has the cookies for the request and gets those of the response, as
	// gale.Client.Jar does.
	Jar gale.CookieJar
	// Subprotocols are the application protocols that the client knows, the preferred ones
	// first (RFC 6455 section 1.9). Conn.Subprotocol returns the one that the server chose.
	Subprotocols []string

	// Dial connects to addr, a host and a port. It is also used to connect to proxies. The
	// default is gale.TCPDialer.DialContext.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Proxy returns the proxy for a URL with the scheme http or https, or nil for none, as
	// gale.Client.Proxy does: http, https and socks5 URLs are supported.
	// gale.ProxyFromEnvironment is one. nil means no proxy.
	Proxy func(uri *gale.URI) (*url.URL, error)
	// TLSConfig is for wss URLs and https proxies. nil means the defaults of crypto/tls.
	// Dial uses a copy, whose ServerName is the host of the URL if it is empty.
	TLSConfig *tls.Config
	// HTTP2 says whether the WebSocket may be a stream of HTTP/2 (RFC 8441). The default,
	// gale.HTTP2Auto, uses HTTP/1.1. With gale.HTTP2On, wss URLs use HTTP/2 if the server
	// supports that. With gale.HTTP2Only, Dial fails with gale.ErrNoExtendedConnect if it
	// doesn't; ws URLs then begin with HTTP/2 because the server is known to speak it.
	HTTP2 gale.HTTP2Mode
	// Client opens the WebSockets over HTTP/2, so that they share its connections. Its
	// settings are used then, instead of Dial, Proxy, TLSConfig and HTTP2, and its Jar,
	// besides Jar. nil, the default, makes a connection for each WebSocket.
	Client *gale.Client

	MaxMessage, MaxCompressed int64
	MaxControl                int
	PingInterval, IdleTimeout time.Duration
	MaxLifetime               time.Duration
	CloseTimeout              time.Duration
	WriteTimeout              time.Duration
	MaxQueue                  int
	QueuePolicy               QueuePolicy
	// Compression makes the client offer permessage-deflate. nil, the default, means no
	// compression.
	Compression *Compression
}

// settings returns the settings with defaults applied.
func (o *DialOptions) settings() *settings {
	s := &settings{
		maxMessage: o.MaxMessage, maxCompressed: o.MaxCompressed, maxControl: o.MaxControl,
		pingInterval: o.PingInterval, idleTimeout: o.IdleTimeout,
		maxLifetime: o.MaxLifetime, closeTimeout: o.CloseTimeout, writeTimeout: o.WriteTimeout,
		maxQueue: o.MaxQueue, policy: o.QueuePolicy, compression: o.Compression,
		stats: new(counters),
	}
	s.defaults()
	return s
}

// offered returns what a client wants to negotiate.
func (c *Compression) offered() wsframe.DeflateOptions {
	return wsframe.DeflateOptions{
		ServerTakeover: c.ReceiveTakeover, ClientTakeover: c.SendTakeover,
		ServerBits: uint8(c.ReceiveBits), ClientBits: uint8(c.SendBits),
	}
}
