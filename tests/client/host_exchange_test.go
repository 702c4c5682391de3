package client

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestClientBodies proves that bodies of all lengths and forms arrive complete in both
// directions, over sockets, TLS and pipes.
func TestClientBodies(t *testing.T) {
	cert, key, err := gale.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	s := &gale.Server{StreamRequestBody: true, MaxRequestBodySize: 1 << 24, Handler: func(ctx *gale.RequestCtx) {
		body := append([]byte(nil), ctx.Request.Body()...)
		switch string(ctx.QueryArgs().Peek("as")) {
		case "stream":
			ctx.SetBodyStream(bytes.NewReader(body), -1)
		case "end":
			ctx.HijackSetNoResponse(true)
			ctx.Hijack(func(c net.Conn) {
				io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
				c.Write(body)
			})
		default:
			ctx.SetBody(body)
		}
	}}
	defer s.Shutdown()
	listen := func(network, addr string) net.Listener {
		ln, err := net.Listen(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		return ln
	}
	tcp := listen("tcp", "127.0.0.1:0")
	secure := listen("tcp", "127.0.0.1:0")
	go s.Serve(tcp)
	go s.Serve(tls.NewListener(secure, &tls.Config{Certificates: []tls.Certificate{pair}}))
	clients := map[string]*gale.HostClient{
		"tcp": {Addr: tcp.Addr().String()},
		"tls": {Addr: secure.Addr().String(), IsTLS: true, TLSConfig: &tls.Config{InsecureSkipVerify: true}},
		"pipe": {Addr: "pipe", Dial: func(string) (net.Conn, error) {
			a, b := net.Pipe()
			go s.ServeConn(b)
			return a, nil
		}},
		"deadlines": {Addr: tcp.Addr().String(), ReadTimeout: time.Minute, WriteTimeout: time.Minute},
	}
	if runtime.GOOS != "windows" {
		path := filepath.Join(t.TempDir(), "s")
		go s.Serve(listen("unix", path))
		clients["unix"] = &gale.HostClient{Addr: path, Dial: func(addr string) (net.Conn, error) { return net.Dial("unix", addr) }}
	}
	for name, c := range clients {
		t.Run(name, func(t *testing.T) {
			defer c.CloseIdleConnections()
			for _, size := range []int{0, 1, 100, 4095, 4096, 8192, 8193, 70_000, race.Fewer(1_000_000), race.Fewer(3_000_000)} {
				body := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
				for _, as := range []string{"bytes", "stream", "end"} {
					for _, send := range []string{"bytes", "stream", "known"} {
						var req gale.Request
						var resp gale.Response
						req.Header.SetMethod("POST")
						req.SetRequestURI("http://localhost/?as=" + as)
						if c.IsTLS {
							req.URI().SetScheme("https")
						}
						switch send {
						case "bytes":
							req.SetBodyRaw(body)
						case "stream":
							req.SetBodyStream(bytes.NewReader(body), -1)
						case "known":
							req.SetBodyStream(io.LimitReader(bytes.NewReader(body), int64(size)), size)
						}
						resp.StreamBody = size%2 == 1
						if err := c.Do(&req, &resp); err != nil {
							t.Fatalf("%d bytes as %s, sent as %s: %v", size, as, send, err)
						}
						if !bytes.Equal(resp.Body(), body) {
							t.Fatalf("%d bytes as %s, sent as %s: another body of %d bytes", size, as, send, len(resp.Body()))
						}
						if resp.RemoteAddr() == nil || resp.LocalAddr() == nil {
							t.Error("no addresses")
						}
					}
				}
			}
			if st := c.PoolStats(); st.Dials > 100 || st.Open != st.Idle {
				t.Errorf("%+v", st)
			}
		})
	}
}

// TestClientExpectContinue proves that the body waits for a 100 for a limited time, and
// isn't sent after a final answer.
func TestClientExpectContinue(t *testing.T) {
	for _, tc := range []struct {
		name   string
		answer string // to the head
		wait   time.Duration
		status int
		sent   bool // the body is sent
	}{
		{"100", "HTTP/1.1 100 Continue\r\n\r\n", time.Hour, 200, true},
		{"102 and 100", "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n", time.Hour, 200, true},
		{"417", "HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n", time.Hour, 417, false},
		{"413 with a body", "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nno!", time.Hour, 413, false},
		{"nothing", "", 10 * time.Millisecond, 200, true},
		{"half a head", "HTTP/1.1 100 Con", 10 * time.Millisecond, 200, true},
		{"no wait", "", -1, 200, true},
	} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/stream=%t", tc.name, stream), func(t *testing.T) {
				s := peers.StartScript(t, func(p *peers.ScriptConn, _ int) {
					var req gale.Request
					if req.Header.Read(p.Br) != nil {
						return
					}
					p.Say(tc.answer)
					if !tc.sent {
						if _, err := p.Br.ReadByte(); err == nil {
							t.Error("the body was sent")
						}
						return
					}
					if err := req.ContinueReadBody(p.Br, 0); err != nil || string(req.Body()) != "hello" {
						t.Errorf("body %q, %v", req.Body(), err)
					}
					if tc.name == "half a head" {
						p.Say("tinue\r\n\r\n")
					}
					p.Say(peers.OkAnswer("good"))
				})
				c := &gale.HostClient{Addr: s.Addr(), ExpectContinueTimeout: tc.wait}
				defer c.CloseIdleConnections()
				req, resp := &gale.Request{}, &gale.Response{}
				req.SetRequestURI(s.URL())
				req.Header.SetMethod("POST")
				req.Header.Set("Expect", "100-continue")
				if stream {
					req.SetBodyStream(strings.NewReader("hello"), -1)
				} else {
					req.SetBodyString("hello")
				}
				if err := c.Do(req, resp); err != nil || resp.StatusCode() != tc.status {
					t.Errorf("status %d, %v", resp.StatusCode(), err)
				}
				if c.IdleConnsCount() != btoi(tc.sent) {
					t.Errorf("%d idle connections", c.IdleConnsCount())
				}
			})
		}
	}
}

