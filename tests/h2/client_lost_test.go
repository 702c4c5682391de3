package h2

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// gatedConn is a client's connection whose writes fail and whose reads wait when the test
// says so, as if the server had reset it and the client hadn't noticed yet.
type gatedConn struct {
	net.Conn
	broken atomic.Bool   // writes fail
	failed chan struct{} // a write has failed
	once   sync.Once
	mu     sync.Mutex
	gate   chan struct{} // reads wait for its end; nil if they don't wait
	closed chan struct{}
	end    sync.Once
}

func newGatedConn(nc net.Conn) *gatedConn {
	return &gatedConn{Conn: nc, failed: make(chan struct{}), closed: make(chan struct{})}
}

func (c *gatedConn) Write(b []byte) (int, error) {
	if c.broken.Load() {
		c.once.Do(func() { close(c.failed) })
		return 0, &net.OpError{Op: "write", Net: "pipe", Err: syscall.EPIPE}
	}
	return c.Conn.Write(b)
}

func (c *gatedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	gate := c.gate
	c.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-c.closed:
			return 0, net.ErrClosed
		}
	}
	return n, err
}

func (c *gatedConn) Close() error {
	c.end.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// hold makes reads wait until the function that it returns is called.
func (c *gatedConn) hold() (open func()) {
	gate := make(chan struct{})
	c.mu.Lock()
	c.gate = gate
	c.mu.Unlock()
	return func() { close(gate) }
}

// gatedH2 returns a server and a client whose first connection is the gated one.
func gatedH2(t *testing.T, play func(p *peers.H2Actor)) (s *peers.H2Script, c *gale.HostClient, first *gatedConn) {
	s = peers.NewH2Script(t, func(p *peers.H2Actor) {
		p.Greet()
		if p.Nth > 1 {
			p.ServeAll()
			return
		}
		play(p)
	})
	c = harness.ScriptClient(s)
	c.Dial = func(addr string) (net.Conn, error) {
		nc, err := s.Dial(addr)
		if first == nil {
			first = newGatedConn(nc)
			return first, err
		}
		return nc, err
	}
	peers.Within(t, "the first call", func() { harness.WantServed(t, c) })
	return s, c, first
}

// A POST of which nothing could be written is sent again.
func TestH2ClientFailedWrite(t *testing.T) {
	s, c, first := gatedH2(t, func(p *peers.H2Actor) { p.ServeAll() })
	first.broken.Store(true)
	peers.Within(t, "the call", func() {
		if resp, err := harness.PostTo(c, "http://a.test/x", "body"); err != nil || string(resp.Body()) != "POST /x body" {
			t.Errorf("%q, %v", resp.Body(), err)
		}
	})
	first.Close() // else the client waits for what may still come
	harness.FinishScript(s, c)
	s.Stop()
}

// After a failed write the connection ends at once if the server breaks the rules, and within
// seconds if nothing more comes.
func TestH2ClientFailedWriteEnds(t *testing.T) {
	defer peers.EmptyPools()
	for _, in := range []string{peers.H2Settings(5, 0), peers.H2Wire(6, 0, 0, "12345678"), ""} {
		peers.EmptyPools()
		synctest.Test(t, func(t *testing.T) {
			goOn := make(chan struct{})
			s, c, first := gatedH2(t, func(p *peers.H2Actor) {
				r := p.AskedWhole()
				p.Answer(r.ID, r.Answer())
				<-goOn
				p.Send(in)
				p.Hold()
			})
			first.broken.Store(true)
			harness.WantServed(t, c) // over another connection
			close(goOn)
			synctest.Wait()
			if len(in) != 15 { // SETTINGS with one setting
				time.Sleep(3 * time.Second) // by the clock of the bubble
				synctest.Wait()
			}
			if n := c.ConnsCount(); n != 1 {
				t.Errorf("after %q there are %d connections", in, n)
			}
			harness.FinishScript(s, c)
			s.Stop()
		})
	}
}

// A server has processed one request, and ends the connection with GOAWAY. A write fails
// before the client has read that: it still reads what came, so the answer isn't lost, and
// the request that GOAWAY excludes is sent again.
func TestH2ClientGoAwayBehindFailedWrite(t *testing.T) {
	var open func()
	var gated *gatedConn
	var ran sync.Map
	ready := make(chan struct{})
	s, c, first := gatedH2(t, func(p *peers.H2Actor) {
		r := p.AskedWhole()
		p.Answer(r.ID, r.Answer())
		<-ready
		done := p.AskedWhole()
		ran.Store(done.Path, true)
		excluded := p.AskedWhole()
		open = gated.hold()
		gated.broken.Store(true)
		p.Answer(done.ID, done.Answer())
		p.Send(peers.H2GoAway(done.ID, 0))
		p.Close()
		close(ready)
		_ = excluded
	})
	gated = first
	ready <- struct{}{}
	var wg sync.WaitGroup
	for _, path := range []string{"/a", "/b"} {
		wg.Go(func() {
			resp, err := harness.PostTo(c, "http://a.test"+path, "body")
			if err != nil || string(resp.Body()) != "POST "+path+" body" {
				t.Errorf("%s: %q, %v; it ran before: %v", path, resp.Body(), err, mapHas(&ran, path))
			}
		})
	}
	peers.Within(t, "all calls", func() {
		<-ready // the server has sent all, and the client has read nothing of it
		wg.Go(func() {
			if resp, err := harness.PostTo(c, "http://a.test/c", "body"); err != nil || string(resp.Body()) != "POST /c body" {
				t.Errorf("/c: %q, %v", resp.Body(), err)
			}
		})
		<-first.failed
		open()
		wg.Wait()
	})
	harness.FinishScript(s, c)
	s.Stop()
}

func mapHas(m *sync.Map, key any) bool {
	_, ok := m.Load(key)
	return ok
}

// countUploads serves GET, and counts the bytes of uploads that have no end.
func countUploads(counts *[4]atomic.Int64) func(p *peers.H2Actor) {
	return func(p *peers.H2Actor) {
		p.Greet(4, 1<<20)
		p.Send(peers.H2Window(0, 1<<20))
		for r, _ := p.Part(); r != nil; r, _ = p.Part() {
			if r.Whole {
				p.Answer(r.ID, r.Answer())
			} else if r.Method == "POST" {
				counts[r.Path[1]-'0'].Add(int64(len(r.Body)))
				r.Body = r.Body[:0]
			}
		}
	}
}

// Uploads share a connection: each goes on, and calls beside them return.
func TestH2ClientUploadsShare(t *testing.T) {
	peers.WithoutEngine(t)
	for _, secure := range []bool{false, true} {
		for _, limited := range []bool{false, true} {
			if secure && limited {
				continue
			}
			t.Run(fmt.Sprintf("TLS=%v,limited=%v", secure, limited), func(t *testing.T) {
				check := peers.SettledH2(t)
				var counts [4]atomic.Int64
				s := peers.ScriptedH2(t, secure, countUploads(&counts))
				c := harness.ScriptClient(s)
				if limited { // with limits a call never waits in a write
					c.ReadTimeout, c.WriteTimeout = 0, time.Hour
				}
				ctx, cancel := context.WithCancel(context.Background())
				var wg sync.WaitGroup
				scheme := "http"
				if secure {
					scheme = "https"
				}
				for i := range counts {
					wg.Go(func() {
						req, resp := &gale.Request{}, &gale.Response{}
						req.SetRequestURI(fmt.Sprintf("%s://a.test/%d", scheme, i))
						req.Header.SetMethod("POST")
						if i != 1 {
							req.SetBodyStream(peers.Zeros{}, -1)
						} else {
							req.SetBodyRaw(make([]byte, 1<<30))
						}
						if err := c.DoContext(ctx, req, resp); !errors.Is(err, context.Canceled) {
							t.Errorf("upload %d: %v", i, err)
						}
					})
				}
				await.Until(t, "all uploads to begin", func() bool {
					for i := range counts {
						if counts[i].Load() == 0 {
							return false
						}
					}
					return true
				})
				for range 4 {
					wg.Go(func() {
						for range gate.Form(10, 3) {
							if body, err := harness.H2Get(c, "/g"); body != "GET /g " || err != nil {
								t.Errorf("%q, %v", body, err)
							}
						}
					})
				}
				peers.Within(t, "uploads and calls", func() {
					for i := range counts {
						for from := counts[i].Load(); counts[i].Load() < from+int64(race.Fewer(gate.Form(256<<10, 128<<10))); {
							time.Sleep(time.Millisecond) // between two looks
						}
					}
				})
				gets := make(chan struct{})
				go func() {
					for range gate.Form(10, 3) {
						if body, err := harness.H2Get(c, "/g"); body != "GET /g " || err != nil {
							t.Errorf("%q, %v", body, err)
						}
					}
					close(gets)
				}()
				peers.Within(t, "the calls beside uploads", func() { <-gets })
				cancel()
				peers.Within(t, "the uploads", wg.Wait)
				if n := s.Accepted.Load(); n != 1 {
					t.Errorf("%v", s)
				}
				harness.FinishScript(s, c)
				s.Stop()
				check()
			})
		}
	}
}
