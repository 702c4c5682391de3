package gale

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// lbH2Server is a server of HTTP/2 without TLS that counts requests. Requests to /wait are
// answered when release is closed.
func lbH2Server(t *testing.T, release <-chan struct{}, status *atomic.Int32) (addr string, asked *atomic.Int64) {
	asked = new(atomic.Int64)
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{HTTP2: HTTP2Config{H2C: true}, Logger: log.New(io.Discard, "", 0), Handler: func(ctx *RequestCtx) {
		asked.Add(1)
		if string(ctx.Path()) == "/wait" {
			<-release
		}
		if n := int(status.Load()); n != 0 {
			ctx.SetStatusCode(n)
		}
	}}
	go s.Serve(ln)
	t.Cleanup(func() { s.Close() })
	return ln.Addr().String(), asked
}

// Requests are distributed by the streams that run, although all of a client's requests share
// one connection.
func TestLBClientHTTP2Balances(t *testing.T) {
	release := make(chan struct{})
	cc := &LBClient{Timeout: time.Minute}
	var all []*HostClient
	var counts []*atomic.Int64
	for range 3 {
		addr, asked := lbH2Server(t, release, new(atomic.Int32))
		c := &HostClient{Addr: addr, HTTP2: HTTP2Only}
		defer c.CloseIdleConnections()
		all, counts = append(all, c), append(counts, asked)
		cc.Clients = append(cc.Clients, c)
	}
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			req, resp := &Request{}, &Response{}
			req.SetRequestURI("http://h/wait")
			if err := cc.Do(req, resp); err != nil {
				t.Error(err)
			}
		})
		for { // one after the other, so that the counts are exact
			n := 0
			for _, asked := range counts {
				n += int(asked.Load())
			}
			if n == i+1 {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	for i, c := range all {
		if n, s := c.PendingRequests(), c.PoolStats(); n != 10 || counts[i].Load() != 10 || s.Open != 1 {
			t.Errorf("client %d: %d requests, %d pending, %+v", i, counts[i].Load(), n, s)
		}
	}
	close(release)
	wg.Wait()
	for i, c := range all {
		if n := c.PendingRequests(); n != 0 {
			t.Errorf("client %d: %d pending at the end", i, n)
		}
	}
}

// Failures over HTTP/2 count as such: a server that resets streams gets fewer requests, and so
// does one whose status codes HealthCheck refuses. A context that ends is not a failure. A
// request that a server refuses is sent again by its client.
func TestLBClientHTTP2Health(t *testing.T) {
	var status atomic.Int32
	good, asked := lbH2Server(t, nil, new(atomic.Int32))
	sick, sickAsked := lbH2Server(t, nil, &status)
	var reset, refused atomic.Int64
	bad := newH2Peer(t, func(c *h2PeerConn, _ int) {
		c.hello()
		for r := c.request(); r != nil; r = c.request() {
			reset.Add(1)
			_ = c.fr.WriteRSTStream(r.StreamID, 2)
		}
	})
	refuses := newH2Peer(t, func(c *h2PeerConn, _ int) {
		c.hello()
		for r := c.request(); r != nil; r = c.request() {
			if refused.Add(1)%2 == 1 {
				_ = c.fr.WriteRSTStream(r.StreamID, 7)
				continue
			}
			c.answer(r.StreamID, "ok")
		}
	})
	client := func(addr string) *HostClient {
		c := &HostClient{Addr: addr, HTTP2: HTTP2Only}
		t.Cleanup(c.CloseIdleConnections)
		return c
	}
	do := func(cc *LBClient, n int) (failed int) {
		for range n {
			req := &Request{}
			req.SetRequestURI("http://h/")
			req.Header.SetMethod("POST")
			if cc.Do(req, &Response{}) != nil {
				failed++
			}
		}
		return failed
	}
	cc := &LBClient{Timeout: time.Minute, Clients: []BalancingClient{client(good), client(bad.addr)}}
	if failed := do(cc, 20); failed != 1 || reset.Load() != 1 || asked.Load() != 19 {
		t.Errorf("%d failed, the one that resets got %d, the other %d", failed, reset.Load(), asked.Load())
	}

	status.Store(503)
	asked.Store(0)
	cc = &LBClient{Timeout: time.Minute, Clients: []BalancingClient{client(good), client(sick)},
		HealthCheck: func(_ *Request, resp *Response, err error) bool { return err == nil && resp.StatusCode() < 500 }}
	if failed := do(cc, 20); failed != 0 || sickAsked.Load() != 1 || asked.Load() != 19 {
		t.Errorf("%d failed, the sick one got %d, the other %d", failed, sickAsked.Load(), asked.Load())
	}

	cc = &LBClient{Timeout: time.Minute, Clients: []BalancingClient{client(refuses.addr)}}
	if failed := do(cc, 5); failed != 0 || refused.Load() != 10 {
		t.Errorf("%d of those that were refused failed, %d attempts", failed, refused.Load())
	}

	release := make(chan struct{})
	defer close(release)
	waits, waitsAsked := lbH2Server(t, release, new(atomic.Int32))
	c := client(waits)
	cc = &LBClient{Timeout: time.Minute, Clients: []BalancingClient{c}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		req := &Request{}
		req.SetRequestURI("http://h/wait")
		done <- cc.DoContext(ctx, req, &Response{})
	}()
	for waitsAsked.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if n := (*cc.members.Load())[0].load(); n != 0 {
		t.Errorf("load %d after a request that was cancelled", n)
	}
	if failed := do(cc, 3); failed != 0 || c.PoolStats().Dials != 1 {
		t.Errorf("after it %d of 3 failed, %+v", failed, c.PoolStats())
	}
}
