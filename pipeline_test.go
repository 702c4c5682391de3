package gale

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale/tests/harness/await"
	"github.com/galehttp/gale/tests/harness/peers"
)

// A lane whose callers left before it began to dial doesn't dial: no call would end that
// dial.
func TestPipelineNobodyWaits(t *testing.T) {
	c := &PipelineClient{Addr: "example.org:80", Dial: func(string) (net.Conn, error) {
		t.Error("dialed")
		return nil, io.EOF
	}}
	l := &pipeLane{}
	l.init(c)
	if _, err := l.connect(); err != errUndialed {
		t.Errorf("got %v, want errUndialed", err)
	}
}

// When a dial fails, all calls that wait for it get the error. A dial that no call waits
// for ends.
func TestPipelineDial(t *testing.T) {
	before := runtime.NumGoroutine()
	oh := errors.New("oh")
	c := &PipelineClient{Addr: "example.org", Dial: func(addr string) (net.Conn, error) {
		if addr != "example.org" {
			t.Errorf("dialed %q", addr)
		}
		return nil, oh
	}}
	for range 3 {
		if err := c.Do(pipeReq("POST"), nil); !errors.Is(err, oh) {
			t.Errorf("got %v, want what the dialer said", err)
		}
	}
	c = &PipelineClient{Addr: "example.org", Dial: func(string) (net.Conn, error) { panic("oh") }}
	if err := c.Do(pipeReq("GET"), nil); err == nil || !strings.Contains(err.Error(), "panicked: oh") {
		t.Errorf("got %v, want the panic", err)
	}
	c = &PipelineClient{}
	if err := c.Do(pipeReq("GET"), nil); err == nil || !strings.Contains(err.Error(), "Addr is empty") {
		t.Errorf("got %v, want that there is no address", err)
	}
	c = &PipelineClient{Addr: "::1", IsTLS: true}
	if err := c.Do(pipeReq("GET"), nil); err == nil || !strings.Contains(err.Error(), "cannot determine tls server name") {
		t.Errorf("got %v, want that there is nobody to verify", err)
	}
	req := pipeReq("GET")
	req.SetRequestURI("https://example.org/")
	if err := (&PipelineClient{Addr: "127.0.0.1:1"}).Do(req, nil); fmt.Sprint(err) != "gale: the request is for https, but the PipelineClient is not: set IsTLS" {
		t.Errorf("got %v, want no secrets in the clear", err)
	}

	hung := &TCPDialer{Resolver: peers.ResolverFunc(func(ctx context.Context, _ string) ([]net.IPAddr, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})}
	defer func(d *TCPDialer) { defaultDialer = d }(defaultDialer)
	defaultDialer = hung
	c = &PipelineClient{Addr: "example.org"}
	for range 10 {
		if err := c.DoTimeout(pipeReq("GET"), nil, time.Millisecond); err != ErrTimeout {
			t.Errorf("got %v, want ErrTimeout", err)
		}
	}
	peers.WantGoroutines(t, before)
	for i := range c.lanes { // the lanes last used defaultDialer before this
		l := &c.lanes[i]
		for running := true; running; time.Sleep(time.Millisecond) { // between two looks
			l.mu.Lock()
			running = l.running
			l.mu.Unlock()
		}
	}
}

// An unrequested response that arrives together with a requested one ends the connection
// before it can become the response to the next request.
func TestPipelineSurplus(t *testing.T) {
	client, server := net.Pipe()
	defer server.Close()
	c := &PipelineClient{Addr: "a:80"}
	c.once.Do(c.begin)
	l := &c.lanes[0]
	p := newPipeConn(l, newClientConn(client, "a:80"))
	defer p.timer.Stop()
	pc := acquirePipeCall()
	var req Request
	req.SetRequestURI("http://a/")
	if err := pc.encode(t.Context(), &req, 0); err != nil {
		t.Fatal(err)
	}
	l.running = true // the lane has no goroutine: the test does its work
	l.push(pc, true)
	l.mu.Lock()
	p.fillBatch()
	l.mu.Unlock()
	p.wrote(len(pc.bytes.B), nil)
	go func() {
		w := bufio.NewWriter(server)
		_, _ = w.WriteString(peers.OkAnswer("good") + peers.OkAnswer("evil"))
		_ = w.Flush()
	}()
	if err := p.cc.conn.Fill(); err != nil {
		t.Fatal(err)
	}
	p.begin()
	if p.finish(p.answer(p.reading)) || p.err != errPipeUnasked {
		t.Errorf("a surplus response is left for whoever comes next: %v", p.err)
	}
	if <-pc.done; pc.err != nil || string(pc.resp.Body()) != "good" {
		t.Errorf("the response that was asked for: %q, %v", pc.resp.Body(), pc.err)
	}
}

// The caller that wakes the writer may leave while the writer waits for more to write.
func TestPipelineDelayForNobody(t *testing.T) {
	c := pipeServer(t, peers.PipeEcho)
	c.MaxBatchDelay, c.ReadTimeout = 20*time.Millisecond, time.Minute
	idle := func() bool {
		l := &c.lanes[0]
		l.mu.Lock()
		defer l.mu.Unlock()
		return (l.parked && !l.batched || !l.running) && l.queue.n == 0 // the connection may have ended
	}
	for range 5 {
		if err := c.Do(pipeReq("GET"), nil); err != nil {
			t.Fatal(err)
		}
		await.Until(t, "the writer to be idle", idle)
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() { left <- c.DoContext(ctx, pipeReq("GET"), nil) }()
		await.Until(t, "the writer to be busy", func() bool { return !idle() || len(left) > 0 }) // or it was
		cancel()
		<-left
		await.Until(t, "the writer to be idle again", idle)
	}
}

// If too many calls wait, a call without a timeout is refused, and one with a timeout
// waits.
func TestPipelineOverflow(t *testing.T) {
	release := make(chan struct{})
	c := pipeServer(t, func(n int, nc net.Conn, br *bufio.Reader) {
		<-release
		peers.PipeEcho(n, nc, br)
	})
	c.MaxPendingRequests = 2
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			resp := &Response{}
			if err := c.Do(pipeReq("GET"), resp); err != nil {
				t.Error(err)
			}
			peers.WantPipe(t, string(resp.Body()), "GET / ")
		})
		for c.PendingRequests() != n+1 || n == 1 && c.lanes[0].flying() != 2 {
			runtime.Gosched()
		}
	}
	if err := c.Do(pipeReq("GET"), nil); err != ErrPipelineOverflow {
		t.Errorf("got %v, want ErrPipelineOverflow", err)
	}
	for range 3 {
		wg.Go(func() {
			if err := c.DoTimeout(pipeReq("GET"), nil, time.Minute); err != nil {
				t.Error(err)
			}
		})
	}
	for c.PendingRequests() != 7 {
		runtime.Gosched()
	}
	close(release)
	wg.Wait()
}

// flying returns how many calls are in flight.
func (l *pipeLane) flying() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flight.n
}
