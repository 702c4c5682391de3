package h2

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// h2Slow is such a server.
type h2Slow struct {
	name string
	play func(p *peers.H2Actor) // for each connection, which it has not greeted
	sent bool                   // the whole request is sent, so that limits for the response apply
	head bool                   // the head of the response comes at once
	big  bool                   // the request has a body that doesn't fit into the windows
}

var h2Slows = []h2Slow{
	{name: "says nothing", sent: true, play: func(p *peers.H2Actor) {
		p.Preface()
		p.Mute = true
		p.Hold()
	}},
	{name: "drips its SETTINGS", sent: true, play: func(p *peers.H2Actor) {
		p.Preface()
		p.Mute = true
		p.Drip(peers.H2Settings(3, 100, 4, 1<<16))
	}},
	{name: "never answers", sent: true, play: func(p *peers.H2Actor) { p.Greet(); p.Hold() }},
	{name: "never answers, nor acknowledges", sent: true, play: func(p *peers.H2Actor) { p.Greet(); p.Mute = true; p.Hold() }},
	{name: "drips a head", sent: true, play: func(p *peers.H2Actor) {
		p.Greet()
		if r := p.AskedWhole(); r != nil {
			p.Drip(p.Ok(r.ID, "x-long", strings.Repeat("x", 1000)))
		}
	}},
	{name: "drips a head in CONTINUATION", sent: true, play: func(p *peers.H2Actor) {
		p.Greet()
		if r := p.AskedWhole(); r != nil {
			p.Send(peers.H2Wire(1, 0, r.ID, p.Fields(":status", "200")))
			p.EverySecond(func() string { return peers.H2Wire(9, 0, r.ID, "\x00\x01a\x01b") })
		}
	}},
	{name: "drips informational responses", sent: true, play: func(p *peers.H2Actor) {
		p.Greet()
		if r := p.AskedWhole(); r != nil {
			p.EverySecond(func() string { return p.Head(r.ID, 0, ":status", "103") })
		}
	}},
	{name: "drips PING", sent: true, play: func(p *peers.H2Actor) {
		p.Greet()
		p.EverySecond(func() string { return peers.H2Wire(6, 0, 0, "12345678") })
	}},
	{name: "drips a body", sent: true, head: true, play: func(p *peers.H2Actor) {
		p.Greet()
		if r := p.AskedWhole(); r != nil {
			p.Send(p.Ok(r.ID))
			p.EverySecond(func() string { return peers.H2Data(r.ID, 0, "x") })
		}
	}},
	{name: "drips a DATA frame", sent: true, head: true, play: func(p *peers.H2Actor) {
		p.Greet()
		if r := p.AskedWhole(); r != nil {
			p.Send(p.Ok(r.ID))
			p.Drip(peers.H2Data(r.ID, peers.H2End, strings.Repeat("x", 1000)))
		}
	}},
	{name: "stops in the body", sent: true, head: true, play: func(p *peers.H2Actor) {
		p.Greet()
		if r := p.AskedWhole(); r != nil {
			p.Send(p.Ok(r.ID), peers.H2Data(r.ID, 0, "half"))
			p.Hold()
		}
	}},
	{name: "sends GOAWAY and nothing else", sent: true, play: func(p *peers.H2Actor) {
		p.Greet()
		if r := p.AskedWhole(); r != nil {
			p.Send(peers.H2GoAway(1<<31-1, 0))
			p.Hold()
		}
	}},
	{name: "gives no window", big: true, play: func(p *peers.H2Actor) { p.Stingy = true; p.Greet(); p.Hold() }},
	{name: "gives no window to streams", big: true, play: func(p *peers.H2Actor) { p.Stingy = true; p.Greet(4, 0); p.Hold() }},
	{name: "drips window", big: true, play: func(p *peers.H2Actor) {
		p.Stingy = true
		p.Greet(4, 0)
		if r := p.Asked(); r != nil {
			p.EverySecond(func() string { return peers.H2Window(r.ID, 1) + peers.H2Window(0, 1) })
		}
	}},
	{name: "gives windows and takes them back", big: true, play: func(p *peers.H2Actor) {
		p.Stingy = true
		p.Greet(4, 0)
		n := uint32(0)
		p.EverySecond(func() string { n++; return peers.H2Settings(4, n%2) })
	}},
	{name: "allows no streams", play: func(p *peers.H2Actor) { p.Greet(3, 0); p.Hold() }},
	{name: "doesn't read", big: true, play: func(p *peers.H2Actor) {
		p.Greet(4, 1<<30)
		for p.Send(peers.H2Window(0, 1<<20)) { // fails when the client has closed the connection
			time.Sleep(time.Second) // a slow server, by the clock of the bubble
		}
	}},
}

