package gale

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/galehttp/gale/internal/clock"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestHTTP2ClientConnAge proves that a connection gets no request after MaxConnDuration, nor
// after one that says Connection: close.
func TestHTTP2ClientConnAge(t *testing.T) {
	hs := h2Way{Engine: EngineBlock}.start(t, &Server{Handler: func(ctx *RequestCtx) { fmt.Fprint(ctx, ctx.ConnID()) }})
	c := &HostClient{Addr: hs.Addr, HTTP2: HTTP2Only, MaxConnDuration: time.Hour}
	defer c.CloseIdleConnections()
	get := func() string { return string(mustFetch(t, c, "GET", hs.URL("/"), "").Body()) }
	first := get()
	if get() != first {
		t.Error("another connection before the time")
	}
	hc := oneConn(t, c)
	hc.mu.Lock()
	hc.created -= 2 * 3600e9
	hc.mu.Unlock()
	second := get()
	if second == first {
		t.Error("the same connection after the time")
	}
	req, resp := &Request{}, &Response{}
	req.SetRequestURI(hs.URL("/"))
	req.SetConnectionClose()
	if err := c.Do(req, resp); err != nil || string(resp.Body()) != second {
		t.Errorf("%q, %v", resp.Body(), err)
	}
	if get() == second {
		t.Error("the same connection after Connection: close")
	}
	await.Until(t, "the old connections to end", func() bool { return c.ConnsCount() == 1 })
}

// TestHTTP2ClientGoAway proves that open streams continue after GOAWAY, that new ones use
// another connection, and that the old one ends.
func TestHTTP2ClientGoAway(t *testing.T) {
	gone := make(chan struct{})
	p := peers.NewH2Peer(t, func(c *peers.H2PeerConn, n int) {
		c.Hello()
		if n > 0 {
			for f := c.Request(); f != nil; f = c.Request() {
				c.Answer(f.StreamID, "second")
			}
			return
		}
		id := c.Request().StreamID
		c.Head(id, "200", false)
		_ = c.Fr.WriteGoAway(1<<31-1, http2.ErrCodeNo, nil)
		<-gone
		c.Data(id, "first", true)
		c.Hold()
	})
	c := peerClient(p)
	first := make(chan string)
	go func() { first <- string(mustFetch(t, c, "GET", "http://"+p.Addr, "").Body()) }()
	await.Until(t, "GOAWAY", func() bool {
		first := c.pool.shared.first.Load()
		return first != nil && (*first).running() == 1 && (*first).room() == 0
	})
	if s := string(mustFetch(t, c, "POST", "http://"+p.Addr, "").Body()); s != "second" {
		t.Errorf("%q", s)
	}
	close(gone)
	if s := <-first; s != "first" {
		t.Errorf("%q", s)
	}
	await.Until(t, "the first connection to end", func() bool { return c.ConnsCount() == 1 })
}

