package gale

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale/galeutil"
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// withoutHurry lets the time after a drain take as long as it needs, so that a test waits
// only for states.
func withoutHurry(t *testing.T) {
	last, first, age := lastCallFor, firstRequestFor, newFor
	lastCallFor, firstRequestFor, newFor = time.Hour, time.Hour, time.Hour
	t.Cleanup(func() { lastCallFor, firstRequestFor, newFor = last, first, age })
}

// drainClient sends requests, one after the other. It honours `Connection: close`: then
// it goes on with a new connection.
type drainClient struct {
	network, addr string

	nc net.Conn
	br *bufio.Reader
}

func (c *drainClient) send() error {
	if c.nc == nil {
		nc, err := net.Dial(c.network, c.addr)
		if err != nil {
			return err
		}
		nc.SetDeadline(time.Now().Add(3 * time.Minute)) // which only ends a test that hangs
		c.nc, c.br = nc, bufio.NewReader(nc)
	}
	_, err := io.WriteString(c.nc, peers.Get("/"))
	return err
}

func (c *drainClient) read() (closes bool, err error) {
	status, closes, _, _, err := peers.ReadAnswer(c.br)
	if err == nil && status != 200 {
		err = fmt.Errorf("status %d", status)
	}
	if err != nil || closes {
		c.close()
	}
	return closes, err
}

func (c *drainClient) close() {
	if c.nc != nil {
		c.nc.Close()
		c.nc = nil
	}
}

// A drain loses no request of clients that honour close, if it was sent before the drain
// ended: neither on kept-alive connections, nor on new ones, nor on those that wait to be
// accepted. The test sends 10,000 requests. After it nothing is left of the server.
func TestDrainLosesNothing(t *testing.T) {
	withoutHurry(t)
	peers.OnEngines(t, func(t *testing.T, e Engine) {
		check := peers.Settled(t)
		s := &Server{Engine: e, DrainTime: time.Hour, Logger: &peers.Log{}, Handler: func(ctx *RequestCtx) { ctx.SetBodyString("ok") }}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- s.Serve(ln) }()

		clients := gate.Form(160, 40)
		total := int64(race.Fewer(gate.Form(10_000, 3000)))
		var sent, kept, closed atomic.Int64
		var sending sync.RWMutex // a sender holds it, so that no request is on its way when the drain ends
		ends := false
		var wg sync.WaitGroup
		for range clients {
			wg.Go(func() {
				c := &drainClient{network: "tcp", addr: ln.Addr().String()}
				defer c.close()
				for {
					sending.RLock()
					if ends {
						sending.RUnlock()
						return
					}
					err := c.send()
					sending.RUnlock()
					closes := false
					if err == nil {
						closes, err = c.read()
					}
					if err != nil {
						t.Errorf("request %d: %v", sent.Load(), err)
						return
					}
					if closes {
						closed.Add(1)
					} else {
						kept.Add(1)
					}
					sent.Add(1)
					time.Sleep(time.Duration(gate.Rand.Int64N(int64(2 * time.Millisecond)))) // between two requests
				}
			})
		}
		await.Until(t, "the clients to use their connections", func() bool { return kept.Load() >= int64(10*clients) })
		var sleepers []*peers.Conn // they send once more, at the last moment
		for range clients {
			nc, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			sleepers = append(sleepers, peers.NewConn(t, nc))
			sleepers[len(sleepers)-1].WantOpen()
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- s.ShutdownWithContext(ctx) }()
		await.Until(t, fmt.Sprintf("%d requests", total), func() bool { return closed.Load() >= total || t.Failed() })
		sending.Lock()
		ends = true
		for _, c := range sleepers {
			c.Send(peers.Get("/"))
		}
		cancel()
		sending.Unlock()
		for _, c := range sleepers {
			if a := c.Want("GET", 200, "ok"); !a.Close {
				t.Error("the last answer on a kept-alive connection doesn't say close")
			}
			c.Close()
		}
		if err := <-ended; err != nil && err != context.Canceled {
			t.Error(err)
		}
		wg.Wait()
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		check()
		t.Logf("%d answers before the drain, %d in it", kept.Load(), closed.Load())
	})
}

