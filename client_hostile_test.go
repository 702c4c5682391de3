package gale

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"
)

// The name for TLS verification is the same for an address without a port as for one with
// a port.
func TestHostClientTLSWithoutPort(t *testing.T) {
	oh := errors.New("oh")
	for _, addr := range []string{"example.org", "example.org:443", "[::1]", "::1"} {
		c := &HostClient{Addr: addr, IsTLS: true, Dial: func(string) (net.Conn, error) { return nil, oh }}
		req := &Request{}
		req.SetRequestURI("https://example.org/")
		err := c.Do(req, nil)
		if want := addr != "::1"; errors.Is(err, oh) != want {
			t.Errorf("%s: got %v, dialing is %v", addr, err, want)
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
	k := newCall(context.Background(), 0)
	first, err := c.acquire(&k)
	if err != nil {
		t.Fatal(err)
	}
	if !first.conn.CanCheck() {
		t.Skip("connections can't be checked here")
	}
	handed := make(chan *clientConn)
	go func() {
		k := newCall(context.Background(), 0)
		cc, err := c.acquire(&k)
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
		time.Sleep(time.Millisecond)
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
	pc := pipeServer(t, pipeEcho)
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
	time.Sleep(timeout + 10*time.Millisecond)
	if _, err := cc.Conn().Write([]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	var resp Response
	if err := resp.Read(bufio.NewReader(cc.Conn())); err != nil {
		t.Fatalf("an old deadline is still there: %v", err)
	}
}

// A dialer that panics costs no place in the pool, nor the process.
func TestHostClientDialPanics(t *testing.T) {
	for _, timeout := range []time.Duration{0, time.Minute} {
		c := &HostClient{Addr: "example.org", MaxConns: 1, Dial: func(string) (net.Conn, error) { panic("oh") }}
		for range 2 {
			req := pipeReq("GET")
			req.SetTimeout(timeout)
			err := c.Do(req, nil)
			if err == nil || !strings.Contains(err.Error(), "panicked: oh") {
				t.Errorf("got %v, want the panic", err)
			}
		}
		if n := c.ConnsCount(); n != 0 {
			t.Errorf("%d connections are counted", n)
		}
	}
}

// Nor does a dialer that a tunnel uses.
func TestClientProxyDialPanics(t *testing.T) {
	c := &Client{
		Dial: func(string) (net.Conn, error) { panic("oh") },
		Proxy: func(*URI) (*url.URL, error) {
			return &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, nil
		},
	}
	for range 2 {
		req := &Request{}
		req.SetRequestURI("https://example.org/")
		if err := c.Do(req, nil); err == nil || !strings.Contains(err.Error(), "panicked: oh") {
			t.Errorf("got %v, want the panic", err)
		}
	}
}
