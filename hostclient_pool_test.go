package gale

import (
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale/internal/clock"
)

// TestPoolWaitersFIFO proves that callers that wait for a connection get one in the order
// in which they came, from the callers before them.
func TestPoolWaitersFIFO(t *testing.T) {
	s := scripted(t, answering(okAnswer("good")))
	c := &HostClient{Addr: s.addr(), MaxConns: 1, MaxConnWaitTimeout: time.Minute}
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
		<-poll(func() bool { return c.PoolStats().Waiting == i+1 })
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
	s := scripted(t, answering(okAnswer("good")))
	c := &HostClient{Addr: s.addr(), MaxConns: 1, MaxConnWaitTimeout: time.Minute}
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
		time.Sleep(100 * time.Microsecond)
		c.ReleaseConn(cc)
		if err := <-done; err != nil && err != ErrTimeout {
			t.Fatal(err)
		}
		if st := c.PoolStats(); st.Open != 1 || st.Idle != 1 || st.Waiting != 0 {
			t.Fatalf("%+v", st)
		}
	}
}

// TestPoolLimit proves that MaxConns is obeyed, that it can be changed, and that callers
// get its error whether they may wait or not.
func TestPoolLimit(t *testing.T) {
	s := scripted(t, answering(okAnswer("good")))
	c := &HostClient{Addr: s.addr(), MaxConns: 2}
	var conns []*clientConn
	for range 2 {
		cc, err := c.AcquireConn(0, false)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, cc)
	}
	if _, err := c.AcquireConn(0, false); err != ErrNoFreeConns {
		t.Error(err)
	}
	c.MaxConnWaitTimeout = time.Millisecond
	if _, err := c.AcquireConn(0, false); err != ErrNoFreeConns {
		t.Error(err)
	}
	c.MaxConnWaitTimeout = time.Minute
	got := make(chan error)
	go func() {
		cc, err := c.AcquireConn(0, false)
		if err == nil {
			c.CloseConn(cc)
		}
		got <- err
	}()
	<-poll(func() bool { return c.PoolStats().Waiting == 1 })
	c.SetMaxConns(3)
	if err := <-got; err != nil {
		t.Error(err)
	}
	c.SetMaxConns(1)
	for _, cc := range conns {
		c.ReleaseConn(cc)
	}
	if st := c.PoolStats(); st.Open != 1 || st.Idle != 1 {
		t.Errorf("%+v", st)
	}
	c.CloseIdleConnections()
	if c.ConnsCount() != 0 {
		t.Error("connections are left")
	}
}

// TestPoolStrategy proves which idle connection is taken.
func TestPoolStrategy(t *testing.T) {
	for _, strategy := range []ConnPoolStrategyType{FIFO, LIFO} {
		s := scripted(t, answering(okAnswer("good")))
		c := &HostClient{Addr: s.addr(), ConnPoolStrategy: strategy}
		defer c.CloseIdleConnections()
		var conns [10]*clientConn
		for i := range conns {
			conns[i], _ = c.AcquireConn(0, false)
		}
		for _, cc := range conns {
			c.ReleaseConn(cc)
		}
		for i := range conns {
			cc, err := c.AcquireConn(0, false)
			want := conns[i]
			if strategy == LIFO {
				want = conns[len(conns)-1-i]
			}
			if cc != want || err != nil {
				t.Errorf("strategy %d: another connection was taken in place %d", strategy, i)
			}
		}
	}
}

// TestPoolExpiry proves that idle connections are closed in time, and that no goroutine
// runs when there are none.
func TestPoolExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // fails if a goroutine is left
		c := &HostClient{Addr: "example.com", MaxIdleConnDuration: time.Minute, Dial: func(string) (net.Conn, error) {
			a, b := net.Pipe()
			go answerPipe(b)
			return a, nil
		}}
		for range 3 {
			time.Sleep(40 * time.Second)
			if _, err := getFrom(c, "GET", "http://example.com/"); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(59 * time.Second)
		if st := c.PoolStats(); st.Idle != 1 || st.Expired != 0 || st.Dials != 1 {
			t.Errorf("before the time is over: %+v", st)
		}
		time.Sleep(time.Minute / 2)
		if st := c.PoolStats(); st.Open != 0 || st.Expired != 1 || st.Dials != 1 {
			t.Errorf("when it is: %+v", st)
		}
		c.pool.mu.Lock()
		if c.pool.armed {
			t.Error("the sweeper runs without idle connections")
		}
		c.pool.mu.Unlock()
	})
}