// The same if the drain ends by itself. A request counts if it was sent before that.
func TestDrainEndsInTime(t *testing.T) {
	withoutHurry(t)
	peers.OnEngines(t, func(t *testing.T, e Engine) {
		const drainTime = 500 * time.Millisecond
		ts := startServer(t, &Server{Engine: e, DrainTime: drainTime}, echo)
		var until atomic.Pointer[time.Time]
		var inDrain atomic.Int64
		var wg sync.WaitGroup
		for range 32 {
			wg.Go(func() {
				c := &drainClient{network: "tcp", addr: ts.Addr}
				defer c.close()
				for {
					err := c.send()
					end := until.Load()
					if end != nil && !time.Now().Before(*end) {
						return
					}
					closes := false
					if err == nil {
						closes, err = c.read()
					}
					if err != nil {
						t.Errorf("it was sent in time, and failed: %v", err)
						return
					}
					if closes {
						inDrain.Add(1)
					}
				}
			})
		}
		await.Until(t, "some requests", func() bool { return ts.s.Stats().Requests > 1000 })
		end := time.Now().Add(drainTime)
		until.Store(&end)
		if err := ts.s.Shutdown(); err != nil {
			t.Error(err)
		}
		if time.Now().Before(end) {
			t.Error("the drain was too short")
		}
		wg.Wait()
		if inDrain.Load() == 0 {
			t.Error("no request was answered in the drain; this test tells nothing")
		}
	})
}

