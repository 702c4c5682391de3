package gale

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestClientRetry proves when a lost request is sent again: if the connection was used
// before, no byte of the answer has come and the method is idempotent. It is never sent
// again if other code is responsible for retries.
func TestClientRetry(t *testing.T) {
	closeAtOnce := func(p *scriptConn) {}
	reset := func(p *scriptConn) { p.reset() }
	half := func(p *scriptConn) { p.write("HTTP/1.1 200 OK\r\nCon") }
	silent := func(p *scriptConn) { p.hold() }
	garbage := func(p *scriptConn) { p.write("garbage\r\n\r\n") }
	var sent *ErrRequestSent
	isSent := func(err error) bool { return errors.As(err, &sent) && errors.Is(err, ErrConnectionClosed) }
	is := func(want error) func(error) bool { return func(err error) bool { return err == want } }
	any := func(err error) bool { return err != nil }
	for _, tc := range []struct {
		name   string
		method string
		fresh  bool // the connection was not used before
		end    func(*scriptConn)
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
		{"GET, new connection", "GET", true, closeAtOnce, 1, is(ErrConnectionClosed)},
		{"POST, new connection", "POST", true, closeAtOnce, 1, isSent},
		{"GET, half a head", "GET", false, half, 1, any},
		{"GET, garbage", "GET", false, garbage, 1, any},
		{"GET, time-out", "GET", false, silent, 1, is(ErrTimeout)},
		{"POST, time-out", "POST", false, silent, 1, is(ErrTimeout)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := scripted(t, func(p *scriptConn, nth int) {
				if nth == 1 && !tc.fresh {
					p.request()
					p.write(okAnswer("first"))
				}
				if nth == 1 {
					p.request()
					tc.end(p)
					return
				}
				for req := p.request(); req != nil; req = p.request() {
					if req.Header.IsHead() {
						p.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
					} else {
						p.write(okAnswer("again"))
					}
				}
			})
			c := &HostClient{Addr: s.addr(), ReadTimeout: time.Hour}
			defer c.CloseIdleConnections()
			extra := 0
			if !tc.fresh {
				extra = 1
				if _, err := getFrom(c, "GET", s.url()); err != nil {
					t.Fatal(err)
				}
			}
			if strings.Contains(tc.name, "time-out") {
				c.ReadTimeout = 50 * time.Millisecond
			}
			if _, err := getFrom(c, tc.method, s.url()); !tc.check(err) {
				t.Errorf("error %T %v", err, err)
			}
			await(t, "the request to arrive", func() bool { return int(s.requests.Load())-extra >= tc.sent })
			if n := int(s.requests.Load()) - extra; n != tc.sent {
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
		c    *HostClient
		sent int64
		told string
	}{
		{"RetryIf", &HostClient{RetryIf: func(*Request) bool { return true }}, 5, ""},
		{"RetryIf says no", &HostClient{RetryIf: func(*Request) bool { return false }}, 1, ""},
		{"RetryIfErr", &HostClient{MaxIdemponentCallAttempts: 3, RetryIfErr: func(_ *Request, n int, err error) (bool, bool) {
			note(n, err, "")
			return false, true
		}}, 3, "1 EOF false, 2 EOF false"},
		{"RetryIfErrUpstream", &HostClient{
			RetryIf:    func(*Request) bool { panic("not to be asked") },
			RetryIfErr: func(*Request, int, error) (bool, bool) { panic("not to be asked") },
			RetryIfErrUpstream: func(_ *Request, n int, err error, up string) (bool, bool) {
				note(n, err, up)
				return false, n < 2
			}}, 2, "1 EOF true, 2 EOF true"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			told = nil
			s := scripted(t, func(p *scriptConn, _ int) { p.request() })
			tc.c.Addr = s.addr()
			_, err := postTo(tc.c, s.url(), "body")
			wantError(t, err, ErrConnectionClosed)
			if s.requests.Load() != tc.sent || strings.Join(told, ", ") != tc.told {
				t.Errorf("sent %d times, want %d; told %q, want %q", s.requests.Load(), tc.sent, told, tc.told)
			}
		})
	}
	t.Run("time", func(t *testing.T) {
		withMoreTime(t, 30*time.Millisecond, func(limit time.Duration) error {
			s := scripted(t, func(p *scriptConn, _ int) { p.request(); p.hold() })
			c := &HostClient{Addr: s.addr(), RetryIfErr: func(_ *Request, n int, err error) (bool, bool) {
				if err != ErrTimeout {
					t.Error(err)
				}
				return true, n < 3
			}}
			req := &Request{}
			req.SetRequestURI(s.url())
			err := c.DoTimeout(req, nil, limit)
			if err != ErrTimeout {
				t.Errorf("got %v, want ErrTimeout", err)
			}
			if req.GetTimeOut() != 0 {
				t.Error("DoTimeout left its limit in the request")
			}
			if n := s.requests.Load(); n != 3 {
				return fmt.Errorf("%d requests; with a new limit for each attempt there are 3", n)
			}
			return nil
		})
	})
	t.Run("stream", func(t *testing.T) {
		s := scripted(t, func(p *scriptConn, _ int) { p.request() })
		c := &HostClient{Addr: s.addr(), RetryIf: func(*Request) bool { return true }}
		req := &Request{}
		req.SetRequestURI(s.url())
		req.Header.SetMethod("PUT")
		req.SetBodyStream(strings.NewReader("body"), 4)
		wantError(t, c.Do(req, nil), ErrConnectionClosed)
		if s.requests.Load() != 1 {
			t.Errorf("a stream was sent %d times", s.requests.Load())
		}
	})
}

// In TestClientStaleConnections a server closes each connection after its answer, without
// a "Connection: close", at about the time of the next request. No request is processed
// twice. Idempotent requests don't fail, and others fail only with the error for this
// case.
func TestClientStaleConnections(t *testing.T) {
	withoutEngine(t)
	rounds := 10_000
	if testing.Short() {
		rounds = 1000
	}
	var mu sync.Mutex
	seen := map[string]int{}
	s := scripted(t, func(p *scriptConn, nth int) {
		for i := 0; i <= nth%3; i++ {
			req := p.request()
			if req == nil {
				return
			}
			mu.Lock()
			seen[string(req.Header.Peek("X-Id"))]++
			mu.Unlock()
			p.write(okAnswer("good"))
		}
	})
	c := &HostClient{Addr: s.addr()}
	defer c.CloseIdleConnections()
	var req Request
	var resp Response
	failed := 0
	for i := range rounds {
		id := fmt.Sprint(i)
		req.Reset()
		req.SetRequestURI(s.url())
		req.Header.Set("X-Id", id)
		if i%2 == 0 {
			req.Header.SetMethod("POST")
			req.SetBodyString("body")
		}
		err := c.Do(&req, &resp)
		var sent *ErrRequestSent
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
			if _, err := io.WriteString(b, okAnswer("good")); err != nil {
				return
			}
		}
	}
}

