package gale

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// pipeHandler is a server's side of one connection, the nth.
type pipeHandler func(n int, c net.Conn, br *bufio.Reader)

// discardLog is a Logger.
type discardLog struct{}

func (discardLog) Printf(string, ...any) {}

// pipeServer serves h until the test ends, and returns a client of it.
func pipeServer(t testing.TB, h pipeHandler) *PipelineClient {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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
				h(n, c, bufio.NewReader(c))
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
	return &PipelineClient{Addr: ln.Addr().String(), Logger: discardLog{}}
}

// pipeRequest reads a request and returns its method, path and body; the
// method is empty at the end.
func pipeRequest(br *bufio.Reader) (method, path, body string) {
	var req Request
	if err := req.Read(br); err != nil {
		return "", "", ""
	}
	return string(req.Header.Method()), string(req.URI().Path()), string(req.Body())
}

func pipeAnswer(w io.Writer, extra, body string) {
	fmt.Fprintf(w, "HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s", extra, len(body), body)
}

// pipeEcho answers each request with its method, path and body.
func pipeEcho(_ int, c net.Conn, br *bufio.Reader) {
	w := bufio.NewWriter(c)
	for {
		if br.Buffered() == 0 {
			w.Flush()
		}
		method, path, body := pipeRequest(br)
		if method == "" {
			return
		}
		pipeAnswer(w, "", method+" "+path+" "+body)
	}
}

// pipeDo performs a request and returns the body of the response, or the
// error.
func pipeDo(c *PipelineClient, method, path, body string) string {
	req, resp := AcquireRequest(), AcquireResponse()
	defer ReleaseRequest(req)
	defer ReleaseResponse(resp)
	req.SetRequestURI("http://example.org" + path)
	req.Header.SetMethod(method)
	req.SetBodyString(body)
	if err := c.Do(req, resp); err != nil {
		return "error: " + err.Error()
	}
	return string(resp.Body())
}

func wantPipe(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Everybody gets the response to their own request, whatever their number,
// over as many connections as may be.
func TestPipelineEcho(t *testing.T) {
	for _, tt := range []struct {
		name  string
		setup func(*PipelineClient)
		conns int32
	}{
		{"default", func(*PipelineClient) {}, 1},
		{"three connections", func(c *PipelineClient) { c.MaxConns = 3 }, 3},
		{"one at a time", func(c *PipelineClient) { c.MaxPendingRequests = 1 }, 1},
		{"delay", func(c *PipelineClient) { c.MaxBatchDelay = time.Millisecond }, 1},
		{"time-outs", func(c *PipelineClient) { c.ReadTimeout, c.WriteTimeout = time.Minute, time.Minute }, 1},
		{"small batches", func(c *PipelineClient) { c.WriteBufferSize = 1 }, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var conns atomic.Int32
			c := pipeServer(t, func(n int, nc net.Conn, br *bufio.Reader) {
				conns.Add(1)
				pipeEcho(n, nc, br)
			})
			tt.setup(c)
			var wg sync.WaitGroup
			for i := range 32 {
				wg.Go(func() {
					req, resp := &Request{}, &Response{}
					for n := range 50 {
						path := fmt.Sprintf("/%d/%d", i, n)
						body := strings.Repeat("x", n*i*20)
						req.SetRequestURI("http://example.org" + path)
						req.Header.SetMethod("PUT")
						req.SetBodyString(body)
						if err := c.DoTimeout(req, resp, time.Minute); err != nil {
							t.Errorf("%s: %v", path, err)
						}
						if got, want := string(resp.Body()), "PUT "+path+" "+body; got != want {
							t.Errorf("%s: got the response %.40q", path, got)
						}
					}
				})
			}
			wg.Wait()
			if n := conns.Load(); n > tt.conns {
				t.Errorf("%d connections, want %d at most", n, tt.conns)
			}
			if n := c.PendingRequests(); n != 0 {
				t.Errorf("%d requests are pending", n)
			}
		})
	}
}

