package timelimits

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galeutil"
	"github.com/galehttp/gale/reverse"
	"github.com/galehttp/gale/tests/harness/await"
)

// conns are the connections that the library gives to a program. Each returns one whose peer
// is silent and reads nothing, and what ends the peer.
var conns = []struct {
	name  string
	reads bool // it can only be read from
	open  func(t *testing.T, e gale.Engine) (nc net.Conn, leave func())
}{
	{"HijackNow", false, func(t *testing.T, e gale.Engine) (net.Conn, func()) {
		return handedOver(t, e, func(ctx *gale.RequestCtx, give func(net.Conn)) {
			if nc, err := ctx.HijackNow(); err == nil {
				give(nc)
			}
		})
	}},
	{"Hijack", false, func(t *testing.T, e gale.Engine) (net.Conn, func()) {
		return handedOver(t, e, func(ctx *gale.RequestCtx, give func(net.Conn)) { ctx.Hijack(give) })
	}},
	{"HijackNow of an extended CONNECT", false, func(t *testing.T, e gale.Engine) (net.Conn, func()) {
		server, client := tunnel(t, e)
		return server, func() { reset(client) }
	}},
	{"OpenStream", false, func(t *testing.T, e gale.Engine) (net.Conn, func()) {
		server, client := tunnel(t, e)
		return client, func() { reset(server) }
	}},
	{"NewStreamReader", true, func(t *testing.T, _ gale.Engine) (net.Conn, func()) {
		over := make(chan struct{})
		r := gale.NewStreamReader(func(*bufio.Writer) { <-over })
		leave := func() { // or Close of the test
			select {
			case <-over:
			default:
				close(over)
			}
		}
		t.Cleanup(leave)
		return r.(net.Conn), leave
	}},
	{"galeutil.InmemoryListener", false, func(t *testing.T, _ gale.Engine) (net.Conn, func()) {
		ln := galeutil.NewInmemoryListener()
		t.Cleanup(func() { ln.Close() })
		dialed := make(chan net.Conn, 1)
		go func() {
			client, _ := ln.Dial()
			dialed <- client
		}()
		server, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { server.Close() })
		return <-dialed, func() { server.Close() }
	}},
}

// reset closes nc without waiting for its peer.
func reset(nc net.Conn) {
	_ = nc.(interface{ SetLinger(sec int) error }).SetLinger(0)
	nc.Close()
}

// serve serves s on loopback until the test ends.
func serve(t *testing.T, s *gale.Server) (addr string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Logger = log.New(io.Discard, "", 0)
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		_ = s.Close()
		_ = ln.Close() // Serve may not have begun yet, and would begin after Close
		if err := receive(t, "the end of Serve", served); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return ln.Addr().String()
}

