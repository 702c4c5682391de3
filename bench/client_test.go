package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galeutil"
	"github.com/valyala/fasthttp"
)

// clientAnswer is what the servers of the client benchmarks send.
var clientAnswer = func() []byte {
	s := "HTTP/1.1 200 OK\r\nServer: bench\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Type: " + contentType
	return []byte(fmt.Sprintf("%s\r\nContent-Length: %d\r\n\r\n%s", s, len(bodyBytes), bodyBytes))
}()

// cannedConn is a connection to a server that costs nothing: each request,
// which comes in one Write, is answered at once.
type cannedConn struct {
	mu     sync.Mutex
	more   sync.Cond
	asked  int // answers that are due
	closed bool
	left   []byte // of an answer; the reader's
}

func newCannedConn() *cannedConn {
	c := &cannedConn{}
	c.more.L = &c.mu
	return c
}

func (c *cannedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.asked++
	c.mu.Unlock()
	c.more.Signal()
	return len(p), nil
}

func (c *cannedConn) Read(p []byte) (int, error) {
	if len(c.left) == 0 {
		c.mu.Lock()
		for c.asked == 0 && !c.closed {
			c.more.Wait()
		}
		if c.closed {
			c.mu.Unlock()
			return 0, io.EOF
		}
		c.asked--
		c.mu.Unlock()
		c.left = clientAnswer
	}
	n := copy(p, c.left)
	c.left = c.left[n:]
	return n, nil
}

func (c *cannedConn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.more.Broadcast()
	return nil
}

func (c *cannedConn) LocalAddr() net.Addr              { return clientAddr }
func (c *cannedConn) RemoteAddr() net.Addr             { return serverAddr }
func (c *cannedConn) SetDeadline(time.Time) error      { return nil }
func (c *cannedConn) SetReadDeadline(time.Time) error  { return nil }
func (c *cannedConn) SetWriteDeadline(time.Time) error { return nil }

// clientImpls make a function that does one request. addr is where to go,
// conns how many connections there may be.
var clientImpls = []struct {
	name string
	make func(addr string, conns int, dial func() (net.Conn, error)) (do func() error, idle func())
}{
	{"gale", galeClient}, {"fasthttp", fasthttpClient}, {"nethttp", nethttpClient},
}

func galeClient(addr string, conns int, dial func() (net.Conn, error)) (func() error, func()) {
	return galeRequests(&gale.HostClient{Addr: addr, MaxConns: conns, MaxConnWaitTimeout: time.Minute}, dial)
}

// galeRequests makes a function that does one request with c, which dials with dial unless
// that is nil.
func galeRequests(c *gale.HostClient, dial func() (net.Conn, error)) (func() error, func()) {
	if dial != nil {
		c.Dial = func(string) (net.Conn, error) { return dial() }
	}
	url := "http://" + c.Addr + "/path?query=1"
	return func() error {
		req, resp := gale.AcquireRequest(), gale.AcquireResponse()
		req.SetRequestURI(url)
		err := c.Do(req, resp)
		if err == nil && len(resp.Body()) != len(bodyBytes) {
			err = io.ErrUnexpectedEOF
		}
		gale.ReleaseRequest(req)
		gale.ReleaseResponse(resp)
		return err
	}, c.CloseIdleConnections
}

func fasthttpClient(addr string, conns int, dial func() (net.Conn, error)) (func() error, func()) {
	c := &fasthttp.HostClient{Addr: addr, MaxConns: conns, MaxConnWaitTimeout: time.Minute}
	if dial != nil {
		c.Dial = func(string) (net.Conn, error) { return dial() }
	}
	url := "http://" + addr + "/path?query=1"
	return func() error {
		req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		req.SetRequestURI(url)
		err := c.Do(req, resp)
		if err == nil && len(resp.Body()) != len(bodyBytes) {
			err = io.ErrUnexpectedEOF
		}
		fasthttp.ReleaseRequest(req)
		fasthttp.ReleaseResponse(resp)
		return err
	}, c.CloseIdleConnections
}

func nethttpClient(addr string, conns int, dial func() (net.Conn, error)) (func() error, func()) {
	return nethttpRequests(&http.Transport{MaxConnsPerHost: conns, MaxIdleConnsPerHost: conns, DisableCompression: true}, addr, dial)
}

// nethttpRequests is galeRequests for net/http.
func nethttpRequests(t *http.Transport, addr string, dial func() (net.Conn, error)) (func() error, func()) {
	if dial != nil {
		t.DialContext = func(context.Context, string, string) (net.Conn, error) { return dial() }
	}
	c := &http.Client{Transport: t}
	url := "http://" + addr + "/path?query=1"
	buffers := sync.Pool{New: func() any { return new([1024]byte) }}
	return func() error {
		resp, err := c.Get(url)
		if err != nil {
			return err
		}
		buf := buffers.Get().(*[1024]byte)
		n, err := io.ReadFull(resp.Body, buf[:])
		if err == io.ErrUnexpectedEOF && n == len(bodyBytes) {
			err = nil
		}
		buffers.Put(buf)
		resp.Body.Close()
		return err
	}, t.CloseIdleConnections
}