// inBubble runs a test in a bubble, with a client of a server whose connections are pipes.
func (x *h2Slow) inBubble(t *testing.T, f func(t *testing.T, s *peers.H2Script, c *gale.HostClient)) {
	peers.EmptyPools()
	synctest.Test(t, func(t *testing.T) { // fails if a goroutine is left
		s := peers.NewH2Script(t, x.play)
		c := harness.ScriptClient(s)
		f(t, s, c)
		c.CloseIdleConnections()
		synctest.Wait()
		if n := c.ConnsCount(); n > 0 {
			// A connection that is stuck may need as long as an idle one.
			time.Sleep(2 * gale.DefaultMaxIdleConnDuration) // by the clock of the bubble
		}
		s.WantClosed(c)
		s.Stop()
	})
}

// h2SlowLimit is how a call is limited.
type h2SlowLimit struct {
	name    string
	applies func(x *h2Slow) bool
	set     func(c *gale.HostClient, req *gale.Request)
	ctx     bool
	want    error
}

const h2SlowTime = 5 * time.Second

var h2SlowLimits = []h2SlowLimit{
	{name: "ReadTimeout", applies: func(x *h2Slow) bool { return x.sent }, set: func(c *gale.HostClient, _ *gale.Request) { c.ReadTimeout = h2SlowTime }, want: gale.ErrTimeout},
	{name: "ResponseHeaderTimeout", applies: func(x *h2Slow) bool { return x.sent && !x.head }, set: func(c *gale.HostClient, _ *gale.Request) { c.ResponseHeaderTimeout = h2SlowTime }, want: gale.ErrTimeout},
	{name: "WriteTimeout", applies: func(x *h2Slow) bool { return x.big }, set: func(c *gale.HostClient, _ *gale.Request) { c.WriteTimeout = h2SlowTime }, want: gale.ErrTimeout},
	{name: "SetTimeout", set: func(_ *gale.HostClient, req *gale.Request) { req.SetTimeout(h2SlowTime) }, want: gale.ErrTimeout},
	{name: "context", ctx: true, want: context.DeadlineExceeded},
}

func (x *h2Slow) request(n int) *gale.Request {
	req := &gale.Request{}
	req.SetRequestURI("http://a.test/slow")
	if x.big {
		postBody(n)(req)
	}
	return req
}

// TestH2ClientSlow proves that limits hold, for one call and for several on one connection.
func TestH2ClientSlow(t *testing.T) {
	peers.WithoutEngine(t)
	defer peers.EmptyPools()
	row := 0
	for _, x := range h2Slows {
		for _, lim := range h2SlowLimits {
			if lim.applies != nil && !lim.applies(&x) {
				continue
			}
			row++
			for i, calls := range []int{1, 3} {
				if !gate.Full() && (row+i)%2 > 0 {
					continue
				}
				t.Run(x.name+", "+lim.name+", "+fmt.Sprint(calls), func(t *testing.T) { x.limited(t, &lim, calls) })
			}
		}
	}
}