// handedOver returns the connection that a handler gives away.
func handedOver(t *testing.T, e gale.Engine, hand func(ctx *gale.RequestCtx, give func(net.Conn))) (net.Conn, func()) {
	got, over := make(chan net.Conn, 1), make(chan struct{})
	addr := serve(t, &gale.Server{Engine: e, Handler: func(ctx *gale.RequestCtx) {
		hand(ctx, func(nc net.Conn) { got <- nc; <-over })
	}})
	t.Cleanup(func() { close(over) })
	client, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	_, _ = io.WriteString(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	return receive(t, "the connection", got), func() { client.Close() }
}

// tunnel returns both sides of a stream of HTTP/2.
func tunnel(t *testing.T, e gale.Engine) (server, client net.Conn) {
	got, over := make(chan net.Conn, 1), make(chan struct{})
	addr := serve(t, &gale.Server{Engine: e, HTTP2: gale.HTTP2Config{H2C: true, WebSocket: true}, Handler: func(ctx *gale.RequestCtx) {
		if nc, err := ctx.HijackNow(); err == nil {
			got <- nc
			<-over
		}
	}})
	t.Cleanup(func() { close(over) })
	c := &gale.HostClient{Addr: addr, HTTP2: gale.HTTP2Only}
	req := new(gale.Request)
	req.SetRequestURI("http://a/")
	req.SetConnectProtocol("websocket")
	client, err := c.OpenStream(context.Background(), req, new(gale.Response))
	if err != nil {
		t.Fatal(err)
	}
	server = receive(t, "the stream", got)
	t.Cleanup(func() { client.Close(); server.Close(); c.CloseIdleConnections() })
	return server, client
}

// TestConns proves that Read and Write of each connection that the library gives to a program
// end with a deadline, also with one that is set while they wait, with Close, and with the
// peer, and that nothing is left.
func TestConns(t *testing.T) {
	ends := []struct {
		name   string
		want   error // nil: any error
		before func(nc net.Conn)
		during func(nc net.Conn, leave func())
	}{
		{"deadline", os.ErrDeadlineExceeded, func(nc net.Conn) { _ = nc.SetDeadline(time.Now().Add(short)) }, nil},
		{"a deadline that is set later", os.ErrDeadlineExceeded, nil, func(nc net.Conn, _ func()) { _ = nc.SetDeadline(time.Now()) }},
		{"Close", nil, nil, func(nc net.Conn, _ func()) { nc.Close() }},
		{"the peer leaves", nil, nil, func(_ net.Conn, leave func()) { leave() }},
	}
	calls := map[string]func(nc net.Conn) error{
		"Read": func(nc net.Conn) error {
			_, err := nc.Read(make([]byte, 1))
			return err
		},
		"Write": func(nc net.Conn) (err error) {
			for b := make([]byte, 1<<20); err == nil; {
				_, err = nc.Write(b)
			}
			return err
		},
	}
	for _, e := range engines() {
		for _, c := range conns {
			for name, call := range calls {
				for _, end := range ends {
					if c.reads && name == "Write" {
						continue
					}
					t.Run(fmt.Sprintf("%v/%s/%s/%s", e, c.name, name, end.name), func(t *testing.T) {
						before := stacks()
						t.Run("", func(t *testing.T) {
							nc, leave := c.open(t, e)
							defer nc.Close()
							if end.before != nil {
								end.before(nc)
							}
							result := make(chan error, 1)
							go func() { result <- call(nc) }()
							if end.during != nil {
								time.Sleep(time.Millisecond) // it waits in most runs
								end.during(nc, leave)
							}
							if err := receive(t, "the end of the call", result); err == nil || end.want != nil && !errors.Is(err, end.want) {
								t.Errorf("the error is %v, want %v", err, end.want)
							}
						})
						wantGone(t, before)
					})
				}
			}
		}
	}
}

// serverCalls are the calls of a Server that wait. busy says that a request is served.
var serverCalls = []struct {
	name string
	busy bool
	call func(t *testing.T, s *gale.Server, nc net.Conn) error
}{
	{"Serve", false, func(t *testing.T, s *gale.Server, _ net.Conn) error {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return s.Serve(ln)
	}},
	{"Serve, in memory", false, func(t *testing.T, s *gale.Server, _ net.Conn) error {
		return s.Serve(galeutil.NewInmemoryListener())
	}},
	{"ListenAndServe", false, func(t *testing.T, s *gale.Server, _ net.Conn) error { return s.ListenAndServe("127.0.0.1:0") }},
	{"ListenAndServeTLSEmbed", false, func(t *testing.T, s *gale.Server, _ net.Conn) error {
		cert, key, err := gale.GenerateTestCertificate("127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		return s.ListenAndServeTLSEmbed("127.0.0.1:0", cert, key)
	}},
	{"ListenAndServeUNIX", false, func(t *testing.T, s *gale.Server, _ net.Conn) error {
		return s.ListenAndServeUNIX(filepath.Join(t.TempDir(), "s"), 0o600)
	}},
	{"ServeConn", false, func(_ *testing.T, s *gale.Server, nc net.Conn) error { return s.ServeConn(nc) }},
	{"Shutdown", true, func(_ *testing.T, s *gale.Server, _ net.Conn) error { return s.Shutdown() }},
	{"Shutdown, draining", true, func(_ *testing.T, s *gale.Server, _ net.Conn) error {
		s.DrainTime = time.Hour
		return s.Shutdown()
	}},
}

// TestServers proves that what waits for a server ends with Close, and, if no handler runs,
// with Shutdown.
func TestServers(t *testing.T) {
	for _, e := range engines() {
		for _, c := range serverCalls {
			for _, end := range []string{"Close", "Shutdown"} {
				if c.busy && end == "Shutdown" {
					continue // which would wait, too
				}
				t.Run(fmt.Sprintf("%v/%s/%s", e, c.name, end), func(t *testing.T) {
					before := stacks()
					t.Run("", func(t *testing.T) {
						began := make(chan struct{}, 1)
						s := &gale.Server{Engine: e, Logger: log.New(io.Discard, "", 0), ReadHeaderTimeout: -1, Handler: func(ctx *gale.RequestCtx) {
							began <- struct{}{}
							<-ctx.Done()
						}}
						client, nc := net.Pipe()
						defer client.Close()
						if c.busy {
							go func() { _ = s.ServeConn(nc) }()
							_, _ = io.WriteString(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
							receive(t, "the handler", began)
						}
						result := make(chan error, 1)
						go func() { result <- c.call(t, s, nc) }()
						if c.busy {
							awaitShutdown(t)
						}
						for again := true; again; { // an end before the beginning has no effect
							if end == "Close" {
								_ = s.Close()
							} else {
								_ = s.Shutdown()
							}
							select {
							case <-result:
								again = false
							case <-time.After(short):
							}
						}
					})
					wantGone(t, before)
				})
			}
		}
	}
}

// awaitShutdown waits until a call of Shutdown waits.
func awaitShutdown(t *testing.T) {
	t.Helper()
	await.Until(t, "Shutdown to wait", func() bool {
		for _, stack := range stacks() {
			if strings.Contains(stack, "[select") && strings.Contains(stack, ".ShutdownWithContext(") {
				return true
			}
		}
		return false
	})
}

// TestProxies proves that a request that package reverse passes on ends with each limit of the
// proxy, and when the client leaves, whatever the upstream does not do, and
// that nothing is left.
func TestProxies(t *testing.T) {
	head := "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	post := "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n"
	ends := []struct {
		name   string
		fits   func(p *place) bool // nil: all places
		set    func(p *reverse.Proxy)
		during func(s *gale.Server, client net.Conn)
		early  bool // the context of the request is made before the proxy sees it
	}{
		{name: "Timeout", set: func(p *reverse.Proxy) { p.Timeout = short }},
		{name: "DialTimeout", fits: func(p *place) bool { return p.name == "dialing" || p.name == "the handshake of TLS" },
			set: func(p *reverse.Proxy) { p.DialTimeout = short }},
		{name: "ResponseHeaderTimeout", fits: func(p *place) bool {
			return !p.reads && p.name == "the head" || p.name == "the rest of the head" || p.name == "a head that comes slowly" || p.name == "a final response" || p.name == "HTTP/2: the head"
		}, set: func(p *reverse.Proxy) { p.ResponseHeaderTimeout = short }},
		{name: "BodyIdleTimeout", fits: func(p *place) bool {
			return p.name == "the body" || p.name == "the body's last chunk" || p.name == "the end of the connection" || p.name == "HTTP/2: the body" || p.name == "HTTP/2: a stream's window" || p.name == "HTTP/2: the socket's room"
		}, set: func(p *reverse.Proxy) { p.BodyIdleTimeout = short }},
		{name: "BodyIdleTimeout, then ResponseHeaderTimeout", fits: func(p *place) bool { return p.name == "the socket's room" },
			set: func(p *reverse.Proxy) { p.BodyIdleTimeout, p.ResponseHeaderTimeout = short, short }}, // the upstream may have answered
		{name: "the client leaves", during: func(_ *gale.Server, client net.Conn) { reset(client) }},
		{name: "the client leaves during a shutdown", early: true, during: func(s *gale.Server, client net.Conn) {
			go s.Shutdown()
			reset(client)
		}},
		{name: "Close", during: func(s *gale.Server, _ net.Conn) { _ = s.Close() }},
		{name: "Close after Context", early: true, during: func(s *gale.Server, _ net.Conn) { _ = s.Close() }},
	}
	for _, e := range engines() {
		for _, p := range places() {
			if p.proxy || p.busy || p.streams || p.expects || p.https && p.http2 != 0 {
				continue
			}
			for _, end := range ends {
				if end.fits != nil && !end.fits(p) {
					continue
				}
				t.Run(fmt.Sprintf("%v/%s/%s", e, p.name, end.name), func(t *testing.T) {
					before := stacks()
					t.Run("", func(t *testing.T) {
						h := p.start(t)
						upstream := "http://a.test:80"
						if p.https {
							upstream = "https://a.test:443"
						}
						rp := &reverse.Proxy{Upstreams: []string{upstream}, HTTP2: p.http2, MaxRequestBodySize: -1,
							DialTimeout: -1, ResponseHeaderTimeout: -1, BodyIdleTimeout: -1,
							DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
								if p.dial != nil {
									h.tell()
									return p.dial(ctx)
								}
								var d net.Dialer
								return d.DialContext(ctx, network, h.addr)
							}}
						if end.set != nil {
							end.set(rp)
						}
						ended := make(chan struct{})
						s := &gale.Server{Engine: e, StreamRequestBody: true, ReadStallTimeout: -1, WriteStallTimeout: -1, MaxRequestBodySize: 1 << 30}
						s.Handler = func(ctx *gale.RequestCtx) {
							ctx.AfterSend(func(int64, error) { close(ended) })
							if end.early {
								_ = ctx.Context()
							}
							rp.Handler(ctx)
						}
						addr := serve(t, s)
						t.Cleanup(func() { rp.Close() })
						client, err := net.Dial("tcp", addr)
						if err != nil {
							t.Fatal(err)
						}
						defer client.Close()
						go func() { _, _ = io.Copy(io.Discard, client) }()
						request := head
						if p.reads || p.body > 0 {
							request = post
						}
						go func() {
							_, err := io.WriteString(client, request)
							for b := make([]byte, 64<<10); p.body > 0 && err == nil; {
								_, err = client.Write(b)
							}
						}()
						if end.during != nil {
							receive(t, "the upstream", h.at)
							time.Sleep(time.Millisecond) // the proxy waits in most runs
							end.during(s, client)
						}
						receive(t, "the end of the request", ended)
					})
					wantGone(t, before)
				})
			}
		}
	}
}
