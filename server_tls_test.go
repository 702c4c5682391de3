package gale

import (
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
)

func TestTLS(t *testing.T) {
	certPEM, keyPEM, err := GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Handler: func(ctx *RequestCtx) {
		if !ctx.IsTLS() || ctx.TLSConnectionState() == nil || string(ctx.URI().Scheme()) != "https" {
			t.Errorf("IsTLS %t, scheme %q", ctx.IsTLS(), ctx.URI().Scheme())
		}
		echo(ctx)
	}, Logger: &testLog{}}
	s.NextProto("other", func(c net.Conn) error { _, err := io.WriteString(c, "other"); return err })
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.ServeTLSEmbed(ln, certPEM, keyPEM) }()
	dial := func(proto string, version uint16) (*testConn, error) {
		c, err := tls.Dial("tcp", ln.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{proto}, MaxVersion: version})
		if err != nil {
			return nil, err
		}
		return newTestConn(t, c), nil
	}
	for _, v := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		c, err := dial("http/1.1", v)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			c.send(get("/1") + get("/2"))
			c.want("GET", 200, "GET /1 ")
			c.want("GET", 200, "GET /2 ")
		}
	}
	c, err := dial("other", 0)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := io.ReadAll(c.br); string(b) != "other" {
		t.Errorf("got %q", b)
	}
	if _, err := dial("h2", 0); err == nil {
		t.Error("a client that speaks only h2 got through")
	}
	plain, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c = newTestConn(t, plain)
	c.send("GET / HTTP/1.1\r\nHost: h\r\nX: " + strings.Repeat("x", 2000) + "\r\n\r\n")
	if a := c.read("GET"); a.StatusCode != StatusBadRequest || !strings.Contains(a.body, "https://") {
		t.Errorf("plain HTTP: got %d %q", a.StatusCode, a.body)
	}
	c.wantClosed()
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
	certPEM, keyPEM, err := GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	conns := make(chan net.Conn, 100)
	s := &Server{
		Handler: echo,
		Logger:  &testLog{},
		ConnState: func(c net.Conn, state ConnState) {
			if state == StateActive {
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
		_, _ = io.WriteString(c, get("/"))
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
