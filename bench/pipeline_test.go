package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/valyala/fasthttp"
)

// pipedConn is a connection to a server that costs next to nothing: it counts
// the empty lines of what is written and answers each with a response.
type pipedConn struct {
	cannedConn
	mu    sync.Mutex
	more  sync.Cond
	owed  int // responses
	ended bool
	match int // bytes of an empty line that were written last
}

func newPipedConn() *pipedConn {
	c := &pipedConn{}
	c.more.L = &c.mu
	return c
}

func (c *pipedConn) Write(p []byte) (int, error) {
	n := 0
	for rest := p; len(rest) > 0; {
		const empty = "\r\n\r\n"
		if c.match == 0 {
			i := bytes.IndexByte(rest, '\r')
			if i < 0 {
				break
			}
			rest = rest[i:]
		}
		switch rest[0] {
		case empty[c.match]:
			c.match++
		default:
			c.match = 0
		}
		if c.match == len(empty) {
			c.match = 0
			n++
		}
		rest = rest[1:]
	}
	c.mu.Lock()
	c.owed += n
	c.mu.Unlock()
	c.more.Signal()
	return len(p), nil
}

func (c *pipedConn) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.owed == 0 && !c.ended {
		c.more.Wait()
	}
	if c.ended {
		return 0, io.EOF
	}
	n := 0
	for c.owed > 0 && n+len(clientAnswer) <= len(p) {
		n += copy(p[n:], clientAnswer)
		c.owed--
	}
	return n, nil
}

func (c *pipedConn) Close() error {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.more.Signal()
	return nil
}

var pipelineImpls = []struct {
	name string
	make func(addr string, dial func() (net.Conn, error)) (do func(timeout time.Duration) error)
}{
	{"gale", galePipeline}, {"fasthttp", fasthttpPipeline},
}

func galePipeline(addr string, dial func() (net.Conn, error)) func(time.Duration) error {
	c := &gale.PipelineClient{Addr: addr, MaxIdleConnDuration: time.Second, Logger: noLog{}}
	if dial != nil {
		c.Dial = func(string) (net.Conn, error) { return dial() }
	}
	url := "http://" + addr + "/path?query=1"
	return func(timeout time.Duration) error {
		req, resp := gale.AcquireRequest(), gale.AcquireResponse()
		req.SetRequestURI(url)
		var err error
		if timeout > 0 {
			err = c.DoTimeout(req, resp, timeout)
		} else {
			err = c.Do(req, resp)
		}
		if err == nil && len(resp.Body()) != len(bodyBytes) {
			err = io.ErrUnexpectedEOF
		}
		gale.ReleaseRequest(req)
		gale.ReleaseResponse(resp)
		return err
	}
}

func fasthttpPipeline(addr string, dial func() (net.Conn, error)) func(time.Duration) error {
	c := &fasthttp.PipelineClient{Addr: addr, MaxIdleConnDuration: time.Second, Logger: noLog{}}
	if dial != nil {
		c.Dial = func(string) (net.Conn, error) { return dial() }
	}
	url := "http://" + addr + "/path?query=1"
	return func(timeout time.Duration) error {
		req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		req.SetRequestURI(url)
		var err error
		if timeout > 0 {
			err = c.DoTimeout(req, resp, timeout)
		} else {
			err = c.Do(req, resp)
		}
		if err == nil && len(resp.Body()) != len(bodyBytes) {
			err = io.ErrUnexpectedEOF
		}
		fasthttp.ReleaseRequest(req)
		fasthttp.ReleaseResponse(resp)
		return err
	}
}

type noLog struct{}

func (noLog) Printf(string, ...any) {}

// BenchmarkPipeline measures a client that sends the requests of so many
// goroutines over one connection, whose server costs nothing. An operation is
// one request.
func BenchmarkPipeline(b *testing.B) {
	for _, callers := range []int{1, 16, 256} {
		for _, timeout := range []time.Duration{0, time.Minute} {
			for _, impl := range pipelineImpls {
				b.Run(fmt.Sprintf("callers=%d/timeout=%v/impl=%s", callers, timeout > 0, impl.name), func(b *testing.B) {
					do := impl.make("example.com:80", func() (net.Conn, error) { return newPipedConn(), nil })
					benchPipeline(b, callers, timeout, do)
				})
			}
		}
	}
}

// BenchmarkPipelineTCP is BenchmarkPipeline over the loopback.
func BenchmarkPipelineTCP(b *testing.B) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go answerPiped(c)
		}
	}()
	for _, callers := range []int{1, 16, 256} {
		for _, impl := range pipelineImpls {
			b.Run(fmt.Sprintf("callers=%d/impl=%s", callers, impl.name), func(b *testing.B) {
				benchPipeline(b, callers, 0, impl.make(ln.Addr().String(), nil))
			})
		}
	}
}

// answerPiped answers requests without a body, as many at a time as have come.
func answerPiped(c net.Conn) {
	defer c.Close()
	br, bw := bufio.NewReaderSize(c, 32<<10), bufio.NewWriterSize(c, 32<<10)
	for {
		if br.Buffered() == 0 && bw.Flush() != nil {
			return
		}
		line, err := br.ReadSlice('\n')
		if err != nil {
			return
		}
		if len(line) == 2 {
			_, _ = bw.Write(clientAnswer)
		}
	}
}

func benchPipeline(b *testing.B, callers int, timeout time.Duration, do func(time.Duration) error) {
	if err := do(0); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	before := cpuTime()
	var wg sync.WaitGroup
	for i := range callers {
		n := b.N / callers
		if i < b.N%callers {
			n++
		}
		wg.Go(func() {
			for range n {
				if err := do(timeout); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op")
}