// TestHTTP2ClientStreamLimit proves that the server's limit of streams is kept: more calls
// use another connection, and beyond MaxConns they wait or fail.
func TestHTTP2ClientStreamLimit(t *testing.T) {
	var most atomic.Int32
	release := make(chan struct{})
	p := peers.NewH2Peer(t, func(c *peers.H2PeerConn, n int) {
		c.Hello(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 2})
		var open []uint32
		reqs := make(chan uint32, 100)
		go func() {
			defer close(reqs)
			for f := c.Request(); f != nil; f = c.Request() {
				reqs <- f.StreamID
			}
		}()
		for {
			select {
			case id, ok := <-reqs:
				if !ok {
					return
				}
				if string(c.RemoteAddr().String()) != "" {
					open = append(open, id)
				}
				if n := int32(len(open)); n > most.Load() {
					most.Store(n)
				}
			case <-release:
				for _, id := range open {
					c.Answer(id, "done")
				}
				open = nil
			}
		}
	})
	c := peerClient(p)
	c.MaxConns = 2
	// The first call makes the connection, so that the limit is known.
	go func() {
		await.Until(t, "a request", func() bool { return most.Load() == 1 })
		release <- struct{}{}
	}()
	mustFetch(t, c, "GET", "http://"+p.Addr, "")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { mustFetch(t, c, "GET", "http://"+p.Addr, "") })
	}
	await.Until(t, "four requests on two connections", func() bool {
		c.pool.mu.Lock()
		defer c.pool.mu.Unlock()
		for _, w := range c.pool.shared.all {
			if w.room() != 0 {
				return false // its SETTINGS have not come yet
			}
		}
		var s PoolStats
		return c.pool.shared.count(&s) == 4 && len(c.pool.shared.all) == 2
	})
	req, resp := &Request{}, &Response{}
	req.SetRequestURI("http://" + p.Addr)
	if err := c.DoTimeout(req, resp, time.Minute); err != ErrNoFreeConns {
		t.Errorf("the fifth request: %v", err)
	}
	c.MaxConnWaitTimeout = time.Minute
	wg.Go(func() { mustFetch(t, c, "GET", "http://"+p.Addr, "") })
	await.Until(t, "a waiting request", func() bool { return c.PoolStats().Waiting == 1 })
	if n := c.PendingRequests(); n != 5 {
		t.Errorf("%d pending requests", n)
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for open := true; open; {
		select {
		case release <- struct{}{}:
		case <-done:
			open = false
		}
	}
	if n := most.Load(); n != 2 {
		t.Errorf("%d streams at a time", n)
	}
	await.Until(t, "the connections to be idle", func() bool { return c.PoolStats().Idle == 2 })
	if s := c.PoolStats(); s.Open != 2 || s.Idle != 2 || s.Waiting != 0 || door.WaitingCalls(c) != 0 {
		t.Errorf("%+v, %d waiting", s, door.WaitingCalls(c))
	}
}

// upkeepFor does the upkeep of a connection as if so much time went by, in steps of h2Tick.
func upkeepFor(hc *sharedConn, d time.Duration) {
	now := clock.Ticks()
	for t := h2Tick; t <= d; t += h2Tick {
		hc.upkeepAt(now.Add(t))
	}
}

// upkeepWhileQuiet is upkeepFor, except that each step comes when nothing is being written:
// else the steps may seem to be the time of one write, and end the connection.
func upkeepWhileQuiet(t *testing.T, hc *sharedConn, d time.Duration) {
	t.Helper()
	now := clock.Ticks()
	for step := h2Tick; step <= d; step += h2Tick {
		await.Until(t, "the end of a write", func() bool {
			hc.mu.Lock()
			defer hc.mu.Unlock()
			return !hc.writing || hc.stage == sharedOver
		})
		hc.upkeepAt(now.Add(step))
	}
}

// oneConn returns the connection of a client that has one.
func oneConn(t *testing.T, c *HostClient) (hc *sharedConn) {
	t.Helper()
	await.Until(t, "a connection", func() bool { return c.pool.shared.first.Load() != nil })
	return (*c.pool.shared.first.Load()).(*sharedConn)
}

