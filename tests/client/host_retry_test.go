//lint:file-ignore SA1019 deprecated names have to work, too

package client

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// TestClientRetry proves when a lost request is sent again: if the connection was used
// before, no byte of the answer has come and the method is idempotent. It is never sent
// again if other code is responsible for retries.
func TestClientRetry(t *testing.T) {
	closeAtOnce := func(p *peers.ScriptConn) {}
	reset := func(p *peers.ScriptConn) { p.Reset() }
	half := func(p *peers.ScriptConn) { p.Say("HTTP/1.1 200 OK\r\nCon") }
	silent := func(p *peers.ScriptConn) { p.Hold() }
	garbage := func(p *peers.ScriptConn) { p.Say("garbage\r\n\r\n") }
	var sent *gale.ErrRequestSent
	isSent := func(err error) bool { return errors.As(err, &sent) && errors.Is(err, gale.ErrConnectionClosed) }
	is := func(want error) func(error) bool { return func(err error) bool { return err == want } }
	any := func(err error) bool { return err != nil }
	for _, tc := range []struct {
		name   string
		method string
		fresh  bool // the connection was not used before
		end    func(*peers.ScriptConn)
		sent   int // how often the request was sent
		check  func(error) bool
	}{
		{"GET", "GET", false, closeAtOnce, 2, is(nil)},
		{"GET, reset", "GET", false, reset, 2, is(nil)},
		{"HEAD", "HEAD", false, closeAtOnce, 2, is(nil)},
		{"PUT", "PUT", false, closeAtOnce, 2, is(nil)},
		{"DELETE", "DELETE", false, closeAtOnce, 2, is(nil)},
		{"OPTIONS", "OPTIONS", false, closeAtOnce, 2, is(nil)},
		{"POST", "POST", false, closeAtOnce, 1, isSent},
		{"POST, reset", "POST", false, reset, 1, isSent},
		{"PATCH", "PATCH", false, closeAtOnce, 1, isSent},
		{"own method", "FROB", false, closeAtOnce, 1, isSent},
		{"GET, new connection", "GET", true, closeAtOnce, 1, is(gale.ErrConnectionClosed)},
		{"POST, new connection", "POST", true, closeAtOnce, 1, isSent},
		{"GET, half a head", "GET", false, half, 1, any},
		{"GET, garbage", "GET", false, garbage, 1, any},
		{"GET, time-out", "GET", false, silent, 1, is(gale.ErrTimeout)},
		{"POST, time-out", "POST", false, silent, 1, is(gale.ErrTimeout)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := peers.StartScript(t, func(p *peers.ScriptConn, nth int) {
				if nth == 1 && !tc.fresh {
					p.Request()
					p.Say(peers.OkAnswer("first"))
				}
				if nth == 1 {
					p.Request()
					tc.end(p)
					return
				}
				for req := p.Request(); req != nil; req = p.Request() {
					if req.Method == "HEAD" {
						p.Say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
					} else {
						p.Say(peers.OkAnswer("again"))
					}
				}
			})
			c := &gale.HostClient{Addr: s.Addr(), ReadTimeout: time.Hour}
			defer c.CloseIdleConnections()
			extra := 0
			if !tc.fresh {
				extra = 1
				if _, err := harness.GetFrom(c, "GET", s.URL()); err != nil {
					t.Fatal(err)
				}
			}
			if strings.Contains(tc.name, "time-out") {
				c.ReadTimeout = 50 * time.Millisecond
			}
			if _, err := harness.GetFrom(c, tc.method, s.URL()); !tc.check(err) {
				t.Errorf("error %T %v", err, err)
			}
			await.Until(t, "the request to arrive", func() bool { return int(s.Requests.Load())-extra >= tc.sent })
			if n := int(s.Requests.Load()) - extra; n != tc.sent {
				t.Errorf("the request was sent %d times, want %d", n, tc.sent)
			}
		})
	}
}

// TestClientRetryHooks proves that the user's functions replace the rules, and which
// arguments they get.
func TestClientRetryHooks(t *testing.T) {
	var told []string
	note := func(attempts int, err error, upstream string) {
		told = append(told, fmt.Sprintf("%d %v %v", attempts, err, upstream != ""))
	}
	for _, tc := range []struct {
		name string
		c    *gale.HostClient
		sent int64
		told string
	}{
		{"RetryIf", &gale.HostClient{RetryIf: func(*gale.Request) bool { return true }}, 5, ""},
		{"RetryIf says no", &gale.HostClient{RetryIf: func(*gale.Request) bool { return false }}, 1, ""},
		{"RetryIfErr", &gale.HostClient{MaxIdemponentCallAttempts: 3, RetryIfErr: func(_ *gale.Request, n int, err error) (bool, bool) {
			note(n, err, "")
			return false, true
		}}, 3, "1 EOF false, 2 EOF false"},
		{"RetryIfErrUpstream", &gale.HostClient{
			RetryIf:    func(*gale.Request) bool { panic("not to be asked") },
			RetryIfErr: func(*gale.Request, int, error) (bool, bool) { panic("not to be asked") },
			RetryIfErrUpstream: func(_ *gale.Request, n int, err error, up string) (bool, bool) {
				note(n, err, up)
				return false, n < 2
			}}, 2, "1 EOF true, 2 EOF true"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			told = nil
			s := peers.StartScript(t, func(p *peers.ScriptConn, _ int) { p.Request() })
			tc.c.Addr = s.Addr()
			_, err := harness.PostTo(tc.c, s.URL(), "body")
			peers.WantError(t, err, gale.ErrConnectionClosed)
			if s.Requests.Load() != tc.sent || strings.Join(told, ", ") != tc.told {
				t.Errorf("sent %d times, want %d; told %q, want %q", s.Requests.Load(), tc.sent, told, tc.told)
			}
		})
	}
	t.Run("time", func(t *testing.T) {
		peers.WithMoreTime(t, 30*time.Millisecond, func(limit time.Duration) error {
			s := peers.StartScript(t, func(p *peers.ScriptConn, _ int) { p.Request(); p.Hold() })
			c := &gale.HostClient{Addr: s.Addr(), RetryIfErr: func(_ *gale.Request, n int, err error) (bool, bool) {
				if err != gale.ErrTimeout {
					t.Error(err)
				}
				return true, n < 3
			}}
			req := &gale.Request{}
			req.SetRequestURI(s.URL())
			err := c.DoTimeout(req, nil, limit)
			if err != gale.ErrTimeout {
				t.Errorf("got %v, want ErrTimeout", err)
			}
			if req.GetTimeOut() != 0 {
				t.Error("DoTimeout left its limit in the request")
			}
			if n := s.Requests.Load(); n != 3 {
				return fmt.Errorf("%d requests; with a new limit for each attempt there are 3", n)
			}
			return nil
		})
	})
	t.Run("stream", func(t *testing.T) {
		s := peers.StartScript(t, func(p *peers.ScriptConn, _ int) { p.Request() })
		c := &gale.HostClient{Addr: s.Addr(), RetryIf: func(*gale.Request) bool { return true }}
		req := &gale.Request{}
		req.SetRequestURI(s.URL())
		req.Header.SetMethod("PUT")
		req.SetBodyStream(strings.NewReader("body"), 4)
		peers.WantError(t, c.Do(req, nil), gale.ErrConnectionClosed)
		if s.Requests.Load() != 1 {
			t.Errorf("a stream was sent %d times", s.Requests.Load())
		}
	})
}

