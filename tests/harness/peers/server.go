package peers

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// ReadAll returns all bytes that arrive, and the error at the end. A connection that
// stays open is an error.
func (c *Conn) ReadAll() (string, error) {
	c.SetDeadline(time.Now().Add(time.Minute))
	b, err := io.ReadAll(c.Br)
	return string(b), err
}

// Status reads a response and returns its status.
func (c *Conn) Status() (int, error) {
	resp, err := http.ReadResponse(c.Br, nil)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

// A handler may read the body of the request on one goroutine and send on another one.

// Counted reads r to its end on a goroutine, and sends how many bytes it has read.
func Counted(r io.Reader) <-chan int64 {
	n := make(chan int64, 1)
	go func() {
		sum, _ := io.Copy(io.Discard, r)
		n <- sum
	}()
	return n
}

// Zeros is a stream of zero bytes without end.
type Zeros struct{}

func (Zeros) Read(p []byte) (int, error) { return len(p), nil }

// WantDuplex reads the response of a handler that sends DuplexSize zeros while it reads the body, then how much it has read.
func (c *Conn) WantDuplex(read int) {
	c.T.Helper()
	if a := c.Answer("POST"); len(a.Text) < DuplexSize || a.Text[DuplexSize:] != strconv.Itoa(read) {
		c.T.Fatalf("the response has %d bytes that end with %q, want %d and then %d",
			len(a.Text), a.Text[min(len(a.Text), DuplexSize):], DuplexSize, read)
	}
}

// CloseWrite ends the client's side.
func (c *Conn) CloseWrite() { _ = c.Conn.(*net.TCPConn).CloseWrite() }

// AllStacks returns the stacks of all goroutines.
func AllStacks() string {
	buf := make([]byte, 1<<20)
	return string(buf[:runtime.Stack(buf, true)])
}

// WithMoreTime calls f with a time limit for something that is usually done at once. A
// busy machine may be slower: as long as f fails, it is called again with twice the
// limit.
func WithMoreTime(t *testing.T, limit time.Duration, f func(limit time.Duration) error) {
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

// Server is a server on a real listener that ends with its test.
type Server struct {
	T    *testing.T
	Addr string
	Log  *Log
}

// Service is what servers are to their listeners.
type Service interface {
	Serve(net.Listener) error
	ServeTLSEmbed(ln net.Listener, cert, key []byte) error
	Close() error
	Shutdown() error
}

// Listen returns a listener on loopback.
func Listen(t testing.TB) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listening: %v", err)
	}
	return ln
}

// DuplexBuffers is the size in bytes of the buffers of a server's end, and of the send buffer of a client's end, where a
// test sends DuplexSize both ways. It is a small part of that; buffers much smaller make loopback wait. The receive
// buffer of a client has the size that the system chooses, which is small as long as the client reads nothing: with a
// fixed size, Linux drops what doesn't fit, and then also the acknowledgements of what the client sends, which come
// after that.
const DuplexBuffers = 256 << 10

// ListenDuplex is Listen for a server whose ends of connections have such buffers.
func ListenDuplex(t testing.TB) net.Listener {
	t.Helper()
	ln := Listen(t)
	SmallBuffers(ln, DuplexBuffers, DuplexBuffers) // before a client connects
	return ln
}

// Serve serves s on loopback until the test ends, with TLS if cert and key are not nil. log is
// what s logs to.
func Serve(t *testing.T, s Service, log *Log, cert, key []byte) *Server {
	t.Helper()
	return ServeOn(t, Listen(t), s, log, cert, key)
}

// ServeOn is Serve with a listener, which it closes at the end.
func ServeOn(t *testing.T, ln net.Listener, s Service, log *Log, cert, key []byte) *Server {
	t.Helper()
	served := make(chan error, 1)
	go func() {
		if cert != nil {
			served <- s.ServeTLSEmbed(ln, cert, key)
			return
		}
		served <- s.Serve(ln)
	}()
	t.Cleanup(func() {
		s.Close()
		ln.Close() // Serve may not have begun yet, and would begin after Close
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return &Server{T: t, Addr: ln.Addr().String(), Log: log}
}

// Log keeps what a server logs.
type Log struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *Log) Printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(&l.b, format+"\n", args...)
}