// Who gives up never takes the response of another, nor leaves theirs to one,
// and what they passed is theirs again at once.
func TestPipelineGivingUp(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("", func(t *testing.T) {
		c := pipeServer(t, func(_ int, nc net.Conn, br *bufio.Reader) {
			for {
				method, path, body := pipeRequest(br)
				if method == "" {
					return
				}
				if rand.IntN(50) == 0 {
					time.Sleep(3 * time.Millisecond)
				}
				pipeAnswer(nc, "", method+" "+path+" "+body)
			}
		})
		c.MaxConns = 2
		var served, gone atomic.Int32
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				req, resp := &Request{}, &Response{}
				for n := range 100 {
					path := fmt.Sprintf("/%d/%d", i, n)
					req.SetRequestURI("http://example.org" + path)
					resp.ResetBody() // whoever is too late already is told so at once
					var err error
					if n%2 == 0 {
						err = c.DoTimeout(req, resp, time.Duration(rand.IntN(3000)+1)*time.Microsecond)
					} else {
						ctx, cancel := context.WithCancel(t.Context())
						timer := time.AfterFunc(time.Duration(rand.IntN(3000))*time.Microsecond, cancel)
						err = c.DoContext(ctx, req, resp)
						timer.Stop()
						cancel()
					}
					req.SetRequestURI("http://example.org/poison") // it is ours again
					switch {
					case err == nil:
						served.Add(1)
						if got, want := string(resp.Body()), "GET "+path+" "; got != want {
							t.Errorf("got %q, want %q", got, want)
						}
					case err == ErrTimeout || err == context.Canceled:
						gone.Add(1)
						if len(resp.Body()) > 0 {
							t.Errorf("got %q with an error", resp.Body())
						}
						resp.SetBodyString("poison")
					default:
						t.Errorf("%s: %v", path, err)
					}
				}
			})
		}
		wg.Wait()
		if served.Load() == 0 || gone.Load() == 0 {
			t.Logf("%d were served and %d gave up: that proves little", served.Load(), gone.Load())
		}
		wantPipe(t, pipeDo(c, "GET", "/still", ""), "GET /still ")
	})
	wantGoroutines(t, before)
}

// Requests that were lost with their connection are sent again if that does no
// harm, in their order.
func TestPipelineRepeats(t *testing.T) {
	var seen sync.Map
	c := pipeServer(t, func(n int, nc net.Conn, br *bufio.Reader) {
		for range 7 { // then the connection is closed, without a word
			method, path, body := pipeRequest(br)
			if method == "" {
				return
			}
			if _, twice := seen.LoadOrStore(path, n); twice && method == "POST" {
				t.Errorf("%s %s came twice", method, path)
			}
			pipeAnswer(nc, "", method+" "+path+" "+body)
		}
	})
	var wg sync.WaitGroup
	var lost atomic.Int32
	for i := range 20 {
		wg.Go(func() {
			for n := range 20 {
				path, method := fmt.Sprintf("/%d/%d", i, n), "GET"
				if n%5 == 0 {
					method = "POST"
				}
				req, resp := &Request{}, &Response{}
				req.SetRequestURI("http://example.org" + path)
				req.Header.SetMethod(method)
				err := c.Do(req, resp)
				var sent *ErrRequestSent
				switch {
				case err == nil:
					wantPipe(t, string(resp.Body()), method+" "+path+" ")
				case method == "POST" && errors.As(err, &sent):
					lost.Add(1)
				default:
					t.Errorf("%s %s: %v", method, path, err)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d requests that must not be repeated were lost", lost.Load())
}

// A connection that is closed before its first response costs its first
// request, so that a server that always does so is an end.
func TestPipelineRefused(t *testing.T) {
	var conns atomic.Int32
	c := pipeServer(t, func(_ int, _ net.Conn, br *bufio.Reader) {
		conns.Add(1)
		pipeRequest(br)
	})
	wantPipe(t, pipeDo(c, "GET", "/", ""), "error: "+ErrConnectionClosed.Error())
	err := c.Do(pipeReq("POST"), &Response{})
	var sent *ErrRequestSent
	if !errors.As(err, &sent) || !errors.Is(err, ErrConnectionClosed) {
		t.Errorf("got %v, want an ErrRequestSent of ErrConnectionClosed", err)
	}
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if err := c.Do(pipeReq("GET"), nil); !errors.Is(err, ErrConnectionClosed) {
				t.Errorf("got %v, want ErrConnectionClosed", err)
			}
		})
	}
	wg.Wait()
	if n := conns.Load(); n > 12 {
		t.Errorf("%d connections for 12 requests", n)
	}
}

func pipeReq(method string) *Request {
	req := &Request{}
	req.SetRequestURI("http://example.org/")
	req.Header.SetMethod(method)
	return req
}

// Behind a response that says that the connection is closed nothing is acted
// upon: all of it is sent again, whatever it is.
func TestPipelineServerCloses(t *testing.T) {
	var mu sync.Mutex
	count := map[string]int{}
	c := pipeServer(t, func(_ int, nc net.Conn, br *bufio.Reader) {
		method, path, body := pipeRequest(br)
		mu.Lock()
		count[path]++
		mu.Unlock()
		pipeAnswer(nc, "Connection: close\r\n", method+" "+path+" "+body)
		nc.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, br) // requests that aren't acted upon
	})
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			path := fmt.Sprintf("/%d", i)
			wantPipe(t, pipeDo(c, "POST", path, "body"), "POST "+path+" body")
		})
	}
	wg.Wait()
	for path, n := range count {
		if n != 1 {
			t.Errorf("%s was acted upon %d times", path, n)
		}
	}
}