// TestClientEarlyAnswer proves that the answer of a server that refuses a body,
// and closes, isn't lost.
func TestClientEarlyAnswer(t *testing.T) {
	s := peers.StartScript(t, func(p *peers.ScriptConn, _ int) {
		_ = new(gale.RequestHeader).Read(p.Br)
		p.Say("HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nno!")
		time.Sleep(20 * time.Millisecond) // most likely the client reads the answer before the close
	})
	c := &gale.HostClient{Addr: s.Addr()}
	req, resp := &gale.Request{}, &gale.Response{}
	req.SetRequestURI(s.URL())
	req.Header.SetMethod("POST")
	req.SetBodyStream(io.LimitReader(peers.Zeros{}, 1<<28), 1<<28)
	// Whether the answer arrives before the reset is up to the system.
	if err := c.Do(req, resp); err == nil && (resp.StatusCode() != 413 || string(resp.Body()) != "no!") {
		t.Errorf("%d %q", resp.StatusCode(), resp.Body())
	}
	if c.ConnsCount() != 0 {
		t.Error("the connection is kept")
	}
}

// TestClientTrailers proves that trailer fields are sent and received.
func TestClientTrailers(t *testing.T) {
	s := peers.StartScript(t, func(p *peers.ScriptConn, _ int) {
		for req := p.Request(); req != nil; req = p.Request() {
			if sum := req.Trailer.Get("X-Sum"); sum != "12" || req.Text != "hello" {
				t.Errorf("got %q, trailer %q", req.Text, sum)
			}
			p.Say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-End\r\n\r\n4\r\ngood\r\n0\r\nX-End: now\r\n\r\n")
		}
	})
	c := &gale.HostClient{Addr: s.Addr()}
	defer c.CloseIdleConnections()
	for _, stream := range []bool{false, true} {
		req, resp := &gale.Request{}, &gale.Response{StreamBody: stream}
		req.SetRequestURI(s.URL())
		req.Header.SetMethod("POST")
		req.Header.SetTrailer("X-Sum")
		req.Header.Set("X-Sum", "12")
		if stream {
			req.SetBodyStream(strings.NewReader("hello"), -1)
		} else {
			req.SetBodyString("hello")
		}
		if err := c.Do(req, resp); err != nil {
			t.Fatal(err)
		}
		if b := resp.Body(); string(b) != "good" || string(resp.Header.Peek("X-End")) != "now" {
			t.Errorf("body %q, trailer %q", b, resp.Header.Peek("X-End"))
		}
	}
	if s.Accepted.Load() != 1 {
		t.Errorf("%d connections were made", s.Accepted.Load())
	}
}

