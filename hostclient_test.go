package gale

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/msg"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

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
	s := peers.StartScript(t, func(p *peers.ScriptConn, nth int) {
		tc := tls.Server(p.Conn, &tls.Config{Certificates: []tls.Certificate{pair}})
		q := &peers.ScriptConn{Conn: tc, S: p.S}
		q.Br = p.Br
		q.Br.Reset(tc)
		for q.Request() != nil {
			q.Say(peers.OkAnswer("good"))
			if nth == 2 {
				<-closeIt
				tc.Close()
				close(closed)
				return
			}
		}
	})
	c := &HostClient{Addr: s.Addr(), IsTLS: true}
	if _, err := getFrom(c, "GET", "https://localhost/"); err == nil {
		t.Error("a certificate that nobody vouches for was accepted")
	}
	c = &HostClient{Addr: s.Addr(), IsTLS: true, TLSConfig: &tls.Config{InsecureSkipVerify: true}, ReadTimeout: time.Minute}
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

// TestForwardedUpgrade proves that a request with Upgrade goes to a proxy over HTTP/1.1, which is all
// that such a client speaks to it, whatever HTTP2 says and whether it is the first request or not.
func TestForwardedUpgrade(t *testing.T) {
	s := peers.StartScript(t, peers.Answering(peers.OkAnswer("good")))
	for _, mode := range []HTTP2Mode{HTTP2Auto, HTTP2Only} {
		c := &HostClient{Addr: s.Addr(), HTTP2: mode, forward: true}
		for i := range 2 {
			req, resp := &Request{}, &Response{}
			req.SetRequestURI("http://a.test/")
			req.Header.Set("Upgrade", "x")
			if err := c.Do(req, resp); err != nil || string(resp.Body()) != "good" {
				t.Errorf("HTTP2 %v, request %d: %v, %q", mode, i, err, resp.Body())
			}
		}
		c.CloseIdleConnections()
	}
}

// TestOldestCallFirst proves that a call waits, though there is room, if others wait that have come
// before it, and that they get the room.
func TestOldestCallFirst(t *testing.T) {
	lines := map[HTTP2Mode]func(c *HostClient) *waiterList{
		HTTP2Off:  func(c *HostClient) *waiterList { return &c.pool.line },
		HTTP2Only: func(c *HostClient) *waiterList { return &c.pool.shared.line },
	}
	for mode, of := range lines {
		c := &HostClient{MaxConns: 1, MaxConnWaitTimeout: time.Minute, HTTP2: mode}
		line := of(c)
		c.speaks()
		c.pool.open = 1
		var ks [2]call
		_, first := c.reserve(&ks[0], line)
		c.MaxConns = 2 // the calls that wait aren't told yet
		_, second := c.reserve(&ks[1], line)
		if first == nil || second == nil {
			t.Errorf("HTTP2 %d: the calls wait: %v, %v", mode, first != nil, second != nil)
			continue
		}
		c.SetMaxConns(2)
		if got := c.await(&ks[0], first); got.kind != roomDial && got.kind != roomLead {
			t.Errorf("HTTP2 %d: the first call got %+v", mode, got)
		}
		if second.line != line || line.n != 1 || c.pool.waiting.Load() != 1 {
			t.Errorf("HTTP2 %d: %d calls are in the line, %d wait", mode, line.n, c.pool.waiting.Load())
		}
	}
}

