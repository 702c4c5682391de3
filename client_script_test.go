package gale

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// scriptServer is a server whose every byte comes from a test.
type scriptServer struct {
	t        *testing.T
	ln       net.Listener
	accepted atomic.Int64
	requests atomic.Int64 // complete requests that arrived

	mu    sync.Mutex
	conns map[net.Conn]bool // nil once stopped
	wg    sync.WaitGroup
}

// scripted serves each connection with script; nth counts connections from 1.
func scripted(t *testing.T, script func(p *scriptConn, nth int)) *scriptServer {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &scriptServer{t: t, ln: ln, conns: map[net.Conn]bool{}}
	s.wg.Add(1)
	go s.accept(script)
	t.Cleanup(s.stop)
	return s
}

func (s *scriptServer) accept(script func(*scriptConn, int)) {
	defer s.wg.Done()
	for {
		c, err := s.ln.Accept()
		if err != nil {
			return
		}
		nth := int(s.accepted.Add(1))
		s.mu.Lock()
		if s.conns == nil {
			s.mu.Unlock()
			c.Close()
			return
		}
		s.conns[c] = true
		s.wg.Add(1)
		s.mu.Unlock()
		go func() {
			defer s.wg.Done()
			script(&scriptConn{Conn: c, s: s, br: bufio.NewReader(c)}, nth)
			c.Close()
			s.mu.Lock()
			delete(s.conns, c)
			s.mu.Unlock()
		}()
	}
}

func (s *scriptServer) stop() {
	s.ln.Close()
	s.mu.Lock()
	for c := range s.conns {
		c.Close()
	}
	s.conns = nil
	s.mu.Unlock()
	s.wg.Wait()
}

func (s *scriptServer) addr() string { return s.ln.Addr().String() }
func (s *scriptServer) url() string  { return "http://" + s.addr() + "/" }

// scriptConn is one of its connections.
type scriptConn struct {
	net.Conn
	s  *scriptServer
	br *bufio.Reader
}

// request reads a complete request. It returns nil if there is none.
func (p *scriptConn) request() *Request {
	req := &Request{}
	if req.Header.Read(p.br) != nil || req.ContinueReadBody(p.br, 0) != nil {
		return nil
	}
	p.s.requests.Add(1)
	return req
}

func (p *scriptConn) write(s string) { _, _ = io.WriteString(p, s) }

// hold waits until the client closes.
func (p *scriptConn) hold() { _, _ = io.Copy(io.Discard, p.br) }

// reset breaks the connection off.
func (p *scriptConn) reset() {
	_ = p.Conn.(*net.TCPConn).SetLinger(0)
	p.Close()
}

func okAnswer(body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// answering returns a script that gives every request the same answer.
func answering(answer string) func(*scriptConn, int) {
	return func(p *scriptConn, _ int) {
		for p.request() != nil {
			p.write(answer)
		}
	}
}

// getFrom sends a request without a body.
func getFrom(c *HostClient, method, url string) (*Response, error) {
	req, resp := &Request{}, &Response{}
	req.Header.SetMethod(method)
	req.SetRequestURI(url)
	return resp, c.Do(req, resp)
}

// awaitDead waits until c can see that its only idle connection is unusable: the server's
// bytes, or its end of stream, may still be on their way.
func awaitDead(c *HostClient) {
	alive := func() bool {
		c.pool.mu.Lock()
		defer c.pool.mu.Unlock()
		return c.pool.idle.at(0).conn.Alive()
	}
	for alive() {
		time.Sleep(time.Millisecond)
	}
}

// postTo sends a POST with a body.
func postTo(c *HostClient, url, body string) (*Response, error) {
	req, resp := &Request{}, &Response{}
	req.Header.SetMethod("POST")
	req.SetRequestURI(url)
	req.SetBodyString(body)
	return resp, c.Do(req, resp)
}

// settled counts goroutines and descriptors. check waits until there are no more than
// that.
func settled(t *testing.T) (check func()) {
	t.Helper()
	goroutines, files := runtime.NumGoroutine(), openFiles()
	return func() {
		t.Helper()
		var g, f int
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if g, f = runtime.NumGoroutine(), openFiles(); g <= goroutines && f <= files {
				return
			}
		}
		t.Errorf("%d goroutines and %d descriptors, before %d and %d\n%s", g, f, goroutines, files, allStacks())
	}
}

func wantError(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}