// Connections that wait to be accepted when the drain ends are served, also with TLS. They are
// also served, without TLS, if the context of Shutdown ends then: only the call returns.
func TestDrainAcceptsWhatWaits(t *testing.T) {
	withoutHurry(t)
	for _, tt := range []struct {
		kind string
		ends bool // the context ends before anything is accepted
	}{{"tcp", false}, {"tcp", true}, {"unix", false}, {"unix", true}, {"tls", false}} {
		kind := tt.kind
		if kind == "unix" && runtime.GOOS == "windows" {
			continue
		}
		t.Run(fmt.Sprintf("%s/ends=%v", kind, tt.ends), func(t *testing.T) {
			peers.OnEngines(t, func(t *testing.T, e Engine) {
				held := make(chan struct{})
				s := &Server{Engine: e, DrainTime: time.Nanosecond, MaxConnsPerIP: 1 << 20, Logger: &peers.Log{}, Handler: echo}
				s.ConnState = func(_ net.Conn, st ConnState) {
					if st == StateNew {
						<-held
					}
				}
				network, addr := "tcp", "127.0.0.1:0"
				if kind == "unix" {
					network, addr = "unix", filepath.Join(t.TempDir(), "s")
				}
				ln, err := net.Listen(network, addr)
				if err != nil {
					t.Fatal(err)
				}
				addr = ln.Addr().String()
				served := make(chan error, 1)
				go func() {
					if kind != "tls" {
						served <- s.Serve(ln)
						return
					}
					cert, key, err := GenerateTestCertificate("localhost")
					if err != nil {
						t.Error(err)
					}
					served <- s.ServeTLSEmbed(ln, cert, key)
				}()
				serving(t, s, 1)
				// The first connection makes the accepting goroutine wait: without an
				// address at ConnState or for a worker, with an address before that.
				s.perIP.mu.Lock()
				s.workers.mu.Lock()
				n := 50
				if kind == "tls" {
					n = 10 // handshakes take longer
				}
				var wg sync.WaitGroup
				var dialled sync.WaitGroup
				dialled.Add(n)
				for range n {
					wg.Go(func() {
						c, err := net.Dial(network, addr)
						if err != nil {
							dialled.Done()
							t.Error(err)
							return
						}
						defer c.Close()
						c.SetDeadline(time.Now().Add(3 * time.Minute))
						if kind == "tls" {
							dialled.Done()
							c = tls.Client(c, &tls.Config{InsecureSkipVerify: true})
							io.WriteString(c, peers.Get("/"))
						} else {
							io.WriteString(c, peers.Get("/"))
							dialled.Done()
						}
						if status, closes, _, _, err := peers.ReadAnswer(bufio.NewReader(c)); err != nil || status != 200 || !closes {
							t.Errorf("status %d, closes: %v, %v", status, closes, err)
						}
					})
				}
				dialled.Wait()
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				ended := make(chan error, 1)
				go func() { ended <- s.ShutdownWithContext(ctx) }()
				await.Until(t, "the last call", func() bool {
					s.run.mu.Lock()
					defer s.run.mu.Unlock()
					for l := range s.run.listeners {
						return l.last.Made()
					}
					return true
				})
				if got := s.stats.accepted.Load(); got > 2 {
					t.Errorf("%d connections were accepted before; this test tells nothing", got)
				}
				if tt.ends {
					cancel()
					if err := <-ended; err != context.Canceled {
						t.Errorf("the context has ended, and Shutdown returned %v", err)
					}
					go func() { ended <- s.Shutdown() }()
				}
				close(held)
				s.perIP.mu.Unlock()
				s.workers.mu.Unlock()
				wg.Wait()
				if err := <-ended; err != nil {
					t.Error(err)
				}
				if err := <-served; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A connection that was accepted shortly before the end of the drain may send its first
// request after it.
func TestDrainAwaitsFirstRequest(t *testing.T) {
	withoutHurry(t)
	peers.OnEngines(t, func(t *testing.T, e Engine) {
		ts := startServer(t, &Server{Engine: e, DrainTime: time.Nanosecond}, echo)
		c := ts.Dial()
		await.Until(t, "the connection to be accepted", func() bool { return ts.s.Stats().OpenConnections == 1 })
		ended := make(chan error, 1)
		go func() { ended <- ts.s.Shutdown() }()
		await.Until(t, "the listener to be closed", func() bool { return len(ts.s.Stats().Listeners) == 0 })
		c.Send(peers.Get("/"))
		if a := c.Want("GET", 200, "GET / "); !a.Close {
			t.Error("the answer doesn't say close")
		}
		c.WantClosed()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// How long a shutdown takes, with different connections open, in a bubble.
func TestDrainTime(t *testing.T) {
	for _, tt := range []struct {
		name  string
		drain time.Duration
		open  bool          // there is a connection that was used
		fresh time.Duration // if not 0, a connection opens so long before the end of the drain, and sends nothing
		long  time.Duration
	}{
		{name: "default"},
		{name: "negative", drain: -time.Minute, open: true},
		{name: "no connection", drain: 5 * time.Second, long: 5 * time.Second},
		{name: "idle", drain: 5 * time.Second, open: true, long: 5 * time.Second},
		{name: "silent for long", drain: 5 * time.Second, fresh: 4 * time.Second, long: 5 * time.Second},
		{name: "silent", drain: 5 * time.Second, fresh: time.Millisecond, long: 5*time.Second + firstRequestFor},
	} {
		t.Run(tt.name, func(t *testing.T) {
			await.Until(t, "the servers of other tests, whose second would count here", func() bool {
				before, now := clock.Ticks(), clock.Coarse()
				return before <= now && now <= clock.Ticks()
			})
			synctest.Test(t, func(t *testing.T) {
				s := &Server{DrainTime: tt.drain, Logger: &peers.Log{}, Handler: echo}
				ln := galeutil.NewInmemoryListener()
				served := make(chan error, 1)
				go func() { served <- s.Serve(ln) }()
				dial := func() *peers.Conn {
					c, err := ln.Dial()
					if err != nil {
						t.Fatal(err)
					}
					return peers.NewConn(t, c)
				}
				if tt.open {
					dial().WantOpen()
				}
				synctest.Wait()
				begin := time.Now()
				ended := make(chan error, 1)
				go func() { ended <- s.Shutdown() }()
				if tt.fresh > 0 {
					time.Sleep(tt.drain - tt.fresh) // by the clock of the bubble
					dial()
				}
				if err := <-ended; err != nil {
					t.Error(err)
				}
				if took := time.Since(begin); took != tt.long {
					t.Errorf("it took %v, want %v", took, tt.long)
				}
				if err := <-served; err != nil {
					t.Error(err)
				}
				begin = time.Now()
				if err := s.Shutdown(); err != nil || time.Since(begin) != 0 {
					t.Errorf("a second shutdown took %v, %v", time.Since(begin), err)
				}
			})
		})
	}
}

// What was taken over in an epoch that has begun after the one that Close ended stays open.
func TestCloseLeavesTheNextEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{}
		var closed atomic.Bool
		defer s.countTaken(&listening{epoch: s.engine.Epoch()}, nil, func() { closed.Store(true) })()
		s.closeAllTaken() // the end of such a Close
		if synctest.Wait(); closed.Load() {
			t.Error("it was closed")
		}
		s.Close()
		if synctest.Wait(); !closed.Load() {
			t.Error("Close left it open")
		}
	})
}

// A connection that is handed over while Close runs, so that Close finds it nowhere, is closed when
// it is counted. One of a later call of Serve isn't.
func TestCloseEndsLateHandover(t *testing.T) {
	s := &Server{Logger: &peers.Log{}, Handler: echo}
	for range 2 {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- s.Serve(ln) }()
		serving(t, s, 1)
		s.run.mu.Lock()
		var l *listening
		for l = range s.run.listeners {
		}
		s.run.mu.Unlock()
		closed := make(chan struct{})
		uncount := s.countTaken(l, nil, func() { close(closed) })
		select {
		case <-closed:
			t.Error("a connection was closed before Close")
		default:
		}
		s.Close()
		<-closed
		uncount()
		closed = make(chan struct{})
		uncount = s.countTaken(l, nil, func() { close(closed) })
		<-closed
		uncount()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// gateListener is a listener whose Close, or whose Accept after Close, waits for open, as those of
// a program may.
type gateListener struct {
	net.Listener
	inAccept bool // Accept waits, else Close
	once     sync.Once
	waits    chan struct{} // closed when it waits
	open     chan struct{}
}

func (l *gateListener) wait() {
	l.once.Do(func() { close(l.waits) })
	<-l.open
}

func (l *gateListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if l.inAccept {
		l.wait()
	}
	return c, err
}

func (l *gateListener) Close() error {
	err := l.Listener.Close()
	if !l.inAccept {
		l.wait()
	}
	return err
}

// gated returns a listener on loopback that is a gateListener.
func gated(t *testing.T, inAccept bool) *gateListener {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listening: %v", err)
	}
	return newGate(ln, inAccept)
}

func newGate(ln net.Listener, inAccept bool) *gateListener {
	return &gateListener{Listener: ln, inAccept: inAccept, waits: make(chan struct{}), open: make(chan struct{})}
}

// A call of Serve that ends while another one begins leaves workers that may wait for the
// connections of the new one.
func TestServeEndsWhileAnotherBegins(t *testing.T) {
	s := &Server{Engine: EngineBlock, Logger: &peers.Log{}, Handler: echo}
	served := make(chan error, 2)
	first, second := gated(t, false), gated(t, true)
	go func() { served <- s.Serve(first) }()
	serving(t, s, 1)
	_ = first.Listener.Close() // Serve ends, and closes it once more
	<-first.waits
	go func() { served <- s.Serve(second) }()
	serving(t, s, 1)
	close(first.open)
	if err := <-served; err != nil {
		t.Errorf("the first Serve: %v", err)
	}
	s.workers.mu.Lock()
	closed := s.workers.closed
	s.workers.mu.Unlock()
	if closed {
		t.Error("a listener is served, but workers may not wait for its connections")
	}
	close(second.open)
	_ = s.Close()
	if err := <-served; err != nil {
		t.Errorf("the second Serve: %v", err)
	}
}

// A shutdown whose context ends doesn't wait after a drain for listeners whose Accept goes on. A
// connection that such an Accept brings after that is answered.
func TestDrainEndsWithContext(t *testing.T) {
	withoutHurry(t)
	peers.OnEngines(t, func(t *testing.T, e Engine) {
		s := &Server{Engine: e, DrainTime: time.Hour, Logger: &peers.Log{}, Handler: echo}
		ln := gated(t, true)
		served := make(chan error, 1)
		go func() { served <- s.Serve(ln) }()
		c := (&peers.Server{T: t, Addr: serving(t, s, 1)[0]}).Dial()
		c.Send(peers.Get("/"))
		<-ln.waits
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		ended := make(chan error, 2)
		go func() { ended <- s.ShutdownWithContext(ctx) }()
		await.Until(t, "the end of the shutdown", func() bool { return len(ended) > 0 })
		if err := <-ended; err != context.Canceled {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
		go func() { ended <- s.Shutdown() }()
		close(ln.open)
		if a := c.Want("GET", 200, "GET / "); !a.Close {
			t.Error("the answer doesn't say close")
		}
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		if err := <-ended; err != nil {
			t.Errorf("the second shutdown: %v", err)
		}
	})
}

// After a shutdown whose context ended in a drain, calls of Serve and ServeConn begin when the
// server has stopped, so that the drain doesn't end them. Close stops it at once.
func TestServeAfterDesertedDrain(t *testing.T) {
	for _, closes := range []bool{false, true} {
		t.Run(fmt.Sprintf("Close=%v", closes), func(t *testing.T) {
			await.Until(t, "the servers of other tests, whose second would count here", func() bool {
				before, now := clock.Ticks(), clock.Coarse()
				return before <= now && now <= clock.Ticks()
			})
			synctest.Test(t, func(t *testing.T) {
				s := &Server{Engine: EngineBlock, DrainTime: time.Hour, Logger: &peers.Log{}, Handler: echo}
				served := make(chan error, 2)
				first, second := newGate(galeutil.NewInmemoryListener(), true), galeutil.NewInmemoryListener()
				go func() { served <- s.Serve(first) }()
				synctest.Wait()
				ctx, cancel := context.WithCancel(context.Background())
				cancel()
				if err := s.ShutdownWithContext(ctx); err != context.Canceled {
					t.Errorf("got %v, want %v", err, context.Canceled)
				}
				begun := time.Now()
				go func() { served <- s.Serve(second) }()
				client, server := net.Pipe()
				conn := make(chan error, 1)
				go func() { conn <- s.ServeConn(server) }()
				synctest.Wait() // a Serve or ServeConn that doesn't wait is part of the drain now
				if closes {
					s.Close()
				}
				nc, err := second.Dial()
				if err != nil {
					t.Fatalf("dialling: %v", err)
				}
				for _, c := range []*peers.Conn{peers.NewConn(t, nc), peers.NewConn(t, client)} {
					c.WantOpen()
					c.WantOpen()
					c.Close()
				}
				if err := <-conn; err != nil {
					t.Errorf("ServeConn: %v", err)
				}
				if took := time.Since(begun); closes && took > 0 || took > lastCallFor {
					t.Errorf("it stopped after %v", took)
				}
				close(first.open)
				if err := <-served; err != nil {
					t.Errorf("the first Serve: %v", err)
				}
				s.Close()
				if err := <-served; err != nil {
					t.Errorf("the second Serve: %v", err)
				}
			})
		})
	}
}
