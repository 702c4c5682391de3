package gale

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// TestHTTP2ClientUseless proves that a server whose connections take no request costs a limited
// number of dials.
func TestHTTP2ClientUseless(t *testing.T) {
	for name, tc := range map[string]struct {
		serve func(c *h2PeerConn)
		is    func(error) bool
	}{
		"closed":   {func(c *h2PeerConn) {}, func(err error) bool { return errors.Is(err, ErrConnectionClosed) }},
		"calm":     {func(c *h2PeerConn) { c.hello(); _ = c.fr.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, nil); c.hold() }, isConn(11)},
		"goodbye":  {func(c *h2PeerConn) { c.hello(); _ = c.fr.WriteGoAway(0, http2.ErrCodeNo, nil); c.hold() }, func(err error) bool { return errors.Is(err, ErrConnectionClosed) }},
		"HTTP/1.1": {func(c *h2PeerConn) { _, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") }, func(err error) bool { return strings.Contains(err.Error(), "HTTP/1.1") }},
	} {
		t.Run(name, func(t *testing.T) {
			var conns atomic.Int32
			p := newH2Peer(t, func(c *h2PeerConn, n int) {
				conns.Add(1)
				tc.serve(c)
			})
			c := p.client()
			req, resp := &Request{}, &Response{}
			req.SetRequestURI("http://" + p.addr)
			req.Header.SetMethod("POST")
			if err := c.DoTimeout(req, resp, time.Minute); err == nil || !tc.is(err) {
				t.Errorf("%v", err)
			}
			if n := conns.Load(); n > DefaultMaxIdemponentCallAttempts {
				t.Errorf("%d connections", n)
			}
			await(t, "the connections to end", func() bool { return c.ConnsCount() == 0 })
		})
	}
}

// TestHTTP2ClientDialErrors proves that calls which wait for a dial fail with it, unless it
// ended because of the call that made it.
func TestHTTP2ClientDialErrors(t *testing.T) {
	hs := h2Way{EngineBlock, false}.start(t, &Server{Handler: func(ctx *RequestCtx) { ctx.SetBodyString("good") }})
	own := errors.New("own")
	for name, dial := range map[string]func(ctx context.Context) (net.Conn, error){
		"error":   func(context.Context) (net.Conn, error) { return nil, own },
		"panic":   func(context.Context) (net.Conn, error) { panic("boo") },
		"goexit":  func(context.Context) (net.Conn, error) { runtime.Goexit(); return nil, nil },
		"nothing": func(context.Context) (net.Conn, error) { return nil, nil },
		"cancel": func(ctx context.Context) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			dialing := make(chan struct{})
			proceed := make(chan struct{})
			var dials atomic.Int32
			c := &HostClient{Addr: hs.addr, HTTP2: HTTP2Only, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				if dials.Add(1) > 1 {
					return net.Dial(network, addr)
				}
				close(dialing)
				<-proceed
				return dial(ctx)
			}}
			defer c.CloseIdleConnections()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			results := make(chan error, 11)
			call := func(ctx context.Context) {
				err := errors.New("ended by Goexit")
				defer func() { results <- err }()
				req, resp := &Request{}, &Response{}
				req.SetRequestURI("http://" + hs.addr)
				err = c.DoContext(ctx, req, resp)
			}
			go call(ctx)
			<-dialing
			for range 10 {
				go call(t.Context())
			}
			await(t, "the other calls to wait", func() bool { return c.PoolStats().Waiting == 10 })
			close(proceed)
			if name == "cancel" {
				cancel()
			}
			failed := 0
			for range 11 {
				if err := <-results; err != nil {
					failed++
				}
			}
			if want := map[bool]int{false: 11, true: 1}[name == "cancel"]; failed != want {
				t.Errorf("%d calls failed, want %d", failed, want)
			}
			if n := c.h2.waiting.Load(); n != 0 || c.PendingRequests() != 0 {
				t.Errorf("%d waiting, %d pending", n, c.PendingRequests())
			}
			if name != "cancel" {
				if resp := mustFetch(t, c, "GET", "http://"+hs.addr, ""); string(resp.Body()) != "good" {
					t.Errorf("%q", resp.Body())
				}
			}
		})
	}
}

// TestHTTP2ClientLateDial proves that a connection whose caller has given up is used by others.
func TestHTTP2ClientLateDial(t *testing.T) {
	hs := h2Way{EngineBlock, false}.start(t, &Server{Handler: func(ctx *RequestCtx) { ctx.SetBodyString("good") }})
	proceed := make(chan struct{})
	c := &HostClient{Addr: hs.addr, HTTP2: HTTP2Only, Dial: func(addr string) (net.Conn, error) {
		<-proceed
		return net.Dial("tcp", addr)
	}}
	defer c.CloseIdleConnections()
	req, resp := &Request{}, &Response{}
	req.SetRequestURI("http://" + hs.addr)
	if err := c.DoTimeout(req, resp, time.Millisecond); err != ErrTimeout {
		t.Fatal(err)
	}
	close(proceed)
	await(t, "the connection", func() bool { return c.IdleConnsCount() == 1 })
	if resp := mustFetch(t, c, "GET", "http://"+hs.addr, ""); string(resp.Body()) != "good" {
		t.Errorf("%q", resp.Body())
	}
	if s := c.PoolStats(); s.Dials != 1 {
		t.Errorf("%+v", s)
	}
}

