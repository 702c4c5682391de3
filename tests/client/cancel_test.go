package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// cancelPhases are the places where a call waits. Each begins a call and returns a
// channel that is closed when the call waits there.
var cancelPhases = []struct {
	name  string
	begin func(t *testing.T) (c *gale.HostClient, url string, body io.Reader, waits <-chan struct{})
}{
	{"connection", func(t *testing.T) (*gale.HostClient, string, io.Reader, <-chan struct{}) {
		s := peers.StartScript(t, func(p *peers.ScriptConn, _ int) { p.Hold() })
		c := &gale.HostClient{Addr: s.Addr(), MaxConns: 1, MaxConnWaitTimeout: time.Hour}
		cc, err := c.AcquireConn(0, false)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.CloseConn(cc) })
		return c, s.URL(), nil, peers.Poll(func() bool { return c.PoolStats().Waiting == 1 || t.Context().Err() != nil })
	}},
	{"dial", func(t *testing.T) (*gale.HostClient, string, io.Reader, <-chan struct{}) {
		waits, end := make(chan struct{}), make(chan struct{})
		t.Cleanup(func() { close(end) })
		return &gale.HostClient{Addr: "example.com", Dial: func(string) (net.Conn, error) {
			close(waits)
			<-end
			return nil, errors.New("late")
		}}, "http://example.com/", nil, waits
	}},
	{"DialContext", func(*testing.T) (*gale.HostClient, string, io.Reader, <-chan struct{}) {
		waits := make(chan struct{})
		return &gale.HostClient{Addr: "example.com", DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			close(waits)
			<-ctx.Done()
			return nil, ctx.Err()
		}}, "http://example.com/", nil, waits
	}},
	{"TLS", func(t *testing.T) (*gale.HostClient, string, io.Reader, <-chan struct{}) {
		waits := make(chan struct{})
		s := peers.StartScript(t, func(p *peers.ScriptConn, _ int) {
			_, _ = p.Br.Peek(1)
			close(waits)
			p.Hold()
		})
		return &gale.HostClient{Addr: s.Addr(), IsTLS: true}, "https://" + s.Addr() + "/", nil, waits
	}},
	{"write", func(t *testing.T) (*gale.HostClient, string, io.Reader, <-chan struct{}) {
		waits := make(chan struct{})
		end := make(chan struct{})
		s := peers.StartScript(t, func(p *peers.ScriptConn, _ int) {
			_, _ = p.Br.Peek(1)
			close(waits)
			<-end
		})
		t.Cleanup(func() { close(end) })
		return &gale.HostClient{Addr: s.Addr()}, s.URL(), peers.Zeros{}, waits
	}},
	{"100-continue", func(t *testing.T) (*gale.HostClient, string, io.Reader, <-chan struct{}) {
		waits := make(chan struct{})
		s := peers.StartScript(t, func(p *peers.ScriptConn, _ int) {
			_ = new(gale.RequestHeader).Read(p.Br)
			close(waits)
			p.Hold()
		})
		return &gale.HostClient{Addr: s.Addr(), ExpectContinueTimeout: time.Hour}, s.URL(), expecting{}, waits
	}},
	{"head", func(t *testing.T) (*gale.HostClient, string, io.Reader, <-chan struct{}) {
		waits := make(chan struct{})
		s := peers.StartScript(t, func(p *peers.ScriptConn, _ int) {
			p.Request()
			close(waits)
			p.Hold()
		})
		return &gale.HostClient{Addr: s.Addr()}, s.URL(), nil, waits
	}},
	{"body", func(t *testing.T) (*gale.HostClient, string, io.Reader, <-chan struct{}) {
		waits := make(chan struct{})
		s := peers.StartScript(t, func(p *peers.ScriptConn, _ int) {
			p.Request()
			p.Say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
			close(waits)
			p.Hold()
		})
		return &gale.HostClient{Addr: s.Addr()}, s.URL(), nil, waits
	}},
	{"streamed body", func(t *testing.T) (*gale.HostClient, string, io.Reader, <-chan struct{}) {
		waits := make(chan struct{})
		s := peers.StartScript(t, func(p *peers.ScriptConn, _ int) {
			p.Request()
			p.Say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
			close(waits)
			p.Hold()
		})
		return &gale.HostClient{Addr: s.Addr(), StreamResponseBody: true}, s.URL(), nil, waits
	}},
}

