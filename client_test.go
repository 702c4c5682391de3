package gale

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"runtime"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/h1"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/tests/harness/peers"
	"golang.org/x/net/http/httpproxy"
)

// If a server closes each connection or sends bytes before the request, the call fails.
// It doesn't dial forever.
func TestClientNewConnectionOfNoUse(t *testing.T) {
	for _, greeting := range []string{"", "220 ready\r\n"} {
		s := peers.StartScript(t, func(p *peers.ScriptConn, _ int) {
			if greeting != "" {
				p.Say(greeting)
				p.Hold()
			}
		})
		c := &HostClient{Addr: s.Addr(), Dial: func(addr string) (net.Conn, error) {
			if s.Accepted.Load() > 10 {
				return nil, errors.New("enough")
			}
			nc, err := net.Dial("tcp", addr)
			if err != nil {
				return nil, err
			}
			cc := newClientConn(nc, addr)
			if !cc.conn.CanCheck() {
				t.Skip("connections can't be checked here")
			}
			for cc.conn.Alive() { // until the client can see what the server did
				time.Sleep(time.Millisecond) // between two looks
			}
			return nc, nil
		}}
		if _, err := getFrom(c, "GET", s.URL()); err == nil {
			t.Errorf("greeting %q is a response", greeting)
		}
		if n := s.Accepted.Load(); n != 1 {
			t.Errorf("greeting %q: dialed %d times", greeting, n)
		}
	}
}

// A caller that waits for a connection, and gets one that the server has closed
// meanwhile, gets another one.
func TestHostClientHandsOverAlive(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	accepted := make(chan net.Conn)
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- conn
		}
	}()
	c := &HostClient{Addr: ln.Addr().String(), MaxConns: 1, MaxConnWaitTimeout: time.Minute}
	first, err := c.AcquireConn(0, false)
	if err != nil {
		t.Fatal(err)
	}
	if !first.conn.CanCheck() {
		t.Skip("connections can't be checked here")
	}
	handed := make(chan *clientConn)
	go func() {
		cc, err := c.AcquireConn(0, false)
		if err != nil {
			t.Error(err)
		}
		handed <- cc
	}()
	for c.PoolStats().Waiting == 0 {
		runtime.Gosched()
	}
	server := <-accepted
	server.Write([]byte("HTTP/1.1 200 OK\r\n\r\npoison"))
	server.Close()
	for first.conn.Alive() { // it takes one byte of many
		time.Sleep(time.Millisecond) // between two looks
	}
	c.release(first)
	cc := <-handed
	if cc == first || !cc.conn.Alive() {
		t.Error("a dead connection was handed over")
	} else {
		(<-accepted).Close()
	}
	c.discard(cc)
	if s := c.PoolStats(); s.Open != 0 {
		t.Errorf("%d connections are open", s.Open)
	}
}