// TestHTTP2ClientPing proves that a server which says nothing gets a PING when an answer is
// overdue, and that the connection is lost if it doesn't answer that either.
func TestHTTP2ClientPing(t *testing.T) {
	for _, answers := range []bool{false, true} {
		var pings atomic.Int32
		release, waits := make(chan struct{}), make(chan struct{}, 2)
		p := peers.NewH2Peer(t, func(c *peers.H2PeerConn, n int) {
			c.Hello()
			for {
				f, err := c.Fr.ReadFrame()
				if err != nil {
					return
				}
				switch f := f.(type) {
				case *http2.SettingsFrame:
					if !f.IsAck() {
						_ = c.Fr.WriteSettingsAck()
					}
				case *http2.PingFrame:
					pings.Add(1)
					if answers {
						c.W.Lock()
						_ = c.Fr.WritePing(true, f.Data)
						c.W.Unlock()
					}
				case *http2.MetaHeadersFrame:
					if f.PseudoValue("path") == "/wait" && n == 0 {
						waits <- struct{}{}
						if answers {
							go func() { <-release; c.Answer(f.StreamID, "late") }()
						}
						continue
					}
					c.Answer(f.StreamID, "good")
				}
			}
		})
		c := peerClient(p)
		mustFetch(t, c, "GET", "http://"+p.Addr, "")
		hc := oneConn(t, c)
		got := make(chan string)
		go func() { got <- string(mustFetch(t, c, "GET", "http://"+p.Addr+"/wait", "").Body()) }()
		<-waits
		upkeepWhileQuiet(t, hc, h2Overdue)
		if pings.Load() != 0 {
			t.Error("a PING came too early")
		}
		upkeepWhileQuiet(t, hc, h2Tick)
		await.Until(t, "a PING", func() bool { return pings.Load() == 1 })
		if answers {
			await.Until(t, "the answer to the PING", func() bool { hc.mu.Lock(); defer hc.mu.Unlock(); return !hc.upkeep.pinged })
			upkeepWhileQuiet(t, hc, h2NextPing)
			if n := pings.Load(); n != 1 {
				t.Errorf("%d PINGs", n)
			}
			upkeepWhileQuiet(t, hc, 2*h2Tick)
			await.Until(t, "another PING", func() bool { return pings.Load() == 2 })
			close(release)
		} else {
			upkeepWhileQuiet(t, hc, h2PingLimit)
		}
		want := map[bool]string{false: "good", true: "late"}[answers] // the GET was sent again
		if s := <-got; s != want {
			t.Errorf("%q, want %q", s, want)
		}
		if n := c.PoolStats().Dials; n != map[bool]uint64{false: 2, true: 1}[answers] {
			t.Errorf("%d dials", n)
		}
	}
}

// TestHTTP2ClientIdle proves that an idle connection is closed, with GOAWAY, and that one with
// a call isn't.
func TestHTTP2ClientIdle(t *testing.T) {
	hold, waits, ended := make(chan struct{}), make(chan struct{}, 1), make(chan http2.ErrCode, 10)
	p := peers.NewH2Peer(t, func(c *peers.H2PeerConn, n int) {
		c.Hello()
		for f := c.Next(); f != nil; f = c.Next() {
			switch f := f.(type) {
			case *http2.MetaHeadersFrame:
				if f.PseudoValue("path") == "/wait" {
					waits <- struct{}{}
					<-hold
				}
				c.Answer(f.StreamID, "good")
			case *http2.GoAwayFrame:
				ended <- f.ErrCode
			}
		}
	})
	c := peerClient(p)
	c.MaxIdleConnDuration = time.Minute
	mustFetch(t, c, "GET", "http://"+p.Addr, "")
	hc := oneConn(t, c)
	done := make(chan struct{})
	go func() { mustFetch(t, c, "GET", "http://"+p.Addr+"/wait", ""); close(done) }()
	<-waits
	hc.upkeepAt(clock.Ticks().Add(2 * time.Minute))
	close(hold)
	<-done
	hc.upkeepAt(clock.Ticks().Add(59 * time.Second))
	if n := c.IdleConnsCount(); n != 1 {
		t.Errorf("%d idle connections before the time is over", n)
	}
	hc.upkeepAt(clock.Ticks().Add(61 * time.Second))
	if code := <-ended; code != http2.ErrCodeNo {
		t.Errorf("GOAWAY with %v", code)
	}
	await.Until(t, "the connection to end", func() bool { return c.ConnsCount() == 0 })
	if s := c.PoolStats(); s.Expired != 1 || s.Reuses != 1 {
		t.Errorf("%+v", s)
	}
	mustFetch(t, c, "GET", "http://"+p.Addr, "")
	c.CloseIdleConnections()
	<-ended
	await.Until(t, "the connection to end", func() bool { return c.ConnsCount() == 0 })
}