// expecting is a body that waits for a 100.
type expecting struct{ peers.Zeros }

// callPhase makes the call of a phase, and reads its body.
func callPhase(ctx context.Context, c *gale.HostClient, url string, body io.Reader, timeout time.Duration) error {
	req, resp := &gale.Request{}, &gale.Response{}
	req.SetRequestURI(url)
	if body != nil {
		req.Header.SetMethod("POST")
		req.SetBodyStream(body, -1)
		if _, ok := body.(expecting); ok {
			req.Header.Set("Expect", "100-continue")
		}
	}
	req.SetTimeout(timeout)
	err := c.DoContext(ctx, req, resp)
	if err == nil && resp.IsBodyStream() {
		_, err = io.ReadAll(resp.BodyStream())
		resp.CloseBodyStream()
	}
	return err
}

// TestClientCancel proves that the end of a context ends a call wherever it waits, with
// the context's error, and that nothing leaks.
func TestClientCancel(t *testing.T) {
	for _, phase := range cancelPhases {
		t.Run(phase.name, func(t *testing.T) {
			c, url, body, waits := phase.begin(t)
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan error, 1)
			go func() { done <- callPhase(ctx, c, url, body, 0) }()
			<-waits
			cancel()
			if err := <-done; err != context.Canceled {
				t.Errorf("error %v, want context.Canceled", err)
			}
			if st := c.PoolStats(); st.Waiting != 0 || st.Idle != 0 {
				t.Errorf("%+v", st)
			}
		})
	}
}

// TestClientTimeout proves the same for a time limit.
func TestClientTimeout(t *testing.T) {
	peers.WithoutEngine(t)
	for _, phase := range cancelPhases {
		t.Run(phase.name, func(t *testing.T) {
			c, url, body, _ := phase.begin(t)
			if err := callPhase(context.Background(), c, url, body, 50*time.Millisecond); err != gale.ErrTimeout {
				t.Errorf("error %v, want ErrTimeout", err)
			}
		})
	}
}

// TestClientPhaseTimeouts proves that each limit for a phase ends that phase.
func TestClientPhaseTimeouts(t *testing.T) {
	const short = 30 * time.Millisecond
	set := map[string]func(*gale.HostClient){
		"connection":    func(c *gale.HostClient) { c.MaxConnWaitTimeout = short },
		"dial":          func(c *gale.HostClient) { c.MaxDialDuration = short },
		"DialContext":   func(c *gale.HostClient) { c.MaxDialDuration = short },
		"TLS":           func(c *gale.HostClient) { c.TLSHandshakeTimeout = short },
		"write":         func(c *gale.HostClient) { c.WriteTimeout = short },
		"head":          func(c *gale.HostClient) { c.ResponseHeaderTimeout = short },
		"body":          func(c *gale.HostClient) { c.ReadTimeout = short },
		"streamed body": func(c *gale.HostClient) { c.ReadTimeout = short },
	}
	want := map[string]error{"connection": gale.ErrNoFreeConns, "dial": gale.ErrDialTimeout, "DialContext": gale.ErrDialTimeout, "TLS": gale.ErrTLSHandshakeTimeout}
	for _, phase := range cancelPhases {
		f := set[phase.name]
		if f == nil {
			continue
		}
		t.Run(phase.name, func(t *testing.T) {
			c, url, body, _ := phase.begin(t)
			f(c)
			err := callPhase(context.Background(), c, url, body, 0)
			if w := want[phase.name]; w != nil {
				peers.WantError(t, err, w)
			} else if err != gale.ErrTimeout {
				t.Errorf("error %v, want ErrTimeout", err)
			}
		})
	}
}

