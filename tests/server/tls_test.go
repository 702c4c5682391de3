package server

import (
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

func TestTLS(t *testing.T) {
	certPEM, keyPEM, err := gale.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	s := &gale.Server{Handler: func(ctx *gale.RequestCtx) {
		if !ctx.IsTLS() || ctx.TLSConnectionState() == nil || string(ctx.URI().Scheme()) != "https" {
			t.Errorf("IsTLS %t, scheme %q", ctx.IsTLS(), ctx.URI().Scheme())
		}
		harness.Echo(ctx)
	}, Logger: &peers.Log{}}
	s.NextProto("other", func(c net.Conn) error { _, err := io.WriteString(c, "other"); return err })
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.ServeTLSEmbed(ln, certPEM, keyPEM) }()
	dial := func(proto string, version uint16) (*peers.Conn, error) {
		c, err := tls.Dial("tcp", ln.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{proto}, MaxVersion: version})
		if err != nil {
			return nil, err
		}
		return peers.NewConn(t, c), nil
	}
	for _, v := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		c, err := dial("http/1.1", v)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			c.Send(peers.Get("/1") + peers.Get("/2"))
			c.Want("GET", 200, "GET /1 ")
			c.Want("GET", 200, "GET /2 ")
		}
	}
	c, err := dial("other", 0)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := io.ReadAll(c.Br); string(b) != "other" {
		t.Errorf("got %q", b)
	}
	if _, err := dial("h2", 0); err == nil {
		t.Error("a client that speaks only h2 got through")
	}
	plain, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c = peers.NewConn(t, plain)
	c.Send("GET / HTTP/1.1\r\nHost: h\r\nX: " + strings.Repeat("x", 2000) + "\r\n\r\n")
	if a := c.Answer("GET"); a.StatusCode != gale.StatusBadRequest || !strings.Contains(a.Text, "https://") {
		t.Errorf("plain HTTP: got %d %q", a.StatusCode, a.Text)
	}
	c.WantClosed()
	if _, err := dial("http/1.1", tls.VersionTLS11); err == nil {
		t.Error("TLS 1.1 was accepted")
	}
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// A program may close TLS connections that it got from ConnState, from any goroutine,
// even while they end by themselves. The race detector checks that.
func TestTLSClosedFromAside(t *testing.T) {
	certPEM, keyPEM, err := gale.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	conns := make(chan net.Conn, 100)
	s := &gale.Server{
		Handler: harness.Echo,
		Logger:  &peers.Log{},
		ConnState: func(c net.Conn, state gale.ConnState) {
			if state == gale.StateActive {
				conns <- c
			}
		},
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.ServeTLSEmbed(ln, certPEM, keyPEM) }()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for c := range conns {
			_ = c.Close()
		}
	}()
	for range 50 {
		c, err := tls.Dial("tcp", ln.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, peers.Get("/"))
		_ = c.CloseWrite()
		_, _ = io.ReadAll(c)
		c.Close()
	}
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	close(conns)
	<-done
	if n := s.GetOpenConnectionsCount(); n != 0 {
		t.Errorf("%d connections are open", n)
	}
}