// TestHTTP2ClientHangs proves that a connection ends whose server doesn't do its part: it
// doesn't acknowledge SETTINGS, sends a frame in drips, or doesn't read.
func TestHTTP2ClientHangs(t *testing.T) {
	for name, tc := range map[string]struct {
		serve func(c *peers.H2PeerConn)
		after time.Duration
		code  uint32 // of the error; 0 for one of the connection without a code
	}{
		"no settings":        {func(c *peers.H2PeerConn) { c.Fr.ReadFrame() }, h2SettingsLimit, 4},
		"no acknowledgement": {func(c *peers.H2PeerConn) { c.Hello(); c.Fr.ReadFrame() }, h2SettingsLimit, 4},
		"drips of a head": {func(c *peers.H2PeerConn) {
			c.Hello()
			c.Request()
			c.Write([]byte{0, 1, 0, 1, 4, 0, 0, 0, 1, 0x88})
		}, h2HeadLimit + h2Tick, 11},
		"drips of a body": {func(c *peers.H2PeerConn) {
			c.Hello()
			c.Head(c.Request().StreamID, "200", false)
			c.Write([]byte{0, 1, 0, 0, 0, 0, 0, 0, 1, 'x'})
		}, h2FrameLimit + h2Tick, 11},
	} {
		t.Run(name, func(t *testing.T) {
			ready := make(chan struct{})
			p := peers.NewH2Peer(t, func(c *peers.H2PeerConn, n int) {
				tc.serve(c)
				close(ready)
				_, _ = io.Copy(io.Discard, c)
			})
			c := peerClient(p)
			failed := make(chan error)
			go func() {
				req, resp := &Request{}, &Response{}
				req.SetRequestURI("http://" + p.Addr)
				failed <- c.Do(req, resp)
			}()
			hc := oneConn(t, c)
			<-ready
			if strings.HasPrefix(name, "drips") {
				await.Until(t, "a part of a frame", func() bool {
					hc.mu.Lock()
					defer hc.mu.Unlock()
					return hc.proto.InFrame()
				})
			}
			hc.upkeepAt(clock.Ticks().Add(tc.after))
			err := <-failed
			var ce *HTTP2ConnError
			if !errors.As(err, &ce) || ce.Code != tc.code || !ce.Local {
				t.Errorf("%v", err)
			}
			await.Until(t, "the connection to end", func() bool { return c.ConnsCount() == 0 })
		})
	}
}

// TestHTTP2ClientStuckWrite proves that a server that doesn't read ends the connection.
func TestHTTP2ClientStuckWrite(t *testing.T) {
	stop := make(chan struct{})
	p := peers.NewH2Peer(t, func(c *peers.H2PeerConn, n int) {
		c.Hello(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30})
		_ = c.Fr.WriteWindowUpdate(0, 1<<30)
		c.Fr.ReadFrame()
		_ = c.Fr.WriteSettingsAck()
		c.Request()
		<-stop
	})
	defer close(stop)
	c := peerClient(p)
	failed := make(chan error)
	go func() {
		req, resp := &Request{}, &Response{}
		req.SetRequestURI("http://" + p.Addr)
		req.Header.SetMethod("PUT")
		req.SetBodyStream(io.LimitReader(peers.Zeros{}, 1<<29), -1)
		failed <- c.Do(req, resp)
	}()
	hc := oneConn(t, c)
	writes := uint64(0)
	await.Until(t, "a write that doesn't end", func() bool {
		hc.mu.Lock()
		defer hc.mu.Unlock()
		same := hc.writing && hc.writes == writes
		writes = hc.writes
		return same && hc.proto.Settled()
	})
	upkeepFor(hc, h2WriteLimit+h2Tick)
	if err := <-failed; err == nil {
		t.Error("no error")
	}
	await.Until(t, "the connection to end", func() bool { return c.ConnsCount() == 0 })
}