// TestPoolConnDuration proves that the last request on a connection that is too old tells
// the server to close it.
func TestPoolConnDuration(t *testing.T) {
	var closing atomic.Int64
	s := scripted(t, func(p *scriptConn, _ int) {
		for req := p.request(); req != nil; req = p.request() {
			if req.ConnectionClose() {
				closing.Add(1)
			}
			p.write(okAnswer("good"))
		}
	})
	c := &HostClient{Addr: s.addr(), MaxConnDuration: time.Nanosecond}
	req := &Request{}
	req.SetRequestURI(s.url())
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
	s := scripted(t, func(p *scriptConn, nth int) {
		for i := 0; p.request() != nil; i++ {
			if nth%3 == 0 && i == 5 {
				return
			}
			p.write(okAnswer("good"))
		}
	})
	c := &HostClient{Addr: s.addr(), MaxConns: 4, MaxConnWaitTimeout: time.Minute}
	var wg sync.WaitGroup
	for range 32 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 50 {
				if resp, err := getFrom(c, "GET", s.url()); err != nil && err != ErrConnectionClosed || err == nil && string(resp.Body()) != "good" {
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
	c := &HostClient{Addr: "example.com", MaxConns: 2, MaxConnWaitTimeout: time.Minute, Dial: func(string) (net.Conn, error) {
		time.Sleep(time.Millisecond)
		return nil, boom
	}}
	var wg sync.WaitGroup
	for range 20 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if _, err := getFrom(c, "GET", "http://example.com/"); err != boom {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	if st := c.PoolStats(); st.Open != 0 || st.Dials != 20 || st.DialErrors != 20 {
		t.Errorf("%+v", st)
	}
}

// TestConnRing proves that the queue of idle connections behaves like a slice.
func TestConnRing(t *testing.T) {
	var r connRing
	var model []*clientConn
	for i := range 10_000 {
		switch {
		case len(model) == 0 || i*7919%5 < 3:
			cc := &clientConn{served: i}
			r.push(cc)
			model = append(model, cc)
		case i%2 == 0:
			if r.popFront() != model[0] {
				t.Fatal("popFront took another one")
			}
			model = model[1:]
		default:
			if r.popBack() != model[len(model)-1] {
				t.Fatal("popBack took another one")
			}
			model = model[:len(model)-1]
		}
		if r.n != len(model) || r.n > 0 && r.at(0) != model[0] {
			t.Fatal("the queue is another one")
		}
	}
}

// age makes the last use of the pool earlier.
func (p *connPool) age(d time.Duration) {
	p.mu.Lock()
	p.lastUse -= clock.Tick(d)
	p.mu.Unlock()
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
		s := scripted(t, func(p *scriptConn, _ int) {
			for req := p.request(); req != nil; req = p.request() {
				got = append(got, string(req.Header.Peek(HeaderConnection)))
				p.write(okAnswer("a"))
			}
		})
		c := &HostClient{Addr: s.addr(), MaxConnDuration: time.Nanosecond}
		var req Request
		req.SetRequestURI(s.url())
		req.Header.Set(HeaderConnection, test.own)
		for range 3 { // after the first one, the connection may still be used for another
			if err := c.Do(&req, nil); err != nil {
				t.Fatal(err)
			}
			if own := string(req.Header.Peek(HeaderConnection)); own != test.own {
				t.Errorf("%q: %q is left in the request", test.own, own)
			}
		}
		s.stop()
		if !slices.Contains(got, test.want) || s.accepted.Load() < 2 {
			t.Errorf("%q: sent %q over %d connections", test.own, got, s.accepted.Load())
		}
		for _, v := range got {
			if v != test.own && v != test.want {
				t.Errorf("%q: sent %q", test.own, v)
			}
		}
	}
}