// A request that says that the connection is closed is the last one on it.
func TestPipelineClientCloses(t *testing.T) {
	c := pipeServer(t, func(n int, nc net.Conn, br *bufio.Reader) {
		var req Request
		for req.Read(br) == nil {
			pipeAnswer(nc, "", fmt.Sprint(n))
			if req.ConnectionClose() {
				if b, _ := br.Peek(1); len(b) > 0 {
					t.Error("something was written behind the last request")
				}
				return
			}
		}
	})
	for n := 1; n < 4; n++ {
		wantPipe(t, pipeDo(c, "GET", "/", ""), fmt.Sprint(n))
		req, resp := pipeReq("POST"), &Response{}
		req.SetConnectionClose()
		if err := c.Do(req, resp); err != nil || string(resp.Body()) != fmt.Sprint(n) {
			t.Errorf("got %q, %v", resp.Body(), err)
		}
	}
}

// A server that is silent costs the time that was given, and the connection;
// goroutines end.
func TestPipelineSilence(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("", func(t *testing.T) {
		var silent atomic.Bool
		silent.Store(true)
		c := pipeServer(t, func(n int, nc net.Conn, br *bufio.Reader) {
			for {
				method, path, body := pipeRequest(br)
				if method == "" {
					return
				}
				if !silent.Load() {
					pipeAnswer(nc, "", method+" "+path+" "+body)
				}
			}
		})
		for range 50 {
			if err := c.DoTimeout(pipeReq("GET"), nil, time.Millisecond); err != ErrTimeout {
				t.Errorf("got %v, want ErrTimeout", err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Millisecond, cancel)
			if err := c.DoContext(ctx, pipeReq("GET"), nil); err != context.Canceled {
				t.Errorf("got %v, want context.Canceled", err)
			}
		}
		silent.Store(false)
		wantPipe(t, pipeDo(c, "GET", "/back", ""), "GET /back ")

		slow := &PipelineClient{Addr: c.Addr, ReadTimeout: 20 * time.Millisecond, Logger: discardLog{}}
		silent.Store(true)
		var wg sync.WaitGroup
		for _, method := range []string{"GET", "POST", "GET"} {
			wg.Go(func() {
				if err := slow.Do(pipeReq(method), nil); err != ErrTimeout {
					t.Errorf("got %v, want ErrTimeout", err)
				}
			})
		}
		wg.Wait()
		silent.Store(false)
		for range 3 { // the time counts for each response
			wantPipe(t, pipeDo(slow, "GET", "/", ""), "GET / ")
			time.Sleep(10 * time.Millisecond)
		}
		if n := c.PendingRequests() + slow.PendingRequests(); n != 0 {
			t.Errorf("%d requests are pending", n)
		}
		closePipes(c)
		closePipes(slow)
	})
	wantGoroutines(t, before)
}

// closePipes ends the connections of c.
func closePipes(c *PipelineClient) {
	for i := range c.lanes {
		l := &c.lanes[i]
		l.mu.Lock()
		if l.conn != nil {
			l.conn.end(errPipeIdle)
		}
		l.mu.Unlock()
	}
}

// Behind a request that was given up and isn't answered others don't wait in
// vain for ever.
func TestPipelineStuck(t *testing.T) {
	c := pipeServer(t, func(n int, nc net.Conn, br *bufio.Reader) {
		if n == 1 {
			io.Copy(io.Discard, br)
			return
		}
		pipeEcho(n, nc, br)
	})
	patient := make(chan string)
	first := make(chan error)
	go func() { first <- c.DoTimeout(pipeReq("GET"), nil, 20*time.Millisecond) }()
	for c.PendingRequests() == 0 {
		runtime.Gosched()
	}
	go func() { patient <- pipeDo(c, "GET", "/patient", "") }()
	if err := <-first; err != ErrTimeout {
		t.Errorf("got %v, want ErrTimeout", err)
	}
	for got := ""; got == ""; { // the more time the first was given, the more give up before that is noticed
		if err := c.DoTimeout(pipeReq("GET"), nil, 20*time.Millisecond); err != ErrTimeout && err != nil {
			t.Errorf("got %v, want ErrTimeout", err)
		}
		select {
		case got = <-patient:
			wantPipe(t, got, "GET /patient ")
		default:
		}
	}
}

// A lane whose callers left before it began to dial doesn't dial for nobody:
// no call would come to end that.
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

// ReadTimeout counts from when a response is owed, however many requests are
// written after that.
func TestPipelineSilenceWhileWriting(t *testing.T) {
	c := pipeServer(t, func(_ int, _ net.Conn, br *bufio.Reader) { io.Copy(io.Discard, br) })
	c.ReadTimeout = 50 * time.Millisecond
	first := make(chan error, 1)
	go func() { first <- c.Do(pipeReq("POST"), nil) }()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for range 500 {
		select {
		case err := <-first:
			if err != ErrTimeout {
				t.Errorf("got %v, want ErrTimeout", err)
			}
			return
		case <-time.After(5 * time.Millisecond):
			wg.Go(func() { c.DoContext(ctx, pipeReq("GET"), nil) })
		}
	}
	t.Error("the server was waited for as long as requests were written")
}

// A server that doesn't read ends with WriteTimeout.
func TestPipelineWriteTimeout(t *testing.T) {
	release := make(chan struct{})
	c := pipeServer(t, func(n int, nc net.Conn, br *bufio.Reader) {
		if n == 1 {
			<-release
			return
		}
		pipeEcho(n, nc, br)
	})
	defer close(release)
	c.WriteTimeout = 50 * time.Millisecond
	req := pipeReq("POST")
	req.SetBody(make([]byte, 64<<20))
	if err := c.Do(req, nil); err != ErrTimeout {
		t.Errorf("got %v, want ErrTimeout", err)
	}
	wantPipe(t, pipeDo(c, "POST", "/", "x"), "POST / x")
}

// What a server sends without being asked is nobody's response.
func TestPipelineUnasked(t *testing.T) {
	answered := make(chan struct{})
	c := pipeServer(t, func(n int, nc net.Conn, br *bufio.Reader) {
		for {
			method, path, _ := pipeRequest(br)
			if method == "" {
				return
			}
			pipeAnswer(nc, "", method+" "+path)
			if path == "/extra" {
				pipeAnswer(nc, "", "poison")
				io.Copy(io.Discard, br)
				close(answered)
				return
			}
		}
	})
	wantPipe(t, pipeDo(c, "GET", "/extra", ""), "GET /extra")
	<-answered // the client has closed the connection
	wantPipe(t, pipeDo(c, "GET", "/next", ""), "GET /next")
}

// Responses that break the rules are errors, and end the connection.
func TestPipelineMalformed(t *testing.T) {
	for _, tt := range []struct{ name, answer, want string }{
		{"status", "HTTP/1.1 xxx OK\r\nContent-Length: 2\r\n\r\nhi", "error when reading response headers"},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi!", "duplicate content-length"},
		{"length and coding", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "error when reading response headers"},
		{"chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "chunk"},
		{"bare LF", "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", "error when reading response headers"},
		{"cut off in the head", "HTTP/1.1 200 OK\r\nContent-", "error when reading response headers"},
		{"cut off in the body", "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nhi", "unexpected EOF"},
		{"cut off in a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhi", "unexpected EOF"},
		{"too large", "HTTP/1.1 200 OK\r\nContent-Length: 2000000000\r\n\r\nhi", ErrBodyTooLarge.Error()},
		{"interim without end", strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 200), "too many 1xx"},
		{"head too long", "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", 100<<10), "small read buffer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var seen sync.Map
			c := pipeServer(t, func(n int, nc net.Conn, br *bufio.Reader) {
				for {
					method, path, _ := pipeRequest(br)
					if method == "" {
						return
					}
					if path == "/bad" {
						io.WriteString(nc, tt.answer)
						nc.(*net.TCPConn).CloseWrite()
						io.Copy(io.Discard, br) // closing with unread requests would take the answer along
						return
					}
					if _, twice := seen.LoadOrStore(path, n); twice && method == "POST" {
						t.Errorf("%s %s came twice", method, path)
					}
					pipeAnswer(nc, "", method+" "+path)
				}
			})
			c.MaxResponseBodySize = 1 << 20
			wantPipe(t, pipeDo(c, "GET", "/before", ""), "GET /before")
			var wg sync.WaitGroup
			wg.Go(func() {
				if got := pipeDo(c, "POST", "/bad", ""); !strings.Contains(got, tt.want) {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			})
			for i := range 5 {
				path := fmt.Sprintf("/behind%d", i)
				wg.Go(func() { wantPipe(t, pipeDo(c, "GET", path, ""), "GET "+path) })
			}
			wg.Wait()
			wantPipe(t, pipeDo(c, "POST", "/after", ""), "POST /after")
		})
	}
}