// A connection that is lent to another RoundTripper has no deadlines of
// earlier requests.
func TestHostClientLendsWithoutDeadline(t *testing.T) {
	pc := pipeServer(t, peers.PipeEcho)
	c := &HostClient{Addr: pc.Addr}
	timeout := 30 * time.Millisecond
	for {
		err := c.DoTimeout(pipeReq("GET"), nil, timeout)
		if err == nil {
			break
		}
		if timeout *= 2; err != ErrTimeout || timeout > 10*time.Second {
			t.Fatal(err)
		}
	}
	cc, err := c.AcquireConn(0, false)
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseConn(cc)
	if cc.served == 0 {
		t.Fatal("the connection isn't the one that was used")
	}
	time.Sleep(timeout + 10*time.Millisecond) // until the deadline of the earlier request has passed
	if _, err := cc.Conn().Write([]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	var resp Response
	if err := resp.Read(bufio.NewReader(cc.Conn())); err != nil {
		t.Fatalf("an old deadline is still there: %v", err)
	}
}

// TestClientTalkingIdle proves that bytes that arrive on an idle connection never become
// an answer: the connection is closed instead of being used again.
func TestClientTalkingIdle(t *testing.T) {
	talk, talked := make(chan bool), make(chan bool)
	s := peers.StartScript(t, func(p *peers.ScriptConn, nth int) {
		p.Request()
		p.Say(peers.OkAnswer("good"))
		if nth == 1 {
			<-talk
			p.Say(peers.OkAnswer("evil"))
			close(talked)
		}
		for p.Request() != nil {
			p.Say(peers.OkAnswer("good"))
		}
	})
	c := &HostClient{Addr: s.Addr()}
	defer c.CloseIdleConnections()
	if _, err := getFrom(c, "GET", s.URL()); err != nil {
		t.Fatal(err)
	}
	close(talk)
	<-talked
	awaitDead(c)
	for range 3 {
		resp, err := getFrom(c, "GET", s.URL())
		if err != nil || string(resp.Body()) != "good" {
			t.Fatalf("%q, %v", resp.Body(), err)
		}
	}
	if st := c.PoolStats(); s.Accepted.Load() != 2 || st.Dead != 1 || st.Open != 1 {
		t.Errorf("%d connections were made, %+v", s.Accepted.Load(), st)
	}
}

// The rules for environment variables are those of net/http.
func TestProxyFromEnvironment(t *testing.T) {
	config := &httpproxy.Config{HTTPProxy: "http://p.test:3128", HTTPSProxy: "q.test:3129", NoProxy: "local.test,.inner.test,10.0.0.0/8,port.test:8080"}
	before := environmentProxy
	environmentProxy = func() func(*url.URL) (*url.URL, error) { return config.ProxyFunc() }
	defer func() { environmentProxy = before }()
	for uri, want := range map[string]string{
		"http://a.test/":         "http://p.test:3128",
		"https://a.test/":        "http://q.test:3129",
		"http://local.test/":     "<nil>",
		"http://sub.local.test/": "<nil>",
		"http://x.inner.test/":   "<nil>",
		"http://10.1.2.3/":       "<nil>",
		"http://11.1.2.3/":       "http://p.test:3128",
		"http://port.test:8080/": "<nil>",
		"http://port.test/":      "http://p.test:3128",
		"http://localhost/":      "<nil>",
		"http://127.0.0.1:8080/": "<nil>",
		"http://[::1]/":          "<nil>",
	} {
		u := AcquireURI()
		if err := u.Parse(nil, []byte(uri)); err != nil {
			t.Fatal(err)
		}
		if p, err := ProxyFromEnvironment(u); err != nil || fmt.Sprint(p) != want {
			t.Errorf("%s: %v %v, want %s", uri, p, err, want)
		}
		ReleaseURI(u)
	}
	config.CGI = true
	u := AcquireURI()
	defer ReleaseURI(u)
	u.SetHost("a.test")
	if p, err := ProxyFromEnvironment(u); err == nil {
		t.Errorf("in a CGI program: %v, want an error", p)
	}
}

// Whatever a program puts into a request, one request is sent or nothing: with a head
// that a strict parser accepts, except for targets and hosts, and a body of the declared
// length.
func FuzzRequestSplitting(f *testing.F) {
	f.Add("GET", "http://example.org/", "X-A", "b", "k", "v", []byte(nil))
	f.Add("POST", "/path?a=b", "Content-Length", "5", "k", "v", []byte("hello"))
	f.Add("GET\r\nX: y", "http://exa mple.org/\r\nHost: b", "X-A\r\n", "b\r\n\r\nGET / HTTP/1.1", "k;=\r\n", "v\r\n", []byte("body"))
	f.Add("PUT", "http://example.org\t/", "Transfer-Encoding", "chunked", "", "", []byte("0\r\n\r\n"))
	f.Add("HEAD", "*", "Host", "a b", "", "", []byte{})
	f.Add("CONNECT", "example.org:443", "Connection", "close", "", "", []byte{})
	f.Add("GET", "http://user:p w@example.org/ HTTP/1.1\n", "Expect", "100-continue", "", "", []byte("x"))
	f.Fuzz(func(t *testing.T, method, uri, name, value, key, cookie string, body []byte) {
		req := &Request{}
		req.SetRequestURI(uri)
		if req.Header.Host() == nil {
			req.Header.SetHost("example.org")
		}
		req.Header.SetMethod(method)
		req.Header.Set(name, value)
		req.Header.Add(name, value)
		req.Header.SetCookie(key, cookie)
		req.Header.SetUserAgent(value)
		req.Header.SetContentType(cookie)
		req.Header.SetReferer(uri)
		req.SetBody(body)
		c := &PipelineClient{Dial: DialFunc(Dial)}
		if err := c.prepare(req); err != nil {
			return
		}
		out, rest, err := req.appendRequest(nil, true)
		if err != nil {
			return
		}
		out = append(out, rest.body...)
		var h msg.RequestHead
		h.Reset()
		n, err := h1.ParseRequest(out, &h, &h1.Limits{})
		if i := bytes.Index(out, []byte("\r\n\r\n")); i < 0 || err == nil && n != i+4 {
			t.Fatalf("the head doesn't end where it should: %q", out)
		} else if err != nil {
			n = i + 4
		}
		lines := bytes.Split(out[:n-4], []byte("\r\n"))
		for i, line := range lines {
			if bytes.ContainsAny(line, "\r\n\x00") || i == 0 && bytes.Count(line, []byte{' '}) != 2 || i > 0 && bytes.IndexByte(line, ':') <= 0 {
				t.Fatalf("a line that isn't one: %q", out)
			}
		}
		if err != nil { // a target, a host or a long method that a server refuses
			if err != h1.ErrTarget && err != h1.ErrHost && err != h1.ErrMethodTooLong {
				t.Fatalf("%v: %q", err, out)
			}
			return
		}
		var b h1.Body
		b.Init(h.ContentLength, nil, nil)
		if h.ContentLength == msg.LenUnknown {
			b.Init(0, nil, nil)
		}
		for left := out[n:]; !b.Done() || len(left) > 0; {
			_, m, done, err := b.Next(left)
			if err != nil || m == 0 && (!done || len(left) > 0) {
				t.Fatalf("%v: more or less than one request: %q", err, out)
			}
			left = left[m:]
		}
	})
}

// serveAt makes Gale serve h at addr in n, with TLS if the port is 443.
func serveAt(t *testing.T, n *peers.Network, addr string, h RequestHandler) {
	t.Helper()
	n.Serve(t, addr, &Server{Handler: h}, GenerateTestCertificate)
}

// getFrom sends a request without a body.
func getFrom(c *HostClient, method, url string) (*Response, error) {
	req, resp := &Request{}, &Response{}
	req.Header.SetMethod(method)
	req.SetRequestURI(url)
	return resp, c.Do(req, resp)
}

// awaitDead waits until c can see that its only idle connection is unusable: the server's
// bytes, or its end of stream, may still be on their way.
func awaitDead(c *HostClient) {
	alive := func() bool {
		c.pool.mu.Lock()
		defer c.pool.mu.Unlock()
		return c.pool.idle.at(0).(*clientConn).conn.Alive()
	}
	for alive() {
		time.Sleep(time.Millisecond) // between two looks
	}
}

// postTo sends a POST with a body.
func postTo(c *HostClient, url, body string) (*Response, error) {
	req, resp := &Request{}, &Response{}
	req.Header.SetMethod("POST")
	req.SetRequestURI(url)
	req.SetBodyString(body)
	return resp, c.Do(req, resp)
}

// peerClient returns a client of the server.
func peerClient(p *peers.H2Peer) *HostClient {
	c := &HostClient{Addr: p.Addr, HTTP2: HTTP2Only}
	p.T.Cleanup(c.CloseIdleConnections)
	return c
}

// mustFetch sends a request and returns the response.
func mustFetch(t *testing.T, c *HostClient, method, url, body string) *Response {
	t.Helper()
	req := &Request{}
	req.Header.SetMethod(method)
	req.SetRequestURI(url)
	req.SetBodyString(body)
	resp := &Response{}
	if err := c.DoTimeout(req, resp, time.Minute); err != nil {
		t.Errorf("%s %s: %v", method, url, err)
	}
	return resp
}

// scriptClient returns a client of the server.
func scriptClient(s *peers.H2Script) *HostClient {
	if s.TLS != nil {
		return &HostClient{Addr: "a.test:443", IsTLS: true, HTTP2: HTTP2On, TLSConfig: &tls.Config{InsecureSkipVerify: true}, Dial: s.Dial}
	}
	return &HostClient{Addr: "a.test:80", HTTP2: HTTP2Only, Dial: s.Dial}
}

// pipeServer serves h until the test ends, and returns a client of it.
func pipeServer(t testing.TB, h peers.PipeHandler) *PipelineClient {
	t.Helper()
	return &PipelineClient{Addr: peers.ServePipes(t, h), Logger: peers.DiscardLog{}}
}

func pipeReq(method string) *Request {
	req := &Request{}
	req.SetRequestURI("http://example.org/")
	req.Header.SetMethod(method)
	return req
}