// BenchmarkClient measures a client whose server and network cost nothing. An
// operation is one request.
func BenchmarkClient(b *testing.B) {
	for _, impl := range clientImpls {
		b.Run("impl="+impl.name, func(b *testing.B) {
			do, idle := impl.make("example.com:80", 1, func() (net.Conn, error) { return newCannedConn(), nil })
			defer idle()
			b.ReportAllocs()
			for b.Loop() {
				if err := do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkClientReused is BenchmarkClient with the same request and response for
// all; net/http's are not made for that.
func BenchmarkClientReused(b *testing.B) {
	const url = "http://example.com:80/path?query=1"
	b.Run("impl=gale", func(b *testing.B) {
		c := &gale.HostClient{Addr: "example.com:80", Dial: func(string) (net.Conn, error) { return newCannedConn(), nil }}
		defer c.CloseIdleConnections()
		var req gale.Request
		var resp gale.Response
		req.SetRequestURI(url)
		b.ReportAllocs()
		for b.Loop() {
			if err := c.Do(&req, &resp); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("impl=fasthttp", func(b *testing.B) {
		c := &fasthttp.HostClient{Addr: "example.com:80", Dial: func(string) (net.Conn, error) { return newCannedConn(), nil }}
		defer c.CloseIdleConnections()
		var req fasthttp.Request
		var resp fasthttp.Response
		req.SetRequestURI(url)
		b.ReportAllocs()
		for b.Loop() {
			if err := c.Do(&req, &resp); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkClientContention lets many goroutines share few connections.
func BenchmarkClientContention(b *testing.B) {
	for _, conns := range []int{1, 16, 512} {
		for _, impl := range clientImpls {
			b.Run(fmt.Sprintf("goroutines=64/conns=%d/impl=%s", conns, impl.name), func(b *testing.B) {
				do, idle := impl.make("example.com:80", conns, func() (net.Conn, error) { return newCannedConn(), nil })
				defer idle()
				runClients(b, 64, do)
			})
		}
	}
}

// runClients does b.N requests, by as many goroutines as asked for.
func runClients(b *testing.B, goroutines int, do func() error) {
	b.Helper()
	b.ReportAllocs()
	var wg sync.WaitGroup
	share := make(chan int, goroutines)
	for i := range goroutines {
		share <- b.N/goroutines + btoi(i < b.N%goroutines)
	}
	for range goroutines {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range <-share {
				if err := do(); err != nil {
					b.Error(err)
					return
				}
			}
		}()
	}
	wg.Wait()
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// BenchmarkClientInmemory is a client and Gale's server, both in this process,
// on connections in memory.
func BenchmarkClientInmemory(b *testing.B) {
	for _, impl := range clientImpls {
		b.Run("impl="+impl.name, func(b *testing.B) {
			ln := galeutil.NewInmemoryListener()
			stop := serveClients(ln)
			defer stop()
			do, idle := impl.make("example.com:80", 1, ln.Dial)
			defer idle()
			b.ReportAllocs()
			for b.Loop() {
				if err := do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkClientTCP is a client and a server that does next to nothing, over
// the loopback interface, with as many connections as goroutines.
func BenchmarkClientTCP(b *testing.B) {
	for _, conns := range []int{1, 10, 100, 1000} {
		for _, impl := range clientImpls {
			b.Run(fmt.Sprintf("conns=%d/impl=%s", conns, impl.name), func(b *testing.B) {
				ln, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					b.Fatal(err)
				}
				defer ln.Close()
				go answerAll(ln)
				do, idle := impl.make(ln.Addr().String(), conns, nil)
				defer idle()
				before := cpuTime()
				runClients(b, conns, do)
				b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

// answerAll answers each read with the same bytes.
func answerAll(ln net.Listener) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			buf := make([]byte, 4096)
			for {
				if _, err := c.Read(buf); err != nil {
					return
				}
				if _, err := c.Write(clientAnswer); err != nil {
					return
				}
			}
		}()
	}
}

func serveClients(ln net.Listener) (stop func()) {
	s := &gale.Server{Logger: quiet, Handler: func(ctx *gale.RequestCtx) {
		ctx.SetContentType(contentType)
		ctx.SetBody(bodyBytes)
	}}
	go func() { _ = s.Serve(ln) }()
	return func() { _ = s.Shutdown() }
}

// BenchmarkClientContext compares a call that can be cancelled with one that
// can't.
func BenchmarkClientContext(b *testing.B) {
	cancellable, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := &gale.HostClient{Addr: "example.com:80", Dial: func(string) (net.Conn, error) { return newCannedConn(), nil }}
	defer c.CloseIdleConnections()
	t := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return newCannedConn(), nil }}
	defer t.CloseIdleConnections()
	for _, k := range []struct {
		name string
		ctx  context.Context
	}{{"plain", context.Background()}, {"cancellable", cancellable}} {
		b.Run(k.name+"/impl=gale", func(b *testing.B) {
			var req gale.Request
			var resp gale.Response
			req.SetRequestURI("http://example.com/path?query=1")
			b.ReportAllocs()
			for b.Loop() {
				if err := c.DoContext(k.ctx, &req, &resp); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(k.name+"/impl=nethttp", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				req, _ := http.NewRequestWithContext(k.ctx, "GET", "http://example.com/path?query=1", nil)
				resp, err := t.RoundTrip(req)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, bufio.NewReader(resp.Body))
				resp.Body.Close()
			}
		})
	}
}