// All forms of responses come through, one behind the other.
func TestPipelineForms(t *testing.T) {
	answers := map[string]string{
		"/length":  "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhello",
		"/chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\nX-T: end\r\n\r\n",
		"/interim": "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"/204":     "HTTP/1.1 204 No Content\r\n\r\n",
		"/304":     "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
		"/large":   "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 100000),
		"/head":    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
		"/close":   "HTTP/1.1 200 OK\r\n\r\nhello",
	}
	c := pipeServer(t, func(_ int, nc net.Conn, br *bufio.Reader) {
		for {
			_, path, _ := pipeRequest(br)
			io.WriteString(nc, answers[path])
			if path == "/close" || path == "" {
				return
			}
		}
	})
	large := strings.Repeat("x", 100000)
	resp := &Response{}
	for range 3 {
		for _, tt := range []struct {
			method, path, body string
			status, length     int
		}{
			{"GET", "/length", "hello", 200, 5},
			{"GET", "/chunked", "hello", 200, -1},
			{"POST", "/interim", "hello", 200, 5},
			{"GET", "/204", "", 204, -2},
			{"GET", "/304", "", 304, 5},
			{"GET", "/large", large, 200, 100000},
			{"HEAD", "/head", "", 200, 5},
			{"GET", "/length", "hello", 200, 5},
			{"GET", "/close", "hello", 200, 5},
		} {
			for _, keep := range []bool{false, true} {
				req := pipeReq(tt.method)
				req.SetRequestURI("http://example.org" + tt.path)
				resp.KeepBodyBuffer = keep
				resp.SkipBody = false
				if err := c.Do(req, resp); err != nil {
					t.Fatalf("%s: %v", tt.path, err)
				}
				if got := string(resp.Body()); got != tt.body || resp.StatusCode() != tt.status || resp.Header.ContentLength() != tt.length {
					t.Errorf("%s: got %d, %d bytes, length %d", tt.path, resp.StatusCode(), len(got), resp.Header.ContentLength())
				}
				if tt.path == "/chunked" && string(resp.Header.Peek("X-T")) != "end" {
					t.Errorf("the trailer field is %q", resp.Header.Peek("X-T"))
				}
				if resp.RemoteAddr() == nil || resp.RemoteAddr().String() != c.Addr {
					t.Errorf("the response came from %v", resp.RemoteAddr())
				}
			}
		}
		skip := &Response{SkipBody: true}
		if err := c.Do(pipeReqTo("/length"), skip); err != nil || len(skip.Body()) > 0 || skip.Header.ContentLength() != 5 {
			t.Errorf("got %q, %v, want no body", skip.Body(), err)
		}
		stream := &Response{StreamBody: true}
		if err := c.Do(pipeReqTo("/length"), stream); err != nil || !stream.IsBodyStream() {
			t.Errorf("got %v, want a stream", err)
		}
		if b, err := io.ReadAll(stream.BodyStream()); err != nil || string(b) != "hello" {
			t.Errorf("got %q, %v", b, err)
		}
		if err := stream.CloseBodyStream(); err != nil {
			t.Error(err)
		}
		if err := c.Do(pipeReqTo("/length"), nil); err != nil {
			t.Error(err)
		}
	}
}

