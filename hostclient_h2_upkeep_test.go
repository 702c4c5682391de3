package gale

import (
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale/internal/clock"
	"golang.org/x/net/http2"
)

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
		await(t, "the end of a write", func() bool {
			hc.mu.Lock()
			defer hc.mu.Unlock()
			return !hc.writing || hc.over
		})
		hc.upkeepAt(now.Add(step))
	}
}

// oneConn returns the connection of a client that has one.
func oneConn(t *testing.T, c *HostClient) (hc *sharedConn) {
	t.Helper()
	await(t, "a connection", func() bool { hc = c.h2.first.Load(); return hc != nil })
	return hc
}

// TestHTTP2ClientPing proves that a server which says nothing gets a PING when an answer is
// overdue, and that the connection is lost if it doesn't answer that either.
func TestHTTP2ClientPing(t *testing.T) {
	for _, answers := range []bool{false, true} {
		var pings atomic.Int32
		release, waits := make(chan struct{}), make(chan struct{}, 2)
		p := newH2Peer(t, func(c *h2PeerConn, n int) {
			c.hello()
			for {
				f, err := c.fr.ReadFrame()
				if err != nil {
					return
				}
				switch f := f.(type) {
				case *http2.SettingsFrame:
					if !f.IsAck() {
						_ = c.fr.WriteSettingsAck()
					}
				case *http2.PingFrame:
					pings.Add(1)
					if answers {
						c.w.Lock()
						_ = c.fr.WritePing(true, f.Data)
						c.w.Unlock()
					}
				case *http2.MetaHeadersFrame:
					if f.PseudoValue("path") == "/wait" && n == 0 {
						waits <- struct{}{}
						if answers {
							go func() { <-release; c.answer(f.StreamID, "late") }()
						}
						continue
					}
					c.answer(f.StreamID, "good")
				}
			}
		})
		c := p.client()
		mustFetch(t, c, "GET", "http://"+p.addr, "")
		hc := oneConn(t, c)
		got := make(chan string)
		go func() { got <- string(mustFetch(t, c, "GET", "http://"+p.addr+"/wait", "").Body()) }()
		<-waits
		upkeepWhileQuiet(t, hc, h2Overdue)
		if pings.Load() != 0 {
			t.Error("a PING came too early")
		}
		upkeepWhileQuiet(t, hc, h2Tick)
		await(t, "a PING", func() bool { return pings.Load() == 1 })
		if answers {
			await(t, "the answer to the PING", func() bool { hc.mu.Lock(); defer hc.mu.Unlock(); return !hc.upkeep.pinged })
			upkeepWhileQuiet(t, hc, h2NextPing)
			if n := pings.Load(); n != 1 {
				t.Errorf("%d PINGs", n)
			}
			upkeepWhileQuiet(t, hc, 2*h2Tick)
			await(t, "another PING", func() bool { return pings.Load() == 2 })
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
	p := newH2Peer(t, func(c *h2PeerConn, n int) {
		c.hello()
		for f := c.next(); f != nil; f = c.next() {
			switch f := f.(type) {
			case *http2.MetaHeadersFrame:
				if f.PseudoValue("path") == "/wait" {
					waits <- struct{}{}
					<-hold
				}
				c.answer(f.StreamID, "good")
			case *http2.GoAwayFrame:
				ended <- f.ErrCode
			}
		}
	})
	c := p.client()
	c.MaxIdleConnDuration = time.Minute
	mustFetch(t, c, "GET", "http://"+p.addr, "")
	hc := oneConn(t, c)
	done := make(chan struct{})
	go func() { mustFetch(t, c, "GET", "http://"+p.addr+"/wait", ""); close(done) }()
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
	await(t, "the connection to end", func() bool { return c.ConnsCount() == 0 })
	if s := c.PoolStats(); s.Expired != 1 || s.Reuses != 1 {
		t.Errorf("%+v", s)
	}
	mustFetch(t, c, "GET", "http://"+p.addr, "")
	c.CloseIdleConnections()
	<-ended
	await(t, "the connection to end", func() bool { return c.ConnsCount() == 0 })
}

// TestHTTP2ClientHangs proves that a connection ends whose server doesn't do its part: it
// doesn't acknowledge SETTINGS, sends a frame in drips, or doesn't read.
func TestHTTP2ClientHangs(t *testing.T) {
	for name, tc := range map[string]struct {
		serve func(c *h2PeerConn)
		after time.Duration
		code  uint32 // of the error; 0 for one of the connection without a code
	}{
		"no settings":        {func(c *h2PeerConn) { c.fr.ReadFrame() }, h2SettingsLimit, 4},
		"no acknowledgement": {func(c *h2PeerConn) { c.hello(); c.fr.ReadFrame() }, h2SettingsLimit, 4},
		"drips of a head": {func(c *h2PeerConn) {
			c.hello()
			c.request()
			c.Write([]byte{0, 1, 0, 1, 4, 0, 0, 0, 1, 0x88})
		}, h2HeadLimit + h2Tick, 11},
		"drips of a body": {func(c *h2PeerConn) {
			c.hello()
			c.head(c.request().StreamID, "200", false)
			c.Write([]byte{0, 1, 0, 0, 0, 0, 0, 0, 1, 'x'})
		}, h2FrameLimit + h2Tick, 11},
	} {
		t.Run(name, func(t *testing.T) {
			ready := make(chan struct{})
			p := newH2Peer(t, func(c *h2PeerConn, n int) {
				tc.serve(c)
				close(ready)
				_, _ = io.Copy(io.Discard, c)
			})
			c := p.client()
			failed := make(chan error)
			go func() {
				req, resp := &Request{}, &Response{}
				req.SetRequestURI("http://" + p.addr)
				failed <- c.Do(req, resp)
			}()
			hc := oneConn(t, c)
			<-ready
			if strings.HasPrefix(name, "drips") {
				await(t, "a part of a frame", func() bool {
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
			await(t, "the connection to end", func() bool { return c.ConnsCount() == 0 })
		})
	}
}

// TestHTTP2ClientStuckWrite proves that a server that doesn't read ends the connection.
func TestHTTP2ClientStuckWrite(t *testing.T) {
	stop := make(chan struct{})
	p := newH2Peer(t, func(c *h2PeerConn, n int) {
		c.hello(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30})
		_ = c.fr.WriteWindowUpdate(0, 1<<30)
		c.fr.ReadFrame()
		_ = c.fr.WriteSettingsAck()
		c.request()
		<-stop
	})
	defer close(stop)
	c := p.client()
	failed := make(chan error)
	go func() {
		req, resp := &Request{}, &Response{}
		req.SetRequestURI("http://" + p.addr)
		req.Header.SetMethod("PUT")
		req.SetBodyStream(io.LimitReader(zeros{}, 1<<29), -1)
		failed <- c.Do(req, resp)
	}()
	hc := oneConn(t, c)
	writes := uint64(0)
	await(t, "a write that doesn't end", func() bool {
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
	await(t, "the connection to end", func() bool { return c.ConnsCount() == 0 })
}