// TestPoolLimit proves that MaxConns is obeyed, that it can be changed, and that callers
// get its error whether they may wait or not.
func TestPoolLimit(t *testing.T) {
	s := peers.StartScript(t, peers.Answering(peers.OkAnswer("good")))
	c := &HostClient{Addr: s.Addr(), MaxConns: 2}
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
	<-peers.Poll(func() bool { return c.PoolStats().Waiting == 1 })
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
		s := peers.StartScript(t, peers.Answering(peers.OkAnswer("good")))
		c := &HostClient{Addr: s.Addr(), ConnPoolStrategy: strategy}
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

// TestPoolUnknownStrategy proves that a strategy that doesn't exist is an error as soon as there is an
// idle connection, also for a call that waits.
func TestPoolUnknownStrategy(t *testing.T) {
	s := peers.StartScript(t, peers.Answering(peers.OkAnswer("good")))
	c := &HostClient{Addr: s.Addr(), ConnPoolStrategy: LIFO + 1, MaxConns: 1, MaxConnWaitTimeout: time.Minute}
	cc, err := c.AcquireConn(0, false)
	if err != nil {
		t.Fatal("a new connection:", err)
	}
	waits := make(chan error)
	go func() {
		_, err := c.AcquireConn(0, false)
		waits <- err
	}()
	for c.PoolStats().Waiting == 0 {
		runtime.Gosched()
	}
	c.ReleaseConn(cc)
	if err := <-waits; err != ErrConnPoolStrategyNotImpl {
		t.Errorf("the call that waited got %v", err)
	}
	if _, err := c.AcquireConn(0, false); err != ErrConnPoolStrategyNotImpl {
		t.Errorf("a later call got %v", err)
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
			time.Sleep(40 * time.Second) // by the clock of the bubble
			if _, err := getFrom(c, "GET", "http://example.com/"); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(59 * time.Second) // by the clock of the bubble
		if st := c.PoolStats(); st.Idle != 1 || st.Expired != 0 || st.Dials != 1 {
			t.Errorf("before the time is over: %+v", st)
		}
		time.Sleep(time.Minute / 2) // by the clock of the bubble
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

// TestWireRing proves that the queue of idle wires behaves like a slice.
func TestWireRing(t *testing.T) {
	var r wireRing
	var model []wire
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

// TestPoolReplaceFails proves that a call waits no longer than it must when a call before it
// finds that its idle connections are dead, and gets no other one in their place.
func TestPoolReplaceFails(t *testing.T) {
	acquire := func(c *HostClient, timeout time.Duration) error {
		cc, err := c.AcquireConn(timeout, false)
		if err == nil {
			c.CloseConn(cc)
		}
		return err
	}
	do := func(c *HostClient, timeout time.Duration) error {
		req := &Request{}
		req.SetRequestURI("http://h/")
		req.SetConnectionClose()
		req.SetTimeout(timeout)
		return c.Do(req, nil)
	}
	rows := []struct {
		name    string
		timeout time.Duration // of the first call
		dial    func()        // what its dial does, instead of a connection
	}{
		{"the dial fails", 0, func() {}},
		{"the dial panics", 0, func() { panic("dial") }},
		{"the dial ends the goroutine", 0, runtime.Goexit},
		{"the call ends before its dial fails", time.Second, func() {}},
		{"the call ends before its dial has a connection", time.Second, nil},
	}
	for how, call := range map[string]func(c *HostClient, timeout time.Duration) error{"AcquireConn": acquire, "Do": do} {
		for _, row := range rows {
			for conns := 1; conns <= 2; conns++ {
				t.Run(fmt.Sprintf("%s: %s, %d dead", how, row.name, conns), func(t *testing.T) {
					t.Parallel()
					s := peers.StartScript(t, peers.Answering(peers.OkAnswer("good")))
					dials, blocks := atomic.Int32{}, make(chan struct{})
					c := &HostClient{MaxConns: conns, MaxConnWaitTimeout: time.Minute}
					c.Dial = func(string) (net.Conn, error) {
						if int(dials.Add(1)) == conns+1 {
							<-blocks
							if row.dial != nil {
								row.dial()
								return nil, errors.New("no connection")
							}
						}
						return net.Dial("tcp", s.Addr())
					}
					var all []*clientConn
					for range conns {
						cc, err := c.AcquireConn(0, false)
						if err != nil {
							t.Fatal(err)
						}
						all = append(all, cc)
					}
					if !all[0].conn.CanCheck() {
						t.Skip("connections can't be checked here")
					}
					for _, cc := range all {
						if err := cc.Conn().(*net.TCPConn).CloseRead(); err != nil { // as if the server had closed
							t.Fatal(err)
						}
						c.ReleaseConn(cc)
					}
					ended := make(chan struct{})
					go func() {
						defer close(ended)
						if err := call(c, row.timeout); err == nil {
							t.Error("the call got a connection")
						}
					}()
					await.Until(t, "the dial", func() bool { return int(dials.Load()) == conns+1 })
					c.SetMaxConns(1)
					waited := make(chan error)
					go func() { waited <- call(c, 0) }()
					await.Until(t, "a call to wait", func() bool { return c.PoolStats().Waiting == 1 })
					if row.timeout > 0 {
						<-ended
					}
					close(blocks)
					if err := <-waited; err != nil {
						t.Error(err)
					}
					<-ended
					await.Gone(t, "connections", func() bool { c.CloseIdleConnections(); return c.PoolStats().Open == 0 })
				})
			}
		}
	}
}

// TestClientServerRestart proves that a pool full of dead connections in memory, whose
// state can't be checked, costs one attempt, not one for each connection.
func TestClientServerRestart(t *testing.T) {
	var mu sync.Mutex
	var servers []net.Conn
	c := &HostClient{Addr: "example.com", Dial: func(string) (net.Conn, error) {
		a, b := net.Pipe()
		mu.Lock()
		servers = append(servers, b)
		mu.Unlock()
		go answerPipe(b)
		return a, nil
	}}
	defer c.CloseIdleConnections()
	var conns []*clientConn
	for range 20 {
		cc, err := c.AcquireConn(0, false)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, cc)
	}
	for _, cc := range conns {
		c.ReleaseConn(cc)
	}
	mu.Lock()
	for _, b := range servers {
		b.Close()
	}
	mu.Unlock()
	for _, method := range []string{"GET", "POST"} {
		if _, err := getFrom(c, method, "http://example.com/"); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
}

// answerPipe answers all requests on a connection.
func answerPipe(b net.Conn) {
	defer b.Close()
	buf := make([]byte, 4096)
	for {
		n, err := b.Read(buf)
		if err != nil {
			return
		}
		if bytes.HasSuffix(buf[:n], []byte("\r\n\r\n")) {
			if _, err := io.WriteString(b, peers.OkAnswer("good")); err != nil {
				return
			}
		}
	}
}

var _ door.Lent = (*peers.LentBody)(nil)

// The trailer section of a request is taken once, by the sender or when the call returns.
func TestTrailersTakenOnce(t *testing.T) {
	req := AcquireRequest()
	defer ReleaseRequest(req)
	if err := req.Header.AddTrailerValue("X-Sum", "1"); err != nil {
		t.Fatal(err)
	}
	o := h1Sender{req: req, left: msg.LenChunked}
	o.mu.Lock()
	o.takeSection()
	o.mu.Unlock()
	o.handOver()
	if want := "X-Sum: 1\r\n\r\n"; string(o.trailer) != want {
		t.Errorf("%q, want %q", o.trailer, want)
	}
}