func pipeReqTo(path string) *Request {
	req := &Request{}
	req.SetRequestURI("http://example.org" + path)
	return req
}

// When too many wait, who doesn't mind the time is refused, and who does
// waits.
func TestPipelineOverflow(t *testing.T) {
	release := make(chan struct{})
	c := pipeServer(t, func(n int, nc net.Conn, br *bufio.Reader) {
		<-release
		pipeEcho(n, nc, br)
	})
	c.MaxPendingRequests = 2
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() { wantPipe(t, pipeDo(c, "GET", "/", ""), "GET / ") })
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

// A dial that fails is everybody's error who waits for it; one that nobody
// waits for ends.
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
	for i := range c.lanes { // their last use of defaultDialer was before this
		l := &c.lanes[i]
		for running := true; running; time.Sleep(time.Millisecond) {
			l.mu.Lock()
			running = l.running
			l.mu.Unlock()
		}
	}
}

// A connection that is idle is closed, and its goroutines end.
func TestPipelineIdle(t *testing.T) {
	before := runtime.NumGoroutine()
	var conns atomic.Int32
	c := pipeServer(t, func(n int, nc net.Conn, br *bufio.Reader) {
		conns.Add(1)
		pipeEcho(n, nc, br)
	})
	c.MaxIdleConnDuration = 5 * time.Millisecond
	for range 3 {
		wantPipe(t, pipeDo(c, "GET", "/", ""), "GET / ")
		wantGoroutines(t, before+1) // the listener's
	}
	if n := conns.Load(); n != 3 {
		t.Errorf("%d connections, want 3", n)
	}
}

