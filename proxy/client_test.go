package proxy_test

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/proxy"
)

// hello serves "hello from HOST" on a new port, over TLS if cfg isn't nil, and
// returns its address.
func hello(t *testing.T, cfg *tls.Config) string {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	if cfg != nil {
		ln = tls.NewListener(ln, cfg)
	}
	s := &gale.Server{Handler: func(ctx *gale.RequestCtx) { fmt.Fprintf(ctx, "hello from %s", ctx.Host()) }}
	done := make(chan error, 1)
	go func() { done <- s.Serve(ln) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		ln.Close() // Serve may not have begun yet, and would begin after Close
		<-done
	})
	return addr
}

// A client reaches hosts through a tunnel: with a function of this package to
// dial with, and with a proxy for each URI.
func TestClient(t *testing.T) {
	var log proxyLog
	server, trust := testTLS(t, "a.example")
	plain, overTLS := hello(t, nil), hello(t, server)
	http := listen(t, connectProxy(&log, "http", overTLS))
	socks := listen(t, socksProxy(&log, "socks", "u", "p", overTLS))
	forPlain := listen(t, connectProxy(&log, "http", plain))
	for _, tt := range []struct {
		name   string
		client *gale.Client
		scheme string
		want   string
	}{
		{"Dial", &gale.Client{Dial: proxy.FasthttpHTTPDialer(forPlain)}, "http", "http CONNECT a.example:80"},
		{"Dial, TLS", &gale.Client{Dial: proxy.FasthttpHTTPDialer("u:p@" + http)}, "https", "http CONNECT a.example:443 Basic dTpw"},
		{"Dial, SOCKS", &gale.Client{Dial: proxy.FasthttpSocksDialer("u:p@" + socks)}, "https", "socks a.example:443 u"},
		{"Proxy", &gale.Client{Proxy: always("http://u:p@" + http)}, "https", "http CONNECT a.example:443 Basic dTpw"},
		{"Proxy, SOCKS", &gale.Client{Proxy: always("socks5://u:p@" + socks)}, "https", "socks a.example:443 u"},
	} {
		c := tt.client
		c.TLSConfig = trust
		status, body, err := c.Get(nil, tt.scheme+"://a.example/")
		if err != nil || status != 200 || string(body) != "hello from a.example" {
			t.Errorf("%s: got %d %q, %v", tt.name, status, body, err)
		}
		if got := log.take(); !slices.Equal(got, []string{tt.want}) {
			t.Errorf("%s: asked for %q, want %q", tt.name, got, tt.want)
		}
		c.CloseIdleConnections()
	}
}

// Through a tunnel, a client speaks HTTP/2 with hosts that choose it: over a connection that a
// function of this package dialed, and with a proxy for each URI. All requests share one tunnel.
func TestClientHTTP2(t *testing.T) {
	var log proxyLog
	server, trust := testTLS(t, "a.example")
	server.NextProtos = []string{"h2", "http/1.1"}
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &gale.Server{Handler: func(ctx *gale.RequestCtx) {
		fmt.Fprintf(ctx, "%s %s %s", ctx.Request.Header.Protocol(), ctx.Host(), ctx.PostBody())
	}}
	go s.Serve(tls.NewListener(ln, server))
	defer s.Close()
	addr := ln.Addr().String()
	http := listen(t, connectProxy(&log, "http", addr))
	socks := listen(t, socksProxy(&log, "socks", "u", "p", addr))
	overTLS, proxyTrust := testTLS(t, "proxy.example")
	secure := listen(t, func(c net.Conn) { connectProxy(&log, "https", addr)(tls.Server(c, overTLS)) })
	proxyTrust.ServerName = "proxy.example"
	through := &proxy.Dialer{ProxyTLSConfig: proxyTrust}
	through.HTTPSProxy = "https://" + secure
	dialSecure, err := through.GetDialFuncForTLS(false, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		client *gale.Client
		want   string
		proto  string
	}{
		{"Dial", &gale.Client{Dial: proxy.FasthttpHTTPDialer(http)}, "http CONNECT a.example:443", "HTTP/2.0"},
		{"Dial, SOCKS", &gale.Client{Dial: proxy.FasthttpSocksDialer("u:p@" + socks)}, "socks a.example:443 u", "HTTP/2.0"},
		{"Dial, https", &gale.Client{Dial: dialSecure}, "https CONNECT a.example:443", "HTTP/2.0"},
		{"Proxy", &gale.Client{Proxy: always("http://" + http)}, "http CONNECT a.example:443", "HTTP/2.0"},
		{"Proxy, SOCKS", &gale.Client{Proxy: always("socks5://u:p@" + socks)}, "socks a.example:443 u", "HTTP/2.0"},
		{"only", &gale.Client{Proxy: always("http://" + http), HTTP2: gale.HTTP2Only}, "http CONNECT a.example:443", "HTTP/2.0"},
		{"off", &gale.Client{Proxy: always("http://" + http), HTTP2: gale.HTTP2Off}, "http CONNECT a.example:443", "HTTP/1.1"},
	} {
		c := tt.client
		c.TLSConfig = trust
		for range 3 {
			req, resp := gale.AcquireRequest(), gale.AcquireResponse()
			req.SetRequestURI("https://a.example/")
			req.Header.SetMethod("POST")
			req.SetBodyString("body")
			if err := c.Do(req, resp); err != nil || string(resp.Body()) != tt.proto+" a.example body" {
				t.Errorf("%s: %q, %v", tt.name, resp.Body(), err)
			}
			gale.ReleaseRequest(req)
			gale.ReleaseResponse(resp)
		}
		if got := log.take(); !slices.Equal(got, []string{tt.want}) {
			t.Errorf("%s: asked for %q, want %q", tt.name, got, tt.want)
		}
		c.CloseIdleConnections()
	}
}

// A tunnel that is refused is an error that tells the status.
func TestClientRefused(t *testing.T) {
	p := listen(t, func(c net.Conn) {
		b := make([]byte, 1024)
		_, _ = c.Read(b)
		_, _ = c.Write([]byte("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"))
	})
	for name, c := range map[string]*gale.Client{
		"Dial":  {Dial: proxy.FasthttpHTTPDialer("u:secret@" + p)},
		"Proxy": {Proxy: always("http://u:secret@" + p)},
	} {
		_, _, err := c.Get(nil, "https://a.example/")
		if err == nil || !strings.Contains(err.Error(), "407") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// always is a Client.Proxy with one proxy.
func always(proxy string) func(*gale.URI) (*url.URL, error) {
	return func(*gale.URI) (*url.URL, error) { return url.Parse(proxy) }
}