// TestClientTrace proves which functions of a trace are called, and in which order.
func TestClientTrace(t *testing.T) {
	s := peers.StartScript(t, peers.Answering(peers.OkAnswer("good")))
	var mu sync.Mutex
	var calls []string
	call := func(format string, args ...any) {
		mu.Lock()
		calls = append(calls, fmt.Sprintf(format, args...))
		mu.Unlock()
	}
	c := &gale.HostClient{Addr: s.Addr(), Trace: &gale.ClientTrace{
		GotConn: func(_ *gale.Request, conn net.Conn, reused bool, _ time.Duration) {
			call("conn %v %v", conn != nil, reused)
		},
		Dialed:    func(addr string, _ net.Conn, _ time.Duration, err error) { call("dialed %v %v", addr == s.Addr(), err) },
		Wrote:     func(_ *gale.Request, err error) { call("wrote %v", err) },
		FirstByte: func(*gale.Request) { call("first") },
		Done: func(_ *gale.Request, resp *gale.Response, n int, err error) {
			call("done %d %d %v", resp.StatusCode(), n, err)
		},
	}}
	defer c.CloseIdleConnections()
	for range 2 {
		if _, err := harness.GetFrom(c, "GET", s.URL()); err != nil {
			t.Fatal(err)
		}
	}
	want := "dialed true <nil>, conn true false, wrote <nil>, first, done 200 1 <nil>, conn true true, wrote <nil>, first, done 200 1 <nil>"
	if got := strings.Join(calls, ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	calls = nil
	c = &gale.HostClient{Addr: s.Addr(), IsTLS: true, Trace: &gale.ClientTrace{TLSDone: func(_ string, _ tls.ConnectionState, _ time.Duration, err error) { call("tls %v", err != nil) }}}
	if _, err := harness.GetFrom(c, "GET", "https://"+s.Addr()+"/"); err == nil || len(calls) != 1 || calls[0] != "tls true" {
		t.Errorf("%v, %v", err, calls)
	}
	c = &gale.HostClient{Addr: s.Addr(), Trace: &gale.ClientTrace{}}
	if _, err := harness.GetFrom(c, "GET", s.URL()); err != nil {
		t.Error(err)
	}
	c.CloseIdleConnections()
}

// TestClientLazyDeadlines proves that a deadline of an earlier exchange, which stays set
// on the connection, does no harm when it passes.
func TestClientLazyDeadlines(t *testing.T) {
	peers.WithMoreTime(t, 40*time.Millisecond, func(first time.Duration) error {
		s := peers.StartScript(t, func(p *peers.ScriptConn, _ int) {
			for i := 0; p.Request() != nil; i++ {
				time.Sleep(time.Duration(i) * first / 2) // slow, so that the first deadline passes meanwhile
				p.Say(peers.OkAnswer("good"))
			}
		})
		c := &gale.HostClient{Addr: s.Addr(), MaxConns: 1}
		defer c.CloseIdleConnections()
		req, resp := &gale.Request{}, &gale.Response{}
		req.SetRequestURI(s.URL())
		for i, limit := range []time.Duration{first, time.Hour, 0, time.Hour, 0} {
			req.SetTimeout(limit)
			if err := c.Do(req, resp); err != nil {
				if i == 0 && err == gale.ErrTimeout {
					return err
				}
				t.Errorf("with limit %v: %v", limit, err)
			}
		}
		if s.Accepted.Load() != 1 {
			t.Errorf("%d connections were made", s.Accepted.Load())
		}
		return nil
	})
}
