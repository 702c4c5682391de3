package websocket

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/ws"
)

// variant is a way to serve WebSockets with Gale.
type variant struct {
	engine  gale.Engine
	api     string // event or conn
	overTLS bool
	http2   bool
}

func (v variant) String() string {
	s := v.engine.String() + " engine, " + v.api + " API"
	if v.overTLS {
		s += ", TLS"
	}
	if v.http2 {
		s += ", HTTP/2"
	}
	return s
}

// variants are all but those over HTTP/2.
func variants() (all []variant) {
	for _, engine := range []gale.Engine{gale.EngineBlock, gale.EngineEvent} {
		for _, api := range []string{"event", "conn"} {
			for _, overTLS := range []bool{false, true} {
				all = append(all, variant{engine, api, overTLS, false})
			}
		}
	}
	return all
}

const maxMessage = 32 << 20

// serveGale serves with package ws.
func serveGale(t *testing.T, v variant) *server {
	t.Helper()
	s := &server{ended: make(chan ended, 100)}
	plain := &ws.Options{MaxMessage: maxMessage, QueuePolicy: ws.QueueWait, Origins: []string{"*"}}
	deflate := &ws.Options{MaxMessage: maxMessage, QueuePolicy: ws.QueueWait, Origins: []string{"*"},
		Compression: &ws.Compression{Threshold: -1, SendTakeover: true, ReceiveTakeover: true}}
	srv := &gale.Server{Engine: v.engine, Slog: slog.New(slog.DiscardHandler), HTTP2: gale.HTTP2Config{Mode: gale.HTTP2Off}}
	if v.http2 {
		srv.HTTP2 = gale.HTTP2Config{Mode: gale.HTTP2On, WebSocket: true}
	}
	srv.Handler = func(ctx *gale.RequestCtx) {
		path, options := string(ctx.Path()), plain
		switch path {
		case "/deflate":
			options = deflate
		case "/page":
			ctx.SetContentType("text/html; charset=utf-8")
			ctx.SetBodyString("<!doctype html><title>WebSocket</title>")
			return
		}
		id := string(ctx.URI().QueryString())
		p := &peer{path: path, protocol: string(ctx.Request.Header.Protocol()), end: func(how string) { s.ended <- ended{id, how} }}
		if v.api == "conn" {
			_ = ws.Accept(ctx, p.serve, options)
		} else {
			_ = ws.Serve(ctx, p, options)
		}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.base = "ws://" + ln.Addr().String()
	done := make(chan error, 1)
	if v.overTLS {
		var cert, key []byte
		cert, key, s.tls = certificate(t)
		s.base = "wss://" + ln.Addr().String()
		go func() { done <- srv.ServeTLSEmbed(ln, cert, key) }()
	} else {
		go func() { done <- srv.Serve(ln) }()
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := srv.ShutdownWithContext(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		_ = ln.Close() // for a Serve that begins only now
		if err := <-done; err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		if open := plain.Stats().Open + deflate.Stats().Open; open != 0 {
			t.Errorf("%d WebSockets are still open", open)
		}
	})
	return s
}

// certificate returns a certificate for 127.0.0.1, and what clients need to trust it.
func certificate(t *testing.T) (cert, key []byte, trust *tls.Config) {
	t.Helper()
	cert, key, err := gale.GenerateTestCertificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(cert)
	return cert, key, &tls.Config{RootCAs: pool}
}

// peer is the server's side of a connection, with either API.
type peer struct {
	ws.Base
	path, protocol string
	end            func(how string)
	message        []byte // that set off a ping
}

func (p *peer) OnMessage(s *ws.Socket, t ws.MessageType, data []byte) {
	var err error
	switch p.path {
	case "/ping":
		p.message = append(p.message[:0], data...)
		err = s.Ping([]byte("are you there?"))
	case "/close":
		err = s.Close(4002, "enough")
	case "/abort":
		s.Abort()
	case "/protocol":
		err = s.WriteString(ws.Text, p.protocol)
	default:
		err = s.Write(t, data)
	}
	if err != nil {
		s.Abort()
	}
}

func (p *peer) OnPong(s *ws.Socket, data []byte) {
	if string(data) == "are you there?" {
		_ = s.Write(ws.Text, append([]byte("pong "), p.message...))
	}
}

func (p *peer) OnClose(_ *ws.Socket, err error) { p.end(galeStatus(err)) }

// serve is the handler of Accept.
func (p *peer) serve(c *ws.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		t, data, err := c.Read(ctx)
		if err != nil {
			p.end(galeStatus(err))
			return
		}
		switch p.path {
		case "/ping":
			if err = c.Ping(ctx); err == nil {
				err = c.Write(ctx, ws.Text, append([]byte("pong "), data...))
			}
		case "/close":
			err = c.Close(4002, "enough")
		case "/abort":
			err = c.CloseNow()
		case "/protocol":
			err = c.Write(ctx, ws.Text, []byte(p.protocol))
		default:
			err = c.Write(ctx, t, data)
		}
		if err != nil {
			_ = c.CloseNow()
		}
	}
}

// galeStatus tells an end as package ws sees it.
func galeStatus(err error) string {
	var closed *ws.CloseError
	if errors.As(err, &closed) {
		return closeText(int(closed.Code), closed.Reason)
	}
	return aborted
}

// withTimeout returns a context for a call of a client.
func withTimeout() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), patience)
}