func (x *h2Slow) limited(t *testing.T, lim *h2SlowLimit, calls int) {
	x.inBubble(t, func(t *testing.T, s *peers.H2Script, c *gale.HostClient) {
		c.MaxIdemponentCallAttempts = 1
		var wg sync.WaitGroup
		var reqs []*gale.Request
		for range calls {
			req := x.request(1 << 20)
			if lim.set != nil {
				lim.set(c, req)
			}
			reqs = append(reqs, req)
		}
		for _, req := range reqs {
			wg.Go(func() {
				resp := harness.UsedResponse()
				ctx, cancel := context.Background(), func() {}
				if lim.ctx {
					ctx, cancel = context.WithTimeout(ctx, h2SlowTime)
				}
				defer cancel()
				from := time.Now()
				err := c.DoContext(ctx, req, resp)
				if d := time.Since(from); !errors.Is(err, lim.want) || d < h2SlowTime || d > h2SlowTime+time.Second/2 {
					t.Errorf("after %v: %v, want %v after %v", d, err, lim.want, h2SlowTime)
				}
				harness.CheckEmpty(t, resp)
			})
		}
		wg.Wait()
		if n := s.Accepted.Load(); n > int64(calls) {
			t.Errorf("%d connections for %d calls", n, calls)
		}
	})
}

// TestH2ClientSlowStreams proves that the limits hold while a body is streamed.
func TestH2ClientSlowStreams(t *testing.T) {
	defer peers.EmptyPools()
	for _, x := range h2Slows {
		if !x.head {
			continue
		}
		for _, lim := range h2SlowLimits {
			if lim.applies != nil && lim.name != "ReadTimeout" {
				continue
			}
			t.Run(x.name+", "+lim.name, func(t *testing.T) {
				x.inBubble(t, func(t *testing.T, s *peers.H2Script, c *gale.HostClient) {
					c.StreamResponseBody = true
					req, resp := x.request(0), &gale.Response{}
					if lim.set != nil {
						lim.set(c, req)
					}
					ctx, cancel := context.Background(), func() {}
					if lim.ctx {
						ctx, cancel = context.WithTimeout(ctx, h2SlowTime)
					}
					defer cancel()
					from := time.Now()
					if err := c.DoContext(ctx, req, resp); err != nil {
						t.Fatal(err)
					}
					b, err := io.ReadAll(resp.BodyStream())
					if d := time.Since(from); !errors.Is(err, lim.want) || d < h2SlowTime || d > h2SlowTime+time.Second/2 {
						t.Errorf("after %v and %q: %v, want %v after %v", d, b, err, lim.want, h2SlowTime)
					}
					if err := resp.CloseBodyStream(); err != nil && !errors.Is(err, lim.want) {
						t.Error(err)
					}
				})
			})
		}
	}
}

// TestH2ClientSlowWithoutLimits proves that a server that doesn't answer PING is given up
// by a call without limits, and that one that does is waited for.
func TestH2ClientSlowWithoutLimits(t *testing.T) {
	peers.WithoutEngine(t)
	defer peers.EmptyPools()
	for _, x := range h2Slows {
		t.Run(x.name, func(t *testing.T) {
			x.inBubble(t, func(t *testing.T, s *peers.H2Script, c *gale.HostClient) {
				c.MaxIdemponentCallAttempts = 1
				ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
				defer cancel()
				from := time.Now()
				resp := harness.UsedResponse()
				err := c.DoContext(ctx, x.request(1<<20), resp)
				t.Logf("after %v: %v", time.Since(from), err)
				dead := x.name == "says nothing" || x.name == "never answers, nor acknowledges"
				if err == nil || dead && errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("after %v: %v", time.Since(from), err)
				}
				harness.CheckEmpty(t, resp)
			})
		})
	}
}

