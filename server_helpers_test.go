package gale

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// await waits until ok returns true.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waiting for %s\n%s", what, allStacks())
		}
	}
}

// allStacks returns the stacks of all goroutines.
func allStacks() string {
	buf := make([]byte, 1<<20)
	return string(buf[:runtime.Stack(buf, true)])
}

// withMoreTime calls f with a time limit for something that is usually done at once. A
// busy machine may be slower: as long as f fails, it is called again with twice the
// limit.
func withMoreTime(t *testing.T, limit time.Duration, f func(limit time.Duration) error) {
	t.Helper()
	for ; ; limit *= 2 {
		err := f(limit)
		if err == nil {
			return
		}
		if limit > 10*time.Second {
			t.Fatalf("within %v: %v", limit, err)
		}
	}
}

// testServer is a server on a real listener that ends with its test.
type testServer struct {
	t    *testing.T
	s    *Server
	addr string
	log  *testLog
}

// testLog keeps what a server logs.
type testLog struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *testLog) Printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(&l.b, format+"\n", args...)
}

func (l *testLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// startServer serves s, or a server with the handler h if s is nil.
func startServer(t *testing.T, s *Server, h RequestHandler) *testServer {
	t.Helper()
	if s == nil {
		s = &Server{}
	}
	if s.Handler == nil {
		s.Handler = h
	}
	l := &testLog{}
	if s.Logger == nil {
		s.Logger = l
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return &testServer{t: t, s: s, addr: ln.Addr().String(), log: l}
}

// testConn is a client's connection that speaks bytes.
type testConn struct {
	net.Conn
	t  *testing.T
	br *bufio.Reader
}

func (ts *testServer) dial() *testConn {
	ts.t.Helper()
	c, err := net.Dial("tcp", ts.addr)
	if err != nil {
		ts.t.Fatal(err)
	}
	return newTestConn(ts.t, c)
}

func newTestConn(t *testing.T, c net.Conn) *testConn {
	c.SetDeadline(time.Now().Add(3 * time.Minute)) // which only ends a test that hangs
	t.Cleanup(func() { c.Close() })
	return &testConn{Conn: c, t: t, br: bufio.NewReader(c)}
}

func (c *testConn) send(s string) {
	c.t.Helper()
	if _, err := io.WriteString(c, s); err != nil {
		c.t.Fatalf("sending: %v", err)
	}
}

// answer is a response as read by net/http.
type answer struct {
	*http.Response
	body string
}

// want reads a response to a request with the given method and checks its
// status and body.
func (c *testConn) want(method string, status int, body string) answer {
	c.t.Helper()
	a := c.read(method)
	if a.StatusCode != status || a.body != body {
		c.t.Fatalf("got %d %q, want %d %q", a.StatusCode, a.body, status, body)
	}
	return a
}

func (c *testConn) read(method string) answer {
	c.t.Helper()
	resp, err := http.ReadResponse(c.br, &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("reading the response: %v", err)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatalf("reading the body: %v", err)
	}
	resp.Body.Close()
	return answer{resp, string(b)}
}

// wantClosed checks that the server closes the connection without sending more.
func (c *testConn) wantClosed() {
	c.t.Helper()
	if b, err := io.ReadAll(c.br); len(b) > 0 || err != nil {
		c.t.Fatalf("read %q, %v; want the end of the connection", b, err)
	}
}

// wantOpen checks that the connection can still be used.
func (c *testConn) wantOpen() {
	c.t.Helper()
	c.send("GET /ping HTTP/1.1\r\nHost: h\r\n\r\n")
	if a := c.read("GET"); a.StatusCode >= 500 {
		c.t.Fatalf("got %d", a.StatusCode)
	}
}

func get(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: h\r\n\r\n" }

func post(path, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
}

// echo answers with the method, the path and the body of the request.
func echo(ctx *RequestCtx) {
	fmt.Fprintf(ctx, "%s %s %s", ctx.Method(), ctx.Path(), ctx.PostBody())
}