func (l *Log) Write(p []byte) (int, error) {
	l.Printf("%s", p)
	return len(p), nil
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Conn is a client's connection that speaks bytes.
type Conn struct {
	net.Conn
	T  *testing.T
	Br *bufio.Reader
}

func (ts *Server) Dial() *Conn {
	ts.T.Helper()
	c, err := net.Dial("tcp", ts.Addr)
	if err != nil {
		ts.T.Fatal(err)
	}
	return NewConn(ts.T, c)
}

func NewConn(t *testing.T, c net.Conn) *Conn {
	c.SetDeadline(time.Now().Add(3 * time.Minute)) // which only ends a test that hangs
	t.Cleanup(func() { c.Close() })
	return &Conn{Conn: c, T: t, Br: bufio.NewReader(c)}
}

func (c *Conn) Send(s string) {
	c.T.Helper()
	if _, err := io.WriteString(c, s); err != nil {
		c.T.Fatalf("sending: %v", err)
	}
}

// Answer is a response as read by net/http.
type Answer struct {
	*http.Response
	Text string
}

// Want reads a response to a request with the given method and checks its
// status and body.
func (c *Conn) Want(method string, status int, body string) Answer {
	c.T.Helper()
	a := c.Answer(method)
	if a.StatusCode != status || a.Text != body {
		c.T.Fatalf("got %d %q, want %d %q", a.StatusCode, a.Text, status, body)
	}
	return a
}

func (c *Conn) Answer(method string) Answer {
	c.T.Helper()
	resp, err := http.ReadResponse(c.Br, &http.Request{Method: method})
	if err != nil {
		c.T.Fatalf("reading the response: %v", err)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.T.Fatalf("reading the body: %v", err)
	}
	resp.Body.Close()
	return Answer{resp, string(b)}
}

// WantClosed checks that the server closes the connection without sending more.
func (c *Conn) WantClosed() {
	c.T.Helper()
	if b, err := io.ReadAll(c.Br); len(b) > 0 || err != nil {
		c.T.Fatalf("read %q, %v; want the end of the connection", b, err)
	}
}

// WantOpen checks that the connection can still be used.
func (c *Conn) WantOpen() {
	c.T.Helper()
	c.Send("GET /ping HTTP/1.1\r\nHost: h\r\n\r\n")
	if a := c.Answer("GET"); a.StatusCode >= 500 {
		c.T.Fatalf("got %d", a.StatusCode)
	}
}

func Get(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: h\r\n\r\n" }

func Post(path, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
}

// Upload sends a body and returns the response's.
func Upload(t *testing.T, c *http.Client, url string, body io.Reader) string {
	t.Helper()
	resp, err := c.Post(url, "multipart/form-data; boundary=b", body)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

// WantText reads text.
func (c *Conn) WantText(text string) {
	c.T.Helper()
	b := make([]byte, len(text))
	if n, err := io.ReadFull(c.Br, b); string(b) != text {
		c.T.Fatalf("read %q, %v; want %q", b[:n], err, text)
	}
}

// LogTo makes a new log the Logger of a server, unless it has one, and returns the log.
func LogTo[L comparable](logger *L) *Log {
	l := &Log{}
	if none := *new(L); *logger == none {
		*logger = any(l).(L)
	}
	return l
}

// Certify makes a certificate for a host: gale.GenerateTestCertificate.
type Certify func(host string) (cert, key []byte, err error)

// ServeTLS is Serve, with TLS.
func ServeTLS(t *testing.T, s Service, log *Log, certify Certify) *Server {
	t.Helper()
	cert, key, err := certify("localhost")
	if err != nil {
		t.Fatal(err)
	}
	return Serve(t, s, log, cert, key)
}

// Printed is a writer that writes to a log.
type Printed struct{ *Log }

func (p Printed) Write(b []byte) (int, error) {
	p.Printf("%s", strings.TrimSuffix(string(b), "\n"))
	return len(b), nil
}

// ServeConns calls serve with each connection to a listener on loopback, n from 1 on, and closes
// the connection when it returns. At the end of the test it closes them all, and waits for serve.
func ServeConns(t testing.TB, serve func(n int, c net.Conn)) (addr string) {
	t.Helper()
	ln := Listen(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	wg.Go(func() {
		for n := 1; ; n++ {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
			wg.Go(func() {
				defer c.Close()
				serve(n, c)
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return ln.Addr().String()
}

// Protocols returns versions of HTTP without TLS, 1 or 2, for clients and servers of net/http.
func Protocols(versions ...int) *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(slices.Contains(versions, 1))
	p.SetUnencryptedHTTP2(slices.Contains(versions, 2))
	return p
}