// In TestClientStaleConnections a server closes each connection after its answer, without
// a "Connection: close", at about the time of the next request. No request is processed
// twice. Idempotent requests don't fail, and others fail only with the error for this
// case.
func TestClientStaleConnections(t *testing.T) {
	peers.WithoutEngine(t)
	rounds := gate.Form(10_000, 1000)
	var mu sync.Mutex
	seen := map[string]int{}
	s := peers.StartScript(t, func(p *peers.ScriptConn, nth int) {
		for i := 0; i <= nth%3; i++ {
			req := p.Request()
			if req == nil {
				return
			}
			mu.Lock()
			seen[req.Header.Get("X-Id")]++
			mu.Unlock()
			p.Say(peers.OkAnswer("good"))
		}
	})
	c := &gale.HostClient{Addr: s.Addr()}
	defer c.CloseIdleConnections()
	var req gale.Request
	var resp gale.Response
	failed := 0
	for i := range rounds {
		id := fmt.Sprint(i)
		req.Reset()
		req.SetRequestURI(s.URL())
		req.Header.Set("X-Id", id)
		if i%2 == 0 {
			req.Header.SetMethod("POST")
			req.SetBodyString("body")
		}
		err := c.Do(&req, &resp)
		var sent *gale.ErrRequestSent
		if err != nil && (i%2 == 1 || !errors.As(err, &sent)) {
			t.Fatalf("round %d: %v", i, err)
		}
		if err != nil {
			failed++
		}
		mu.Lock()
		if n := seen[id]; n > 1 || n == 0 && err == nil {
			t.Fatalf("round %d: the server answered %d times", i, n)
		}
		delete(seen, id)
		mu.Unlock()
	}
	t.Logf("%d of %d POSTs hit the moment; %+v", failed, rounds/2, c.PoolStats())
}

// TestClientTransport proves that a RoundTripper that wraps the default one has the same
// retry rules, and that the result of another one is obeyed.
func TestClientTransport(t *testing.T) {
	s := peers.StartScript(t, func(p *peers.ScriptConn, nth int) {
		for i := 0; p.Request() != nil; i++ {
			if nth == 1 && i == 1 {
				return
			}
			p.Say(peers.OkAnswer("good"))
		}
	})
	var trips atomic.Int64
	c := &gale.HostClient{Addr: s.Addr(), Transport: roundTripFunc(func(hc *gale.HostClient, req *gale.Request, resp *gale.Response) (bool, error) {
		trips.Add(1)
		return gale.DefaultTransport.RoundTrip(hc, req, resp)
	})}
	defer c.CloseIdleConnections()
	for range 2 {
		if resp, err := harness.GetFrom(c, "GET", s.URL()); err != nil || string(resp.Body()) != "good" {
			t.Fatalf("%q, %v", resp.Body(), err)
		}
	}
	if trips.Load() != 3 {
		t.Errorf("%d attempts, want 3: the second request met a closed connection", trips.Load())
	}
	boom := errors.New("boom")
	trips.Store(0)
	c = &gale.HostClient{Addr: s.Addr(), Transport: roundTripFunc(func(*gale.HostClient, *gale.Request, *gale.Response) (bool, error) {
		trips.Add(1)
		return true, boom
	})}
	if _, err := harness.GetFrom(c, "GET", s.URL()); err != boom || trips.Load() != gale.DefaultMaxIdemponentCallAttempts {
		t.Errorf("GET: %v after %d attempts", err, trips.Load())
	}
	trips.Store(0)
	if _, err := harness.PostTo(c, s.URL(), "x"); err != boom || trips.Load() != 1 {
		t.Errorf("POST: %v after %d attempts", err, trips.Load())
	}
}

type roundTripFunc func(hc *gale.HostClient, req *gale.Request, resp *gale.Response) (retry bool, err error)

func (f roundTripFunc) RoundTrip(hc *gale.HostClient, req *gale.Request, resp *gale.Response) (bool, error) {
	return f(hc, req, resp)
}
