package websocket

import (
	"crypto/tls"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/ws"
)

// galeClient is a WebSocket of ws.Dial.
type galeClient struct{ c *ws.Conn }

func dialGale(url string, config *tls.Config, deflate bool) (client, error) {
	return dialGaleBy(gale.HTTP2Auto, url, config, deflate)
}

func dialGaleHTTP2(url string, config *tls.Config, deflate bool) (client, error) {
	return dialGaleBy(gale.HTTP2Only, url, config, deflate)
}

func dialGaleBy(mode gale.HTTP2Mode, url string, config *tls.Config, deflate bool) (client, error) {
	o := &ws.DialOptions{TLSConfig: config, MaxMessage: maxMessage, HTTP2: mode}
	if deflate {
		o.Compression = &ws.Compression{Threshold: -1, SendTakeover: true, ReceiveTakeover: true}
	}
	ctx, cancel := withTimeout()
	defer cancel()
	c, _, err := ws.Dial(ctx, url, o)
	if err != nil {
		return nil, err
	}
	return galeClient{c}, nil
}

func (g galeClient) send(binary bool, data []byte) error {
	t := ws.Text
	if binary {
		t = ws.Binary
	}
	ctx, cancel := withTimeout()
	defer cancel()
	return g.c.Write(ctx, t, data)
}

func (g galeClient) receive() (binary bool, data []byte, err error) {
	ctx, cancel := withTimeout()
	defer cancel()
	t, data, err := g.c.Read(ctx)
	return t == ws.Binary, data, err
}

func (g galeClient) ping() error {
	ctx, cancel := withTimeout()
	defer cancel()
	return g.c.Ping(ctx)
}

func (g galeClient) close(code int, reason string) error {
	return g.c.Close(ws.StatusCode(code), reason)
}
func (g galeClient) abort()                  { _ = g.c.CloseNow() }
func (g galeClient) status(err error) string { return galeStatus(err) }
func (g galeClient) compressed() bool        { return g.c.Compressed() }

// TestGale proves that the client and the servers of package ws understand each other.
func TestGale(t *testing.T) {
	for _, v := range variants() {
		t.Run(v.String(), func(t *testing.T) { check(t, serveGale(t, v), dialGale) })
		if v.overTLS {
			v.http2 = true
			t.Run(v.String(), func(t *testing.T) { check(t, serveGale(t, v), dialGaleHTTP2) })
		}
	}
}
