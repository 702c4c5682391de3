package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/tests/harness"
)

// Without clients there is an error, and no panic.
func TestLBClientEmpty(t *testing.T) {
	cc := &gale.LBClient{}
	if err := cc.Do(nil, nil); err != gale.ErrNoAvailableClients {
		t.Errorf("got %v, want ErrNoAvailableClients", err)
	}
	a := new(harness.BalancedServer)
	if n := cc.AddClient(a); n != 1 || cc.Do(nil, nil) != nil || a.Calls.Load() != 1 {
		t.Errorf("there are %d clients, want 1 that performs", n)
	}
	if n := cc.RemoveClients(func(gale.BalancingClient) bool { return true }); n != 0 {
		t.Errorf("%d are left, want none", n)
	}
	if err := cc.DoContext(t.Context(), nil, nil); err != gale.ErrNoAvailableClients {
		t.Errorf("got %v, want ErrNoAvailableClients", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	resp := &gale.Response{}
	for name, do := range map[string]func() error{
		"Do":                func() error { return cc.Do(nil, resp) },
		"DoContext":         func() error { return cc.DoContext(t.Context(), nil, resp) },
		"an ended context":  func() error { return cc.DoContext(ended, nil, resp) },
		"a time that is up": func() error { return cc.DoTimeout(nil, resp, 0) },
	} {
		resp.SetBodyString("of another request")
		if err := do(); err == nil || len(resp.Body()) > 0 {
			t.Errorf("%s: %v, and the response is %q", name, err, resp.Body())
		}
	}
	cc = &gale.LBClient{Clients: []gale.BalancingClient{a}}
	if n := cc.AddClient(new(harness.BalancedServer)); n != 2 {
		t.Errorf("there are %d clients, want both that it was made with and that was added", n)
	}
	func() {
		defer func() { recover() }()
		cc.RemoveClients(func(gale.BalancingClient) bool { panic("oh") })
	}()
	if n := cc.RemoveClients(func(gale.BalancingClient) bool { return false }); n != 2 {
		t.Errorf("%d clients are left after a panic, want 2", n)
	}
}

// Clients are added and removed while requests are performed.
func TestLBClientConcurrent(t *testing.T) {
	oh := errors.New("oh")
	a, b := new(harness.BalancedServer), new(harness.BalancedServer)
	b.Fail.Store(&oh)
	cc := &gale.LBClient{Clients: []gale.BalancingClient{a, b}}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range 1000 {
				cc.Do(nil, nil)
				if n%100 == i {
					c := new(harness.BalancedServer)
					cc.AddClient(c)
					cc.RemoveClients(func(x gale.BalancingClient) bool { return x == c })
				}
			}
		})
	}
	wg.Wait()
	if n := cc.RemoveClients(func(gale.BalancingClient) bool { return false }); n != 2 {
		t.Errorf("%d clients are left, want 2", n)
	}
}

// A streamed body can be read after Do has returned: its timeout has not passed.
func TestLBClientStreams(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	rest := make(chan struct{})
	s := &gale.Server{Handler: func(ctx *gale.RequestCtx) {
		ctx.WriteString("a part, ")
		_ = ctx.Flush()
		<-rest
		ctx.WriteString("and the rest")
	}}
	go s.Serve(ln)
	defer s.Close()
	hc := &gale.HostClient{Addr: ln.Addr().String(), StreamResponseBody: true}
	defer hc.CloseIdleConnections()
	cc := &gale.LBClient{Clients: []gale.BalancingClient{hc}, Timeout: 30 * time.Second}
	for name, do := range map[string]func(*gale.Request, *gale.Response) error{
		"Do": cc.Do,
		"DoContext": func(req *gale.Request, resp *gale.Response) error {
			return cc.DoContext(context.Background(), req, resp)
		},
	} {
		var req gale.Request
		var resp gale.Response
		req.SetRequestURI("http://" + hc.Addr + "/")
		if err := do(&req, &resp); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		rest <- struct{}{}
		got, err := io.ReadAll(resp.BodyStream())
		if err != nil || string(got) != "a part, and the rest" {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
		_ = resp.CloseBodyStream()
	}
}

// lbContextServer is an harness.BalancedServer with methods that take contexts.
type lbContextServer struct{ harness.BalancedServer }

func (s *lbContextServer) DoContext(ctx context.Context, req *gale.Request, resp *gale.Response) error {
	if _, ok := ctx.Deadline(); !ok {
		return errors.New("no deadline")
	}
	<-ctx.Done()
	return ctx.Err()
}

// lbCalls performs n requests and returns how many each client got.
func lbCalls(cc *gale.LBClient, n int, clients ...*harness.BalancedServer) string {
	before := make([]int64, len(clients))
	for i, c := range clients {
		before[i] = c.Calls.Load()
	}
	for range n {
		cc.Do(&gale.Request{}, &gale.Response{})
	}
	var s string
	for i, c := range clients {
		s += fmt.Sprintf(" %d", c.Calls.Load()-before[i])
	}
	return s[1:]
}

// A request goes to the client with the fewest pending requests; equal clients take
// turns. A client that is added or recovers doesn't get extra requests to catch up.
func TestLBClientChoice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, c := new(harness.BalancedServer), new(harness.BalancedServer), new(harness.BalancedServer)
		cc := &gale.LBClient{Clients: []gale.BalancingClient{a, b, nil, c}}
		want := func(what string, n int, want string) {
			t.Helper()
			if got := lbCalls(cc, n, a, b, c); got != want {
				t.Errorf("%s: got %s, want %s", what, got, want)
			}
		}
		want("equal", 30, "10 10 10")
		b.Pending.Store(1)
		want("one is busy", 30, "15 0 15")
		b.Pending.Store(0)
		want("it no longer is", 30, "10 10 10")
		oh := errors.New("oh")
		a.Fail.Store(&oh)
		want("failing", 301, "1 150 150")
		a.Fail.Store(nil)
		want("not failing, but hasn't proved it", 30, "0 15 15")
		time.Sleep(3 * time.Second) // by the clock of the bubble
		want("recovered", 30, "10 10 10")
		if n := cc.RemoveClients(func(x gale.BalancingClient) bool { return x == b }); n != 2 {
			t.Errorf("%d are left, want 2", n)
		}
		want("one was removed", 30, "15 0 15")
		if n := cc.AddClient(b); n != 3 {
			t.Errorf("there are %d, want 3", n)
		}
		want("one was added", 31, "10 11 10")
	})
}

