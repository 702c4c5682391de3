package h2

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// Requests are distributed by the streams that run, although all of a client's requests share
// one connection.
func TestLBClientHTTP2Balances(t *testing.T) {
	release := make(chan struct{})
	cc := &gale.LBClient{Timeout: time.Minute}
	var all []*gale.HostClient
	var counts []*atomic.Int64
	for range 3 {
		addr, asked := harness.CountingH2Server(t, release, new(atomic.Int32))
		c := &gale.HostClient{Addr: addr, HTTP2: gale.HTTP2Only}
		defer c.CloseIdleConnections()
		all, counts = append(all, c), append(counts, asked)
		cc.Clients = append(cc.Clients, c)
	}
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			req, resp := &gale.Request{}, &gale.Response{}
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
			time.Sleep(time.Millisecond) // between two looks
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
	good, asked := harness.CountingH2Server(t, nil, new(atomic.Int32))
	sick, sickAsked := harness.CountingH2Server(t, nil, &status)
	var reset, refused atomic.Int64
	bad := peers.NewH2Peer(t, func(c *peers.H2PeerConn, _ int) {
		c.Hello()
		for r := c.Request(); r != nil; r = c.Request() {
			reset.Add(1)
			_ = c.Fr.WriteRSTStream(r.StreamID, 2)
		}
	})
	refuses := peers.NewH2Peer(t, func(c *peers.H2PeerConn, _ int) {
		c.Hello()
		for r := c.Request(); r != nil; r = c.Request() {
			if refused.Add(1)%2 == 1 {
				_ = c.Fr.WriteRSTStream(r.StreamID, 7)
				continue
			}
			c.Answer(r.StreamID, "ok")
		}
	})
	client := func(addr string) *gale.HostClient {
		c := &gale.HostClient{Addr: addr, HTTP2: gale.HTTP2Only}
		t.Cleanup(c.CloseIdleConnections)
		return c
	}
	do := func(cc *gale.LBClient, n int) (failed int) {
		for range n {
			for _, c := range cc.Clients {
				await.Until(t, "no request", func() bool { return c.PendingRequests() == 0 }) // a stream may end after its call
			}
			req := &gale.Request{}
			req.SetRequestURI("http://h/")
			req.Header.SetMethod("POST")
			if cc.Do(req, &gale.Response{}) != nil {
				failed++
			}
		}
		return failed
	}
	cc := &gale.LBClient{Timeout: time.Minute, Clients: []gale.BalancingClient{client(good), client(bad.Addr)}}
	if failed := do(cc, 20); failed != 1 || reset.Load() != 1 || asked.Load() != 19 {
		t.Errorf("%d failed, the one that resets got %d, the other %d", failed, reset.Load(), asked.Load())
	}

	status.Store(503)
	asked.Store(0)
	cc = &gale.LBClient{Timeout: time.Minute, Clients: []gale.BalancingClient{client(good), client(sick)},
		HealthCheck: func(_ *gale.Request, resp *gale.Response, err error) bool {
			return err == nil && resp.StatusCode() < 500
		}}
	if failed := do(cc, 20); failed != 0 || sickAsked.Load() != 1 || asked.Load() != 19 {
		t.Errorf("%d failed, the sick one got %d, the other %d", failed, sickAsked.Load(), asked.Load())
	}

	cc = &gale.LBClient{Timeout: time.Minute, Clients: []gale.BalancingClient{client(refuses.Addr)}}
	if failed := do(cc, 5); failed != 0 || refused.Load() != 10 {
		t.Errorf("%d of those that were refused failed, %d attempts", failed, refused.Load())
	}

	release := make(chan struct{})
	defer close(release)
	waits, waitsAsked := harness.CountingH2Server(t, release, new(atomic.Int32))
	c := client(waits)
	cc = &gale.LBClient{Timeout: time.Minute, Clients: []gale.BalancingClient{c}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		req := &gale.Request{}
		req.SetRequestURI("http://h/wait")
		done <- cc.DoContext(ctx, req, &gale.Response{})
	}()
	await.Until(t, "the request to arrive", func() bool { return waitsAsked.Load() > 0 })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if n := door.LoadOf(cc); n != 0 {
		t.Errorf("load %d after a request that was cancelled", n)
	}
	if failed := do(cc, 3); failed != 0 || c.PoolStats().Dials != 1 {
		t.Errorf("after it %d of 3 failed, %+v", failed, c.PoolStats())
	}
}
