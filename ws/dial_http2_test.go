package ws

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/galehttp/gale"
)

// http2Server starts a server that accepts WebSockets over HTTP/2.
func http2Server(t testing.TB, w way, h2 gale.HTTP2Config, handler gale.RequestHandler) *socketServer {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := new(logs)
	s := &socketServer{Server: &gale.Server{Engine: w.engine, Handler: handler, HTTP2: h2, Logger: l, EventLoops: 1}, way: w, logs: l, addr: ln.Addr().String()}
	done := make(chan error, 1)
	go func() {
		if w.tls {
			s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{testCert()}}
			done <- s.ServeTLS(ln, "", "")
			return
		}
		done <- s.Serve(ln)
	}()
	t.Cleanup(func() {
		s.Close()
		if err := <-done; err != nil {
			t.Error("Serve:", err)
		}
	})
	return s
}

// WebSockets over HTTP/2: messages of all sizes, pings, the closing handshake from both
// sides, what the request has, and several on one connection.
func TestDialHTTP2(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		checkNoLeaks(t)
		protocols := make(chan string, 10)
		s := http2Server(t, w, gale.HTTP2Config{H2C: true, WebSocket: true}, func(ctx *gale.RequestCtx) {
			protocols <- string(ctx.Request.Header.Protocol()) + " " + string(ctx.Request.Header.Peek("X-Own"))
			if string(ctx.Path()) == "/refuse" {
				ctx.Error("not you", gale.StatusForbidden)
				return
			}
			_ = Accept(ctx, echoConn, &Options{Subprotocols: []string{"b"}, Compression: &Compression{}})
		})
		h := new(gale.RequestHeader)
		h.Set("X-Own", "x")
		o := &DialOptions{HTTP2: gale.HTTP2On, Header: h, Subprotocols: []string{"a", "b"}, Compression: &Compression{}}
		if !w.tls {
			o.HTTP2 = gale.HTTP2Only
		}
		shared := &gale.Client{HTTP2: gale.HTTP2Only, TLSConfig: &tls.Config{InsecureSkipVerify: true}}
		defer shared.CloseIdleConnections()
		for _, client := range []*gale.Client{nil, shared, shared} {
			o.Client = client
			c := s.open(t, o)
			if got := <-protocols; got != "HTTP/2.0 x" {
				t.Fatalf("the server got %q", got)
			}
			if c.Subprotocol() != "b" || !c.Compressed() {
				t.Error(c.Subprotocol(), c.Compressed())
			}
			for _, n := range []int{0, 1, 1000, 70_000, 1 << 20} {
				checkEcho(t, c, Text, strings.Repeat("x", n))
			}
			if err := c.Ping(testContext(t)); err != nil {
				t.Error("Ping:", err)
			}
			if err := c.Close(StatusNormal, ""); err != nil {
				t.Error("Close:", err)
			}
		}

		o.Client = nil
		o.TLSConfig = &tls.Config{InsecureSkipVerify: true}
		_, resp, err := Dial(testContext(t), s.url()+"refuse", o)
		if he := (*HandshakeError)(nil); !errors.As(err, &he) || he.StatusCode != 403 || string(resp.Body()) != "not you" {
			t.Errorf("refused: %v %v", err, resp)
		}
		<-protocols

		c := s.open(t, o)
		down := make(chan error, 1)
		go func() { down <- s.ShutdownWithContext(testContext(t)) }()
		_, _, err = c.Read(testContext(t))
		wantCloseError(t, err, StatusGoingAway, false)
		if err := <-down; err != nil {
			t.Error("Shutdown:", err)
		}
	})
}

// A server that doesn't accept WebSockets over HTTP/2: HTTP2On uses HTTP/1.1, HTTP2Only
// fails.
func TestDialHTTP2Fallback(t *testing.T) {
	eachEngine(t, func(t *testing.T, w way) {
		checkNoLeaks(t)
		w.tls = true
		for _, h2 := range []gale.HTTP2Config{{}, {Mode: gale.HTTP2Off}} {
			s := http2Server(t, w, h2, func(ctx *gale.RequestCtx) { _ = Accept(ctx, echoConn, nil) })
			c := s.open(t, &DialOptions{HTTP2: gale.HTTP2On})
			checkEcho(t, c, Text, "a")
			o := &DialOptions{HTTP2: gale.HTTP2Only, TLSConfig: &tls.Config{InsecureSkipVerify: true}}
			if _, _, err := Dial(context.Background(), s.url(), o); err == nil || h2.Mode == gale.HTTP2Auto && !errors.Is(err, gale.ErrNoExtendedConnect) {
				t.Error("Dial:", err)
			}
		}
	})
}