// Bodies that are streams are sent whole, with their framing, and closed.
func TestPipelineRequestStream(t *testing.T) {
	c := pipeServer(t, pipeEcho)
	for _, size := range []int{-1, 5} {
		req, resp := pipeReq("POST"), &Response{}
		body := &pipeTestStream{Reader: strings.NewReader("hello")}
		req.SetBodyStream(body, size)
		if err := c.DoTimeout(req, resp, time.Minute); err != nil || string(resp.Body()) != "POST / hello" {
			t.Errorf("got %q, %v", resp.Body(), err)
		}
		if !body.closed {
			t.Error("the stream was not closed")
		}
	}
	oh := errors.New("oh")
	req := pipeReq("POST")
	req.SetBodyStream(&pipeTestStream{Reader: io.MultiReader(strings.NewReader("he"), errReader{oh})}, -1)
	if err := c.Do(req, nil); !errors.Is(err, oh) {
		t.Errorf("got %v, want the error of the stream", err)
	}
	req = pipeReq("POST")
	req.SetBodyStream(zeroReader{}, -1)
	if err := c.DoTimeout(req, nil, 10*time.Millisecond); err != ErrTimeout {
		t.Errorf("got %v, want ErrTimeout", err)
	}
	req.SetBodyStream(zeroReader{}, -1)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := c.DoContext(ctx, req, nil); err != context.DeadlineExceeded {
		t.Errorf("got %v, want context.DeadlineExceeded", err)
	}
	wantPipe(t, pipeDo(c, "GET", "/", ""), "GET / ")
}

type pipeTestStream struct {
	io.Reader
	closed bool
}

func (s *pipeTestStream) Close() error { s.closed = true; return nil }

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// Large bodies and small ones share batches.
func TestPipelineLargeBodies(t *testing.T) {
	c := pipeServer(t, pipeEcho)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			body := strings.Repeat(string(rune('a'+i)), i*i*1000)
			for range 5 {
				if got := pipeDo(c, "PUT", "/", body); got != "PUT / "+body {
					t.Errorf("got %d bytes %.20q, want %d", len(got), got, len(body))
				}
			}
		})
	}
	wg.Wait()
}

// A response that comes before its request was written whole is taken, and
// the memory of the request isn't used again while it is being written.
func TestPipelineEarlyAnswer(t *testing.T) {
	c := pipeServer(t, func(_ int, nc net.Conn, br *bufio.Reader) {
		for {
			line, err := br.ReadString('\n')
			if err != nil {
				return
			}
			if line == "\r\n" { // the end of a head: the body can wait
				pipeAnswer(nc, "", "early")
				if _, err := io.CopyN(io.Discard, br, 4<<20); err != nil {
					return
				}
			}
		}
	})
	for i := range 20 {
		req, resp := pipeReq("PUT"), &Response{}
		req.SetBody(bytes.Repeat([]byte{byte(i)}, 4<<20))
		if err := c.Do(req, resp); err != nil || string(resp.Body()) != "early" {
			t.Fatalf("got %q, %v", resp.Body(), err)
		}
	}
}

// TLS is used, and verified.
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

// pipeAnswerAll answers requests without a body, and without allocating.
func pipeAnswerAll(_ int, nc net.Conn, br *bufio.Reader) {
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: text/plain\r\n\r\nhello")
	for {
		line, err := br.ReadSlice('\n')
		if err != nil {
			return
		}
		if len(line) == 2 {
			nc.Write(answer)
		}
	}
}

func insecureTLS() *tls.Config { return &tls.Config{InsecureSkipVerify: true} }
