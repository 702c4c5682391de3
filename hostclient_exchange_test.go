package gale

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

	"github.com/galehttp/gale/internal/race"
)

// TestClientBodies proves that bodies of all lengths and forms arrive complete in both
// directions, over sockets, TLS and pipes.
func TestClientBodies(t *testing.T) {
	cert, key, err := GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{StreamRequestBody: true, MaxRequestBodySize: 1 << 24, Handler: func(ctx *RequestCtx) {
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
	clients := map[string]*HostClient{
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
		clients["unix"] = &HostClient{Addr: path, Dial: func(addr string) (net.Conn, error) { return net.Dial("unix", addr) }}
	}
	for name, c := range clients {
		t.Run(name, func(t *testing.T) {
			defer c.CloseIdleConnections()
			for _, size := range []int{0, 1, 100, 4095, 4096, 8192, 8193, 70_000, race.Fewer(1_000_000), race.Fewer(3_000_000)} {
				body := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
				for _, as := range []string{"bytes", "stream", "end"} {
					for _, send := range []string{"bytes", "stream", "known"} {
						var req Request
						var resp Response
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
				s := scripted(t, func(p *scriptConn, _ int) {
					var req Request
					if req.Header.Read(p.br) != nil {
						return
					}
					p.write(tc.answer)
					if !tc.sent {
						if _, err := p.br.ReadByte(); err == nil {
							t.Error("the body was sent")
						}
						return
					}
					if err := req.ContinueReadBody(p.br, 0); err != nil || string(req.Body()) != "hello" {
						t.Errorf("body %q, %v", req.Body(), err)
					}
					if tc.name == "half a head" {
						p.write("tinue\r\n\r\n")
					}
					p.write(okAnswer("good"))
				})
				c := &HostClient{Addr: s.addr(), ExpectContinueTimeout: tc.wait}
				defer c.CloseIdleConnections()
				req, resp := &Request{}, &Response{}
				req.SetRequestURI(s.url())
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
	s := scripted(t, func(p *scriptConn, _ int) {
		_ = new(RequestHeader).Read(p.br)
		p.write("HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nno!")
		time.Sleep(20 * time.Millisecond)
	})
	c := &HostClient{Addr: s.addr()}
	req, resp := &Request{}, &Response{}
	req.SetRequestURI(s.url())
	req.Header.SetMethod("POST")
	req.SetBodyStream(io.LimitReader(endless{}, 1<<28), 1<<28)
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
	s := scripted(t, func(p *scriptConn, _ int) {
		for req := p.request(); req != nil; req = p.request() {
			if string(req.Header.Peek("X-Sum")) != "12" || string(req.Body()) != "hello" {
				t.Errorf("got %q, trailer %q", req.Body(), req.Header.Peek("X-Sum"))
			}
			p.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-End\r\n\r\n4\r\ngood\r\n0\r\nX-End: now\r\n\r\n")
		}
	})
	c := &HostClient{Addr: s.addr()}
	defer c.CloseIdleConnections()
	for _, stream := range []bool{false, true} {
		req, resp := &Request{}, &Response{StreamBody: stream}
		req.SetRequestURI(s.url())
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
	if s.accepted.Load() != 1 {
		t.Errorf("%d connections were made", s.accepted.Load())
	}
}

// TestClientTrace proves which functions of a trace are called, and in which order.
func TestClientTrace(t *testing.T) {
	s := scripted(t, answering(okAnswer("good")))
	var mu sync.Mutex
	var calls []string
	call := func(format string, args ...any) {
		mu.Lock()
		calls = append(calls, fmt.Sprintf(format, args...))
		mu.Unlock()
	}
	c := &HostClient{Addr: s.addr(), Trace: &ClientTrace{
		GotConn:   func(_ *Request, conn net.Conn, reused bool, _ time.Duration) { call("conn %v %v", conn != nil, reused) },
		Dialed:    func(addr string, _ net.Conn, _ time.Duration, err error) { call("dialed %v %v", addr == s.addr(), err) },
		Wrote:     func(_ *Request, err error) { call("wrote %v", err) },
		FirstByte: func(*Request) { call("first") },
		Done:      func(_ *Request, resp *Response, n int, err error) { call("done %d %d %v", resp.StatusCode(), n, err) },
	}}
	defer c.CloseIdleConnections()
	for range 2 {
		if _, err := getFrom(c, "GET", s.url()); err != nil {
			t.Fatal(err)
		}
	}
	want := "dialed true <nil>, conn true false, wrote <nil>, first, done 200 1 <nil>, conn true true, wrote <nil>, first, done 200 1 <nil>"
	if got := strings.Join(calls, ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	calls = nil
	c = &HostClient{Addr: s.addr(), IsTLS: true, Trace: &ClientTrace{TLSDone: func(_ string, _ tls.ConnectionState, _ time.Duration, err error) { call("tls %v", err != nil) }}}
	if _, err := getFrom(c, "GET", "https://"+s.addr()+"/"); err == nil || len(calls) != 1 || calls[0] != "tls true" {
		t.Errorf("%v, %v", err, calls)
	}
	c = &HostClient{Addr: s.addr(), Trace: &ClientTrace{}}
	if _, err := getFrom(c, "GET", s.url()); err != nil {
		t.Error(err)
	}
	c.CloseIdleConnections()
}

// TestClientTLS proves that the certificate is verified for the name that was dialed, and
// that the client notices if the server has closed an idle connection.
func TestClientTLS(t *testing.T) {
	cert, key, err := GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	closeIt, closed := make(chan bool), make(chan bool)
	s := scripted(t, func(p *scriptConn, nth int) {
		tc := tls.Server(p.Conn, &tls.Config{Certificates: []tls.Certificate{pair}})
		q := &scriptConn{Conn: tc, s: p.s}
		q.br = p.br
		q.br.Reset(tc)
		for q.request() != nil {
			q.write(okAnswer("good"))
			if nth == 2 {
				<-closeIt
				tc.Close()
				close(closed)
				return
			}
		}
	})
	c := &HostClient{Addr: s.addr(), IsTLS: true}
	if _, err := getFrom(c, "GET", "https://localhost/"); err == nil {
		t.Error("a certificate that nobody vouches for was accepted")
	}
	c = &HostClient{Addr: s.addr(), IsTLS: true, TLSConfig: &tls.Config{InsecureSkipVerify: true}, ReadTimeout: time.Minute}
	defer c.CloseIdleConnections()
	for i := range 3 {
		if resp, err := postTo(c, "https://localhost/", "x"); err != nil || string(resp.Body()) != "good" {
			t.Fatalf("%q, %v", resp.Body(), err)
		}
		if i == 0 {
			close(closeIt)
			<-closed
			awaitDead(c)
		}
	}
	if st := c.PoolStats(); st.Dead != 1 || st.Dials != 2 {
		t.Errorf("%+v", st)
	}
	if _, err := getFrom(c, "GET", "http://localhost/"); err != ErrHostClientRedirectToDifferentScheme {
		t.Errorf("http to a client for https: %v", err)
	}
}

// TestClientLazyDeadlines proves that a deadline of an earlier exchange, which stays set
// on the connection, does no harm when it passes.
func TestClientLazyDeadlines(t *testing.T) {
	withMoreTime(t, 40*time.Millisecond, func(first time.Duration) error {
		s := scripted(t, func(p *scriptConn, _ int) {
			for i := 0; p.request() != nil; i++ {
				time.Sleep(time.Duration(i) * first / 2)
				p.write(okAnswer("good"))
			}
		})
		c := &HostClient{Addr: s.addr(), MaxConns: 1}
		defer c.CloseIdleConnections()
		req, resp := &Request{}, &Response{}
		req.SetRequestURI(s.url())
		for i, limit := range []time.Duration{first, time.Hour, 0, time.Hour, 0} {
			req.SetTimeout(limit)
			if err := c.Do(req, resp); err != nil {
				if i == 0 && err == ErrTimeout {
					return err
				}
				t.Errorf("with limit %v: %v", limit, err)
			}
		}
		if s.accepted.Load() != 1 {
			t.Errorf("%d connections were made", s.accepted.Load())
		}
		return nil
	})
}

// TestClientNoAddr proves that a client without an address returns an error that says so.
func TestClientNoAddr(t *testing.T) {
	if _, err := getFrom(&HostClient{}, "GET", "http://example.com/"); err != errNoAddr {
		t.Error(err)
	}
}