// TestClientContextValues proves the rules for special contexts: one that has already
// ended, one that never ends, and one that ends after the call.
func TestClientContextValues(t *testing.T) {
	s := peers.StartScript(t, peers.Answering(peers.OkAnswer("good")))
	c := &gale.HostClient{Addr: s.Addr()}
	defer c.CloseIdleConnections()
	req, resp := &gale.Request{}, &gale.Response{}
	req.SetRequestURI(s.URL())
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := c.DoContext(ended, req, resp); err != context.Canceled || s.Accepted.Load() != 0 {
		t.Errorf("error %v, %d connections", err, s.Accepted.Load())
	}
	if err := c.DoContext(context.TODO(), req, resp); err != nil {
		t.Error(err)
	}
	for range 100 {
		ctx, cancel := context.WithCancel(context.Background())
		if err := c.DoContext(ctx, req, resp); err != nil {
			t.Error(err)
		}
		cancel()
	}
	if s.Accepted.Load() != 1 {
		t.Errorf("%d connections were made: a context that ends after the call must not cost its connection", s.Accepted.Load())
	}
	late, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	held := peers.StartScript(t, func(p *peers.ScriptConn, _ int) { p.Hold() })
	c2 := &gale.HostClient{Addr: held.Addr()}
	req.SetRequestURI(held.URL())
	if err := c2.DoContext(late, req, resp); err != context.DeadlineExceeded {
		t.Errorf("error %v, want context.DeadlineExceeded", err)
	}
}

// lateContext is a context whose deadline has passed, and whose timer is late.
type lateContext struct{ context.Context }

func (lateContext) Deadline() (time.Time, bool) { return time.Unix(1, 0), true }

// TestClientDialEndsFirst proves that the error is that of the context even if a dialer
// sees the deadline pass before the context ends.
func TestClientDialEndsFirst(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := &gale.HostClient{Addr: "a.test:80", DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, fmt.Errorf("dialing: %w", gale.ErrDialTimeout)
	}}
	req := &gale.Request{}
	req.SetRequestURI("http://a.test/")
	if err := c.DoContext(lateContext{ctx}, req, nil); err != context.DeadlineExceeded {
		t.Errorf("error %v, want context.DeadlineExceeded", err)
	}
	if err := c.DoContext(ctx, req, nil); !errors.Is(err, gale.ErrDialTimeout) {
		t.Errorf("without a deadline: error %v, want ErrDialTimeout", err)
	}
}

// TestClientLeavesNothing sends requests that time out and requests that are
// cancelled, at random moments, and counts goroutines and descriptors.
func TestClientLeavesNothing(t *testing.T) {
	n := 1000
	if race.Enabled || !gate.Full() {
		n = 200
	}
	check := peers.Settled(t)
	func() {
		s := peers.StartScript(t, func(p *peers.ScriptConn, nth int) {
			for p.Request() != nil {
				switch nth % 3 {
				case 0:
					p.Hold()
					return
				case 1:
					p.Say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
					p.Hold()
					return
				}
				p.Say(peers.OkAnswer("good"))
			}
		})
		c := &gale.HostClient{Addr: s.Addr(), MaxConns: 50, MaxConnWaitTimeout: time.Minute}
		ctx := context.Background()
		var wg sync.WaitGroup
		queue := make(chan int)
		for range 50 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for i := range queue {
					limit := time.Duration(i%20) * time.Millisecond / 4
					var err error
					if i%2 == 0 {
						err = callPhase(ctx, c, s.URL(), nil, limit+1)
					} else {
						own, cancel := context.WithCancel(ctx)
						time.AfterFunc(limit, cancel)
						err = callPhase(own, c, s.URL(), nil, 0)
						cancel()
					}
					if err != nil && err != gale.ErrTimeout && err != context.Canceled {
						t.Error(err)
					}
				}
			}()
		}
		for i := range 2 * n {
			queue <- i
		}
		close(queue)
		wg.Wait()
		if st := c.PoolStats(); st.Open != st.Idle || st.Waiting != 0 {
			t.Errorf("connections are lost: %+v", st)
		}
		c.CloseIdleConnections()
		if n := c.ConnsCount(); n != 0 || c.PendingRequests() != 0 {
			t.Errorf("%d connections are left, %d requests", n, c.PendingRequests())
		}
		s.Stop()
	}()
	check()
}
