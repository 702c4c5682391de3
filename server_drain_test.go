package gale

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale/galeutil"
	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/race"
)

// awaitDrain waits until a shutdown of s has begun.
func awaitDrain(t *testing.T, s *Server) {
	t.Helper()
	await(t, "the drain to begin", s.Draining)
}

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
	_, err := io.WriteString(c.nc, get("/"))
	return err
}

func (c *drainClient) read() (closes bool, err error) {
	status, closes, _, _, err := readAnswer(c.br)
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
	onEngines(t, func(t *testing.T, e Engine) {
		check := settled(t)
		s := &Server{Engine: e, DrainTime: time.Hour, Logger: &testLog{}, Handler: func(ctx *RequestCtx) { ctx.SetBodyString("ok") }}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- s.Serve(ln) }()

		const clients = 160
		total := int64(race.Fewer(10_000))
		var sent, kept, closed atomic.Int64
		var gate sync.RWMutex // a sender holds it, so that no request is on its way when the drain ends
		ends := false
		var wg sync.WaitGroup
		for range clients {
			wg.Go(func() {
				c := &drainClient{network: "tcp", addr: ln.Addr().String()}
				defer c.close()
				for {
					gate.RLock()
					if ends {
						gate.RUnlock()
						return
					}
					err := c.send()
					gate.RUnlock()
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
					time.Sleep(rand.N(2 * time.Millisecond))
				}
			})
		}
		await(t, "the clients to use their connections", func() bool { return kept.Load() >= 10*clients })
		var sleepers []*testConn // they send once more, at the last moment
		for range clients {
			nc, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			sleepers = append(sleepers, newTestConn(t, nc))
			sleepers[len(sleepers)-1].wantOpen()
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- s.ShutdownWithContext(ctx) }()
		await(t, fmt.Sprintf("%d requests", total), func() bool { return closed.Load() >= total || t.Failed() })
		gate.Lock()
		ends = true
		for _, c := range sleepers {
			c.send(get("/"))
		}
		cancel()
		gate.Unlock()
		for _, c := range sleepers {
			if a := c.want("GET", 200, "ok"); !a.Close {
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
	onEngines(t, func(t *testing.T, e Engine) {
		const drainTime = 500 * time.Millisecond
		ts := startServer(t, &Server{Engine: e, DrainTime: drainTime}, echo)
		var until atomic.Pointer[time.Time]
		var inDrain atomic.Int64
		var wg sync.WaitGroup
		for range 32 {
			wg.Go(func() {
				c := &drainClient{network: "tcp", addr: ts.addr}
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
		await(t, "some requests", func() bool { return ts.s.Stats().Requests > 1000 })
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

// Connections that wait to be accepted when the drain ends are served, also with TLS.
func TestDrainAcceptsWhatWaits(t *testing.T) {
	withoutHurry(t)
	for _, kind := range []string{"tcp", "unix", "tls"} {
		if kind == "unix" && runtime.GOOS == "windows" {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			onEngines(t, func(t *testing.T, e Engine) {
				held := make(chan struct{})
				s := &Server{Engine: e, DrainTime: time.Nanosecond, MaxConnsPerIP: 1 << 20, Logger: &testLog{}, Handler: echo}
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
							io.WriteString(c, get("/"))
						} else {
							io.WriteString(c, get("/"))
							dialled.Done()
						}
						if status, closes, _, _, err := readAnswer(bufio.NewReader(c)); err != nil || status != 200 || !closes {
							t.Errorf("status %d, closes: %v, %v", status, closes, err)
						}
					})
				}
				dialled.Wait()
				ended := make(chan error, 1)
				go func() { ended <- s.Shutdown() }()
				await(t, "the last call", func() bool {
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
	onEngines(t, func(t *testing.T, e Engine) {
		ts := startServer(t, &Server{Engine: e, DrainTime: time.Nanosecond}, echo)
		c := ts.dial()
		await(t, "the connection to be accepted", func() bool { return ts.s.Stats().OpenConnections == 1 })
		ended := make(chan error, 1)
		go func() { ended <- ts.s.Shutdown() }()
		await(t, "the listener to be closed", func() bool { return len(ts.s.Stats().Listeners) == 0 })
		c.send(get("/"))
		if a := c.want("GET", 200, "GET / "); !a.Close {
			t.Error("the answer doesn't say close")
		}
		c.wantClosed()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// While the server drains, idle connections stay open, each answer says close, whichever
// code makes it, and limits still apply.
func TestDrainAnswersClose(t *testing.T) {
	onEngines(t, func(t *testing.T, e Engine) {
		ts := startServer(t, &Server{Engine: e, DrainTime: time.Hour, MaxConnsPerIP: 8}, func(ctx *RequestCtx) {
			switch string(ctx.Path()) {
			case "/flush":
				ctx.Response.Header.SetContentLength(2)
				ctx.WriteString("o")
				ctx.Flush()
				ctx.WriteString("k")
				return
			case "/stream":
				ctx.SetBodyStream(strings.NewReader("ok"), 2)
				return
			case "/error":
				ctx.Error("ok", 200)
				return
			}
			ctx.SetBodyString("ok")
		})
		requests := []string{
			get("/"), get("/flush"), get("/stream"), get("/error"),
			"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
		}
		var kept []*testConn
		for range requests {
			c := ts.dial()
			c.wantOpen()
			kept = append(kept, c)
		}
		ended := make(chan error, 1)
		go func() { ended <- ts.s.Shutdown() }()
		awaitDrain(t, ts.s)
		for i, r := range requests {
			for _, c := range []*testConn{kept[i], ts.dial()} {
				c.send(r)
				if a := c.want("GET", 200, "ok"); a.Header.Get("Connection") != "close" && !a.Close {
					t.Errorf("no close in the answer to %q", r)
				}
				c.wantClosed()
			}
		}
		await(t, "the connections to be gone", func() bool { return ts.s.Stats().OpenConnections == 0 })
		for range 8 {
			ts.dial()
		}
		await(t, "as many connections as there may be", func() bool { return ts.s.Stats().OpenConnections == 8 })
		if a := ts.dial().read("GET"); a.StatusCode != 429 {
			t.Errorf("one connection more got %d", a.StatusCode)
		}
		ts.s.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// Done of a handler is closed when the drain has ended, and not before.
func TestDrainAndDone(t *testing.T) {
	onEngines(t, func(t *testing.T, e Engine) {
		in, done := make(chan context.Context, 4), make(chan error, 4)
		ts := startServer(t, &Server{Engine: e, DrainTime: time.Hour}, func(ctx *RequestCtx) {
			in <- ctx.Context()
			<-ctx.Done()
			done <- ctx.Err()
		})
		before := ts.dial()
		before.send(get("/"))
		first := <-in
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- ts.s.ShutdownWithContext(ctx) }()
		awaitDrain(t, ts.s)
		during := ts.dial()
		during.send(get("/"))
		second := <-in
		if first.Err() != nil || second.Err() != nil {
			t.Errorf("a request ended while the server drains: %v, %v", first.Err(), second.Err())
		}
		cancel()
		for range 2 {
			if err := <-done; err != context.Canceled {
				t.Errorf("Err is %v", err)
			}
		}
		before.want("GET", 200, "")
		during.want("GET", 200, "")
		if err := <-ended; err != nil && err != context.Canceled {
			t.Error(err)
		}
	})
}

// Several calls of Shutdown share a drain. The first one whose context ends ends it for
// all.
func TestDrainIsShared(t *testing.T) {
	onEngines(t, func(t *testing.T, e Engine) {
		ts := startServer(t, &Server{Engine: e, DrainTime: time.Hour}, echo)
		serving(t, ts.s, 1)
		ended := make(chan error, 2)
		for range 2 {
			go func() { ended <- ts.s.Shutdown() }()
		}
		awaitDrain(t, ts.s)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := ts.s.ShutdownWithContext(ctx); err != nil && err != context.Canceled {
			t.Error(err)
		}
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		if ts.s.Draining() {
			t.Error("it still drains")
		}
	})
}

// Close ends a drain, with the connections.
func TestCloseEndsDrain(t *testing.T) {
	onEngines(t, func(t *testing.T, e Engine) {
		ts := startServer(t, &Server{Engine: e, DrainTime: time.Hour}, echo)
		c := ts.dial()
		c.wantOpen()
		ended := make(chan error, 1)
		go func() { ended <- ts.s.Shutdown() }()
		awaitDrain(t, ts.s)
		ts.s.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if b, err := io.ReadAll(c); len(b) > 0 {
			t.Errorf("got %q, %v", b, err)
		}
	})
}

// A server that drains serves new connections until the drain ends, also those of
// listeners that are added meanwhile. After the shutdown it can serve again as before.
func TestServeDuringAndAfterDrain(t *testing.T) {
	onEngines(t, func(t *testing.T, e Engine) {
		ts := startServer(t, &Server{Engine: e, DrainTime: time.Hour}, echo)
		serving(t, ts.s, 1)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- ts.s.ShutdownWithContext(ctx) }()
		awaitDrain(t, ts.s)

		client, server := net.Pipe()
		conn := make(chan error, 1)
		go func() { conn <- ts.s.ServeConn(server) }()
		c := newTestConn(t, client)
		c.send(get("/"))
		if a := c.want("GET", 200, "GET / "); !a.Close {
			t.Error("ServeConn: the answer doesn't say close")
		}
		if err := <-conn; err != nil {
			t.Error(err)
		}

		serve := func() (*testServer, chan error) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan error, 1)
			go func() { served <- ts.s.Serve(ln) }()
			return &testServer{t: t, s: ts.s, addr: ln.Addr().String()}, served
		}
		second, served := serve()
		c = second.dial()
		c.send(get("/"))
		if a := c.want("GET", 200, "GET / "); !a.Close {
			t.Error("a listener that came later: the answer doesn't say close")
		}
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil && err != context.Canceled {
			t.Error(err)
		}
		if err := ts.s.Shutdown(); err != nil { // there is nothing to drain
			t.Error(err)
		}

		third, _ := serve()
		c = third.dial()
		c.wantOpen()
		c.wantOpen()
		if ts.s.Draining() {
			t.Error("it serves again, and says that it drains")
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
			await(t, "the servers of other tests, whose second would count here", func() bool {
				before, now := clock.Ticks(), clock.Coarse()
				return before <= now && now <= clock.Ticks()
			})
			synctest.Test(t, func(t *testing.T) {
				s := &Server{DrainTime: tt.drain, Logger: &testLog{}, Handler: echo}
				ln := galeutil.NewInmemoryListener()
				served := make(chan error, 1)
				go func() { served <- s.Serve(ln) }()
				dial := func() *testConn {
					c, err := ln.Dial()
					if err != nil {
						t.Fatal(err)
					}
					return newTestConn(t, c)
				}
				if tt.open {
					dial().wantOpen()
				}
				synctest.Wait()
				begin := time.Now()
				ended := make(chan error, 1)
				go func() { ended <- s.Shutdown() }()
				if tt.fresh > 0 {
					time.Sleep(tt.drain - tt.fresh)
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

// If the context ends during the drain, idle connections are closed at once, and running
// requests are answered.
func TestDrainEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan bool)
		s := &Server{DrainTime: time.Minute, Logger: &testLog{}, Handler: func(ctx *RequestCtx) { <-hold }}
		ln := galeutil.NewInmemoryListener()
		go s.Serve(ln)
		client, err := ln.Dial()
		if err != nil {
			t.Fatal(err)
		}
		c := newTestConn(t, client)
		c.send(get("/"))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		begin := time.Now()
		if err := s.ShutdownWithContext(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		if !s.Draining() {
			t.Error("a request is in flight, and Draining is false")
		}
		close(hold)
		if a := c.want("GET", 200, ""); !a.Close {
			t.Error("no close")
		}
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
	})
}