// TestH2ClientSlowKeeps proves that a call that is given up costs its connection nothing:
// the next call uses it.
func TestH2ClientSlowKeeps(t *testing.T) {
	defer peers.EmptyPools()
	play := func(p *peers.H2Actor) {
		p.Greet(4, 1000)
		p.Stingy = true
		for r := p.Asked(); r != nil; r = p.Asked() {
			switch {
			case r.Path == "/good":
				p.Answer(r.ID, r.Answer())
			case r.Path == "/half":
				p.Send(p.Ok(r.ID), peers.H2Data(r.ID, 0, "half"))
			}
		}
	}
	for _, tc := range []struct {
		name, path string
		body       int
		stream     bool
	}{
		{"before the head", "/none", 0, false}, {"in the body", "/half", 0, false}, {"in a stream", "/half", 0, true}, {"while it sends", "/none", 1 << 20, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x := h2Slow{play: play}
			x.inBubble(t, func(t *testing.T, s *peers.H2Script, c *gale.HostClient) {
				c.StreamResponseBody = tc.stream
				for n := 1; n <= 50; n++ {
					req, resp := &gale.Request{}, &gale.Response{}
					req.SetRequestURI("http://a.test" + tc.path)
					if tc.body > 0 {
						postBody(tc.body)(req)
					}
					ctx, cancel := context.WithCancel(context.Background())
					time.AfterFunc(time.Second, cancel)
					err := c.DoContext(ctx, req, resp)
					if tc.stream {
						if err != nil {
							t.Fatal(err)
						}
						_, err = io.ReadAll(resp.BodyStream())
						resp.Reset()
					}
					if !errors.Is(err, context.Canceled) {
						t.Errorf("got %v", err)
					}
					good := &gale.Request{}
					good.SetRequestURI("http://a.test/good")
					resp = &gale.Response{}
					if err := c.Do(good, resp); err != nil {
						t.Fatal(err)
					}
					if string(resp.Body()) != "GET /good " {
						t.Fatalf("got %q", resp.Body())
					}
					synctest.Wait()
					_, resets := s.Codes()
					if resets[8] != n || len(resets) != 1 || s.Accepted.Load() != 1 {
						t.Fatalf("after %d calls: %v", n, s)
					}
				}
			})
		})
	}
}

// TestH2ClientIdle proves that an idle connection is closed in time, also if the server
// doesn't answer PING any more, and that the server is told.
func TestH2ClientIdle(t *testing.T) {
	defer peers.EmptyPools()
	for _, mute := range []bool{false, true} {
		x := h2Slow{play: func(p *peers.H2Actor) {
			p.Greet()
			if r := p.AskedWhole(); r != nil {
				p.Mute = mute
				p.Answer(r.ID, r.Answer())
				p.ServeAll()
			}
		}}
		x.inBubble(t, func(t *testing.T, s *peers.H2Script, c *gale.HostClient) {
			c.MaxIdleConnDuration = time.Minute
			harness.WantServed(t, c)
			time.Sleep(50 * time.Second) // by the clock of the bubble: shorter than MaxIdleConnDuration
			if !mute {
				harness.WantServed(t, c)
				if n := s.Accepted.Load(); n != 1 {
					t.Errorf("%d connections", n)
				}
			}
			time.Sleep(90 * time.Second) // by the clock of the bubble: longer than it
			synctest.Wait()
			if c.ConnsCount() != 0 || s.Open.Load() != 0 {
				t.Errorf("%d connections are left, %d of the server", c.ConnsCount(), s.Open.Load())
			}
		})
	}
}

// TestH2ClientCloseEndsRead proves that Close of a streamed body ends a Read that waits, also if all bytes
// have come and only the end of the stream is missing.
func TestH2ClientCloseEndsRead(t *testing.T) {
	defer peers.EmptyPools()
	for name, fields := range map[string][]string{"no length": nil, "all bytes have come": {"content-length", "3"}} {
		x := h2Slow{play: func(p *peers.H2Actor) {
			p.Greet()
			if r := p.Asked(); r != nil {
				p.Send(p.Ok(r.ID, fields...), peers.H2Data(r.ID, 0, "abc"))
				p.Hold()
			}
		}}
		t.Run(name, func(t *testing.T) {
			x.inBubble(t, func(t *testing.T, _ *peers.H2Script, c *gale.HostClient) {
				resp := &gale.Response{StreamBody: true}
				if err := c.Do(x.request(0), resp); err != nil {
					t.Fatalf("asking: %v", err)
				}
				body := resp.BodyStream()
				if _, err := io.ReadFull(body, make([]byte, 3)); err != nil {
					t.Fatalf("reading: %v", err)
				}
				end := make(chan error, 1)
				go func() {
					_, err := body.Read(make([]byte, 1))
					end <- err
				}()
				synctest.Wait()
				if err := body.(io.Closer).Close(); err != nil {
					t.Errorf("closing: %v", err)
				}
				synctest.Wait() // and no time passes
				select {
				case err := <-end:
					if err != io.ErrClosedPipe {
						t.Errorf("Read ended with %v", err)
					}
				default:
					t.Error("Read still waits")
					<-end
				}
			})
		})
	}
}
