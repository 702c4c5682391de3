package h2

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestHTTP2ClientUseless proves that a server whose connections take no request costs a limited
// number of dials.
func TestHTTP2ClientUseless(t *testing.T) {
	for name, tc := range map[string]struct {
		serve func(c *peers.H2PeerConn)
		is    func(error) bool
	}{
		"closed": {func(c *peers.H2PeerConn) {}, func(err error) bool { return errors.Is(err, gale.ErrConnectionClosed) }},
		"calm": {func(c *peers.H2PeerConn) {
			c.Hello()
			_ = c.Fr.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, nil)
			c.Hold()
		}, isConn(11)},
		"goodbye":  {func(c *peers.H2PeerConn) { c.Hello(); _ = c.Fr.WriteGoAway(0, http2.ErrCodeNo, nil); c.Hold() }, func(err error) bool { return errors.Is(err, gale.ErrConnectionClosed) }},
		"HTTP/1.1": {func(c *peers.H2PeerConn) { _, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") }, func(err error) bool { return strings.Contains(err.Error(), "HTTP/1.1") }},
	} {
		t.Run(name, func(t *testing.T) {
			var conns atomic.Int32
			p := peers.NewH2Peer(t, func(c *peers.H2PeerConn, n int) {
				conns.Add(1)
				tc.serve(c)
			})
			c := harness.PeerClient(p)
			req, resp := &gale.Request{}, &gale.Response{}
			req.SetRequestURI("http://" + p.Addr)
			req.Header.SetMethod("POST")
			if err := c.DoTimeout(req, resp, time.Minute); err == nil || !tc.is(err) {
				t.Errorf("%v", err)
			}
			if n := conns.Load(); n > gale.DefaultMaxIdemponentCallAttempts {
				t.Errorf("%d connections", n)
			}
			await.Until(t, "the connections to end", func() bool { return c.ConnsCount() == 0 })
		})
	}
}

// TestHTTP2ClientLateDial proves that a connection whose caller has given up is used by others.
func TestHTTP2ClientLateDial(t *testing.T) {
	hs := harness.H2Way{Engine: gale.EngineBlock, TLS: false}.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) { ctx.SetBodyString("good") }})
	ctx, cancel := context.WithCancel(t.Context())
	proceed := make(chan struct{})
	c := &gale.HostClient{Addr: hs.Addr, HTTP2: gale.HTTP2Only, Dial: func(addr string) (net.Conn, error) {
		cancel()
		<-proceed
		return net.Dial("tcp", addr)
	}}
	defer c.CloseIdleConnections()
	req, resp := &gale.Request{}, &gale.Response{}
	req.SetRequestURI("http://" + hs.Addr)
	if err := c.DoContext(ctx, req, resp); err != context.Canceled {
		t.Fatal("a call that gives up while its connection is dialed:", err)
	}
	close(proceed)
	await.Until(t, "the connection", func() bool { return c.IdleConnsCount() == 1 })
	if resp := harness.MustFetch(t, c, "GET", "http://"+hs.Addr, ""); string(resp.Body()) != "good" {
		t.Errorf("%q", resp.Body())
	}
	if s := c.PoolStats(); s.Dials != 1 {
		t.Errorf("%+v", s)
	}
}

