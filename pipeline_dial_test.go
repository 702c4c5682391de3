package gale

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
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
	if err := (&PipelineClient{Addr: "127.0.0.1:1"}).Do(req, nil); err != errPipelineScheme {
		t.Errorf("got %v, want no secrets in the clear", err)
	}

	hung := &TCPDialer{Resolver: resolverFunc(func(ctx context.Context, _ string) ([]net.IPAddr, error) {
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
	wantGoroutines(t, before)
	for i := range c.lanes { // the lanes last used defaultDialer before this
		l := &c.lanes[i]
		for running := true; running; time.Sleep(time.Millisecond) {
			l.mu.Lock()
			running = l.running
			l.mu.Unlock()
		}
	}
}

// TLS is used, and the certificate is verified.
func TestPipelineTLS(t *testing.T) {
	cert, key, err := GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Logger: discardLog{}, Handler: func(ctx *RequestCtx) { ctx.WriteString("secret") }}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- s.ServeTLSEmbed(ln, cert, key) }()
	c := &PipelineClient{Addr: ln.Addr().String(), IsTLS: true, Logger: discardLog{}}
	if got := pipeDo(c, "GET", "/", ""); !strings.Contains(got, "certificate") {
		t.Errorf("got %q, want that the certificate can't be verified", got)
	}
	c = &PipelineClient{Addr: ln.Addr().String(), IsTLS: true, TLSConfig: insecureTLS()}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				wantPipe(t, pipeDo(c, "GET", "/", ""), "secret")
			}
		})
	}
	wg.Wait()
	closePipes(c)
	s.Shutdown()
	<-done
}
