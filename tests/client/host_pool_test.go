package client

import (
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestPoolWaitersFIFO proves that callers that wait for a connection get one in the order
// in which they came, from the callers before them.
func TestPoolWaitersFIFO(t *testing.T) {
	s := peers.StartScript(t, peers.Answering(peers.OkAnswer("good")))
	c := &gale.HostClient{Addr: s.Addr(), MaxConns: 1, MaxConnWaitTimeout: time.Minute}
	defer c.CloseIdleConnections()
	cc, err := c.AcquireConn(0, false)
	if err != nil {
		t.Fatal(err)
	}
	const n = 20
	order := make(chan int, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Add(1)
		go func() {
			defer wg.Done()
			cc, err := c.AcquireConn(0, false)
			if err != nil {
				t.Error(err)
				return
			}
			order <- i
			if i%2 == 0 {
				c.ReleaseConn(cc)
			} else {
				c.CloseConn(cc) // the next one makes a connection
			}
		}()
		<-peers.Poll(func() bool { return c.PoolStats().Waiting == i+1 })
	}
	c.ReleaseConn(cc)
	wg.Wait()
	for i := range n {
		if got := <-order; got != i {
			t.Fatalf("waiter %d was served in place %d", got, i)
		}
	}
	if st := c.PoolStats(); st.Waits != n || st.Open > 1 || st.Dials != n/2 {
		t.Errorf("%+v", st)
	}
}

// TestPoolWaiterGivesUp proves that a waiter that gives up doesn't take a
// connection with it.
func TestPoolWaiterGivesUp(t *testing.T) {
	s := peers.StartScript(t, peers.Answering(peers.OkAnswer("good")))
	c := &gale.HostClient{Addr: s.Addr(), MaxConns: 1, MaxConnWaitTimeout: time.Minute}
	defer c.CloseIdleConnections()
	for range 200 {
		cc, err := c.AcquireConn(0, false)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() {
			cc, err := c.AcquireConn(100*time.Microsecond, false)
			if err == nil {
				c.ReleaseConn(cc)
			}
			done <- err
		}()
		time.Sleep(100 * time.Microsecond) // about until the waiter gives up
		c.ReleaseConn(cc)
		if err := <-done; err != nil && err != gale.ErrTimeout {
			t.Fatal(err)
		}
		if st := c.PoolStats(); st.Open != 1 || st.Idle != 1 || st.Waiting != 0 {
			t.Fatalf("%+v", st)
		}
	}
}

// TestPoolConnDuration proves that the last request on a connection that is too old tells
// the server to close it.
func TestPoolConnDuration(t *testing.T) {
	var closing atomic.Int64
	s := peers.StartScript(t, func(p *peers.ScriptConn, _ int) {
		for req := p.Request(); req != nil; req = p.Request() {
			if req.Close {
				closing.Add(1)
			}
			p.Say(peers.OkAnswer("good"))
		}
	})
	c := &gale.HostClient{Addr: s.Addr(), MaxConnDuration: time.Nanosecond}
	req := &gale.Request{}
	req.SetRequestURI(s.URL())
	for range 3 {
		if err := c.Do(req, nil); err != nil {
			t.Fatal(err)
		}
	}
	// The first request of a connection may still be in time.
	if n := closing.Load(); n == 0 || req.ConnectionClose() {
		t.Errorf("%d requests said close; it stays in the request: %v", n, req.ConnectionClose())
	}
}

// TestPoolMany lets many goroutines use few connections, some of which break.
func TestPoolMany(t *testing.T) {
	s := peers.StartScript(t, func(p *peers.ScriptConn, nth int) {
		for i := 0; p.Request() != nil; i++ {
			if nth%3 == 0 && i == 5 {
				return
			}
			p.Say(peers.OkAnswer("good"))
		}
	})
	c := &gale.HostClient{Addr: s.Addr(), MaxConns: 4, MaxConnWaitTimeout: time.Minute}
	var wg sync.WaitGroup
	for range 32 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 50 {
				if resp, err := harness.GetFrom(c, "GET", s.URL()); err != nil && err != gale.ErrConnectionClosed || err == nil && string(resp.Body()) != "good" {
					t.Errorf("%q, %v", resp.Body(), err)
				}
			}
		}()
	}
	wg.Wait()
	if st := c.PoolStats(); st.Open != st.Idle || st.Open > 4 || st.Waiting != 0 {
		t.Errorf("%+v", st)
	}
	c.CloseIdleConnections()
}

// TestPoolDialErrors proves that a failed dial frees its place in the pool, also for
// callers that wait.
func TestPoolDialErrors(t *testing.T) {
	boom := &net.OpError{Op: "dial", Err: net.ErrClosed}
	c := &gale.HostClient{Addr: "example.com", MaxConns: 2, MaxConnWaitTimeout: time.Minute, Dial: func(string) (net.Conn, error) {
		time.Sleep(time.Millisecond) // a slow dial: callers wait for a place
		return nil, boom
	}}
	var wg sync.WaitGroup
	for range 20 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if _, err := harness.GetFrom(c, "GET", "http://example.com/"); err != boom {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	if st := c.PoolStats(); st.Open != 0 || st.Dials != 20 || st.DialErrors != 20 {
		t.Errorf("%+v", st)
	}
}

// The last request of a connection keeps its connection options, such as those that ask
// for another protocol.
func TestMaxConnDurationKeepsOptions(t *testing.T) {
	for _, test := range []struct{ own, want string }{
		{"", "close"},
		{"close", "close"},
		{"TE", "TE"},
		{"Upgrade", "Upgrade"},
	} {
		var got []string
		s := peers.StartScript(t, func(p *peers.ScriptConn, _ int) {
			for req := p.Request(); req != nil; req = p.Request() {
				got = append(got, req.Header.Get("Connection"))
				p.Say(peers.OkAnswer("a"))
			}
		})
		c := &gale.HostClient{Addr: s.Addr(), MaxConnDuration: time.Nanosecond}
		var req gale.Request
		req.SetRequestURI(s.URL())
		req.Header.Set(gale.HeaderConnection, test.own)
		for range 3 { // after the first one, the connection may still be used for another
			if err := c.Do(&req, nil); err != nil {
				t.Fatal(err)
			}
			if own := string(req.Header.Peek(gale.HeaderConnection)); own != test.own {
				t.Errorf("%q: %q is left in the request", test.own, own)
			}
		}
		s.Stop()
		if !slices.Contains(got, test.want) || s.Accepted.Load() < 2 {
			t.Errorf("%q: sent %q over %d connections", test.own, got, s.Accepted.Load())
		}
		for _, v := range got {
			if v != test.own && v != test.want {
				t.Errorf("%q: sent %q", test.own, v)
			}
		}
	}
}