// TestHTTP2ClientAddresses proves that several addresses are used in turns, with a connection
// for each.
func TestHTTP2ClientAddresses(t *testing.T) {
	var addrs []string
	var counts [3]atomic.Int32
	for i := range counts {
		hs := harness.H2Way{Engine: gale.EngineBlock, TLS: false}.Start(t, &gale.Server{Handler: func(*gale.RequestCtx) { counts[i].Add(1) }})
		addrs = append(addrs, hs.Addr)
	}
	c := &gale.HostClient{Addr: strings.Join(addrs, ","), HTTP2: gale.HTTP2Only}
	defer c.CloseIdleConnections()
	for range 30 {
		harness.MustFetch(t, c, "GET", "http://any/", "")
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

// TestHTTP2ClientIdleEnd proves that a connection that the server has ended while it was idle
// isn't used.
func TestHTTP2ClientIdleEnd(t *testing.T) {
	for _, polite := range []bool{false, true} {
		ends := make(chan struct{})
		p := peers.NewH2Peer(t, func(c *peers.H2PeerConn, n int) {
			c.Hello()
			c.Answer(c.Request().StreamID, "good")
			<-ends
			if polite {
				_ = c.Fr.WriteGoAway(c.Last, http2.ErrCodeNo, nil)
				c.Hold()
			}
		})
		c := harness.PeerClient(p)
		harness.MustFetch(t, c, "POST", "http://"+p.Addr, "")
		ends <- struct{}{}
		await.Until(t, "the connection to end", func() bool { return c.ConnsCount() == 0 })
		harness.MustFetch(t, c, "POST", "http://"+p.Addr, "")
		close(ends)
		if s := c.PoolStats(); s.Dials != 2 {
			t.Errorf("%+v", s)
		}
	}
}

// TestHTTP2ClientDialErrors proves that calls which wait for a dial fail with it, unless it
// ended because of the call that made it.
func TestHTTP2ClientDialErrors(t *testing.T) {
	hs := harness.H2Way{Engine: gale.EngineBlock}.Start(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) { ctx.SetBodyString("good") }})
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
			c := &gale.HostClient{Addr: hs.Addr, HTTP2: gale.HTTP2Only, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
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
				req, resp := &gale.Request{}, &gale.Response{}
				req.SetRequestURI("http://" + hs.Addr)
				err = c.DoContext(ctx, req, resp)
			}
			go call(ctx)
			<-dialing
			for range 10 {
				go call(t.Context())
			}
			await.Until(t, "the other calls to wait", func() bool { return c.PoolStats().Waiting == 10 })
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
			if n := door.WaitingCalls(c); n != 0 || c.PendingRequests() != 0 {
				t.Errorf("%d waiting, %d pending", n, c.PendingRequests())
			}
			if name != "cancel" {
				if resp := harness.MustFetch(t, c, "GET", "http://"+hs.Addr, ""); string(resp.Body()) != "good" {
					t.Errorf("%q", resp.Body())
				}
			}
		})
	}
}

// TestHTTP2ClientWaiters lets many calls wait for few streams: all are answered, in any case
// of some that give up.
func TestHTTP2ClientWaiters(t *testing.T) {
	for _, way := range peers.ClearWays[harness.H2Way]() {
		hs := way.Start(t, &gale.Server{HTTP2: gale.HTTP2Config{MaxStreams: 3}, Handler: func(ctx *gale.RequestCtx) {
			time.Sleep(100 * time.Microsecond) // a slow handler: calls wait for its stream
			ctx.SetBodyString("good")
		}})
		c := &gale.HostClient{Addr: hs.Addr, HTTP2: gale.HTTP2Only, MaxConns: 2, MaxConnWaitTimeout: time.Minute}
		var wg sync.WaitGroup
		var late atomic.Int32
		for i := range 100 {
			wg.Go(func() {
				for range 10 {
					if i%5 > 0 {
						harness.MustFetch(t, c, "GET", hs.URL("/"), "")
						continue
					}
					req, resp := &gale.Request{}, &gale.Response{}
					req.SetRequestURI(hs.URL("/"))
					switch err := c.DoTimeout(req, resp, 500*time.Microsecond); err {
					case nil:
					case gale.ErrTimeout:
						late.Add(1)
					default:
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if n := door.WaitingCalls(c); n != 0 || c.PendingRequests() != 0 || c.ConnsCount() > 2 {
			t.Errorf("%d waiting, %d pending, %d connections", n, c.PendingRequests(), c.ConnsCount())
		}
		c.CloseIdleConnections()
	}
}