// TestClientTransport proves that a RoundTripper that wraps the default one has the same
// retry rules, and that the result of another one is obeyed.
func TestClientTransport(t *testing.T) {
	s := scripted(t, func(p *scriptConn, nth int) {
		for i := 0; p.request() != nil; i++ {
			if nth == 1 && i == 1 {
				return
			}
			p.write(okAnswer("good"))
		}
	})
	var trips atomic.Int64
	c := &HostClient{Addr: s.addr(), Transport: roundTripFunc(func(hc *HostClient, req *Request, resp *Response) (bool, error) {
		trips.Add(1)
		return DefaultTransport.RoundTrip(hc, req, resp)
	})}
	defer c.CloseIdleConnections()
	for range 2 {
		if resp, err := getFrom(c, "GET", s.url()); err != nil || string(resp.Body()) != "good" {
			t.Fatalf("%q, %v", resp.Body(), err)
		}
	}
	if trips.Load() != 3 {
		t.Errorf("%d attempts, want 3: the second request met a closed connection", trips.Load())
	}
	boom := errors.New("boom")
	trips.Store(0)
	c = &HostClient{Addr: s.addr(), Transport: roundTripFunc(func(*HostClient, *Request, *Response) (bool, error) {
		trips.Add(1)
		return true, boom
	})}
	if _, err := getFrom(c, "GET", s.url()); err != boom || trips.Load() != DefaultMaxIdemponentCallAttempts {
		t.Errorf("GET: %v after %d attempts", err, trips.Load())
	}
	trips.Store(0)
	if _, err := postTo(c, s.url(), "x"); err != boom || trips.Load() != 1 {
		t.Errorf("POST: %v after %d attempts", err, trips.Load())
	}
}

type roundTripFunc func(hc *HostClient, req *Request, resp *Response) (retry bool, err error)

func (f roundTripFunc) RoundTrip(hc *HostClient, req *Request, resp *Response) (bool, error) {
	return f(hc, req, resp)
}