// TestHTTP2ClientWaiters lets many calls wait for few streams: all are answered, in any case
// of some that give up.
func TestHTTP2ClientWaiters(t *testing.T) {
	for _, way := range clearWays() {
		hs := way.start(t, &Server{HTTP2: HTTP2Config{MaxStreams: 3}, Handler: func(ctx *RequestCtx) {
			time.Sleep(100 * time.Microsecond)
			ctx.SetBodyString("good")
		}})
		c := &HostClient{Addr: hs.addr, HTTP2: HTTP2Only, MaxConns: 2, MaxConnWaitTimeout: time.Minute}
		var wg sync.WaitGroup
		var late atomic.Int32
		for i := range 100 {
			wg.Go(func() {
				for range 10 {
					if i%5 > 0 {
						mustFetch(t, c, "GET", hs.url("/"), "")
						continue
					}
					req, resp := &Request{}, &Response{}
					req.SetRequestURI(hs.url("/"))
					switch err := c.DoTimeout(req, resp, 500*time.Microsecond); err {
					case nil:
					case ErrTimeout:
						late.Add(1)
					default:
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if n := c.h2.waiting.Load(); n != 0 || c.PendingRequests() != 0 || c.ConnsCount() > 2 {
			t.Errorf("%d waiting, %d pending, %d connections", n, c.PendingRequests(), c.ConnsCount())
		}
		c.CloseIdleConnections()
	}
}

// TestHTTP2ClientAddresses proves that several addresses are used in turns, with a connection
// for each.
func TestHTTP2ClientAddresses(t *testing.T) {
	var addrs []string
	var counts [3]atomic.Int32
	for i := range counts {
		hs := h2Way{EngineBlock, false}.start(t, &Server{Handler: func(*RequestCtx) { counts[i].Add(1) }})
		addrs = append(addrs, hs.addr)
	}
	c := &HostClient{Addr: strings.Join(addrs, ","), HTTP2: HTTP2Only}
	defer c.CloseIdleConnections()
	for range 30 {
		mustFetch(t, c, "GET", "http://any/", "")
	}
	for i := range counts {
		if n := counts[i].Load(); n < 8 || n > 12 {
			t.Errorf("server %d got %d requests", i, n)
		}
	}
	if s := c.PoolStats(); s.Dials != 3 {
		t.Errorf("%+v", s)
	}
}

// TestHTTP2ClientConnAge proves that a connection gets no request after MaxConnDuration, nor
// after one that says Connection: close.
func TestHTTP2ClientConnAge(t *testing.T) {
	hs := h2Way{EngineBlock, false}.start(t, &Server{Handler: func(ctx *RequestCtx) { fmt.Fprint(ctx, ctx.ConnID()) }})
	c := &HostClient{Addr: hs.addr, HTTP2: HTTP2Only, MaxConnDuration: time.Hour}
	defer c.CloseIdleConnections()
	get := func() string { return string(mustFetch(t, c, "GET", hs.url("/"), "").Body()) }
	first := get()
	if get() != first {
		t.Error("another connection before the time")
	}
	hc := c.h2.first.Load()
	hc.mu.Lock()
	hc.cc.created -= 2 * 3600e9
	hc.mu.Unlock()
	second := get()
	if second == first {
		t.Error("the same connection after the time")
	}
	req, resp := &Request{}, &Response{}
	req.SetRequestURI(hs.url("/"))
	req.SetConnectionClose()
	if err := c.Do(req, resp); err != nil || string(resp.Body()) != second {
		t.Errorf("%q, %v", resp.Body(), err)
	}
	if get() == second {
		t.Error("the same connection after Connection: close")
	}
	await(t, "the old connections to end", func() bool { return c.ConnsCount() == 1 })
}

// TestHTTP2ClientIdleEnd proves that a connection that the server has ended while it was idle
// isn't used.
func TestHTTP2ClientIdleEnd(t *testing.T) {
	for _, polite := range []bool{false, true} {
		ends := make(chan struct{})
		p := newH2Peer(t, func(c *h2PeerConn, n int) {
			c.hello()
			c.answer(c.request().StreamID, "good")
			<-ends
			if polite {
				_ = c.fr.WriteGoAway(c.last, http2.ErrCodeNo, nil)
				c.hold()
			}
		})
		c := p.client()
		mustFetch(t, c, "POST", "http://"+p.addr, "")
		ends <- struct{}{}
		await(t, "the connection to end", func() bool { return c.ConnsCount() == 0 })
		mustFetch(t, c, "POST", "http://"+p.addr, "")
		close(ends)
		if s := c.PoolStats(); s.Dials != 2 {
			t.Errorf("%+v", s)
		}
	}
}