// Failures count for three seconds, and at most 300 of them.
func TestLBClientFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := new(harness.BalancedServer), new(harness.BalancedServer)
		b.Pending.Store(1000)
		bad := true
		cc := &gale.LBClient{
			Clients:     []gale.BalancingClient{a, b},
			HealthCheck: func(*gale.Request, *gale.Response, error) bool { return !bad },
		}
		if got := lbCalls(cc, 900, a, b); got != "900 0" {
			t.Errorf("got %s, want 900 failures to weigh less than 1000 pending requests", got)
		}
		b.Pending.Store(299)
		bad = false
		if got := lbCalls(cc, 10, a, b); got != "0 10" {
			t.Errorf("got %s, want failures to weigh 300", got)
		}
		time.Sleep(2 * time.Second) // by the clock of the bubble
		bad = true
		b.Pending.Store(1000)
		lbCalls(cc, 5, a, b)
		time.Sleep(time.Second) // by the clock of the bubble
		if n := door.LoadOf(cc); n != 0 {
			t.Errorf("%d failures count, want those over 300 to be none", n)
		}
		lbCalls(cc, 7, a, b)
		time.Sleep(2 * time.Second) // by the clock of the bubble
		lbCalls(cc, 300, a, b)
		if n := door.LoadOf(cc); n != 300 {
			t.Errorf("%d failures count, want 300", n)
		}
		time.Sleep(time.Second) // by the clock of the bubble
		if n := door.LoadOf(cc); n != 293 {
			t.Errorf("%d failures count, want 293", n)
		}
	})
}

// Each method that performs a request gives the client the right deadline.
func TestLBClientDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := new(harness.BalancedServer)
		cc := &gale.LBClient{Clients: []gale.BalancingClient{a}}
		now := time.Now()
		want := func(what string, err error, want time.Duration) {
			t.Helper()
			if d := a.Deadline.Load().Sub(now); err != nil || d != want {
				t.Errorf("%s: got %v and a deadline in %v, want %v", what, err, d, want)
			}
		}
		want("Do", cc.Do(nil, nil), gale.DefaultLBClientTimeout)
		cc.Timeout = time.Minute
		want("Do with Timeout", cc.Do(nil, nil), time.Minute)
		want("DoTimeout", cc.DoTimeout(nil, nil, time.Hour), time.Hour)
		want("DoDeadline", cc.DoDeadline(nil, nil, now.Add(-1)), -1)
		want("DoContext", cc.DoContext(t.Context(), nil, nil), time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		want("DoContext with a deadline", cc.DoContext(ctx, nil, nil), time.Hour)
		cancel()
		if err := cc.DoContext(ctx, nil, nil); err != context.Canceled {
			t.Errorf("got %v of a context that was cancelled", err)
		}

		cc = &gale.LBClient{Clients: []gale.BalancingClient{new(lbContextServer)}, Timeout: time.Minute}
		if err := cc.DoContext(t.Context(), nil, nil); err != context.DeadlineExceeded || time.Since(now) != time.Minute {
			t.Errorf("got %v after %v, want Timeout to count", err, time.Since(now))
		}
		if door.LoadOf(cc) != 1 {
			t.Error("a request whose time was up is no failure")
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Hour)
		time.AfterFunc(time.Second, cancel)
		if err := cc.DoContext(ctx, nil, nil); err != context.Canceled || door.LoadOf(cc) != 1 {
			t.Errorf("got %v, load %d, want who cancels not to blame the client", err, door.LoadOf(cc))
		}
	})
}
