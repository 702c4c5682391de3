package client

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/race"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/peers"
)

// Every caller gets the response to its own request, for any number of callers and
// connections.
func TestPipelineEcho(t *testing.T) {
	for _, tt := range []struct {
		name  string
		setup func(*gale.PipelineClient)
		conns int32
	}{
		{"default", func(*gale.PipelineClient) {}, 1},
		{"three connections", func(c *gale.PipelineClient) { c.MaxConns = 3 }, 3},
		{"one at a time", func(c *gale.PipelineClient) { c.MaxPendingRequests = 1 }, 1},
		{"delay", func(c *gale.PipelineClient) { c.MaxBatchDelay = time.Millisecond }, 1},
		{"time-outs", func(c *gale.PipelineClient) { c.ReadTimeout, c.WriteTimeout = time.Minute, time.Minute }, 1},
		{"small batches", func(c *gale.PipelineClient) { c.WriteBufferSize = 1 }, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var conns atomic.Int32
			c := harness.PipeServer(t, func(n int, nc net.Conn, br *bufio.Reader) {
				conns.Add(1)
				peers.PipeEcho(n, nc, br)
			})
			tt.setup(c)
			var wg sync.WaitGroup
			for i := range 32 {
				wg.Go(func() {
					req, resp := &gale.Request{}, &gale.Response{}
					for n := range race.Fewer(50) {
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
			harness.WantNonePending(t, c)
		})
	}
}

// Requests that were lost with their connection are sent again in order, if that does no
// harm.
func TestPipelineRepeats(t *testing.T) {
	var seen sync.Map
	c := harness.PipeServer(t, func(n int, nc net.Conn, br *bufio.Reader) {
		for range 7 { // then the connection is closed without a "Connection: close"
			method, path, body := peers.PipeRequest(br)
			if method == "" {
				return
			}
			if _, twice := seen.LoadOrStore(path, n); twice && method == "POST" {
				t.Errorf("%s %s came twice", method, path)
			}
			peers.PipeAnswer(nc, "", method+" "+path+" "+body)
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
				req, resp := &gale.Request{}, &gale.Response{}
				req.SetRequestURI("http://example.org" + path)
				req.Header.SetMethod(method)
				err := c.Do(req, resp)
				var sent *gale.ErrRequestSent
				switch {
				case err == nil:
					peers.WantPipe(t, string(resp.Body()), method+" "+path+" ")
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

// If a connection is closed before its first response, its first request fails. So calls
// end even if a server always does so.
func TestPipelineRefused(t *testing.T) {
	var conns atomic.Int32
	c := harness.PipeServer(t, func(_ int, _ net.Conn, br *bufio.Reader) {
		conns.Add(1)
		peers.PipeRequest(br)
	})
	peers.WantPipe(t, harness.PipeDo(c, "GET", "/", ""), "error: "+gale.ErrConnectionClosed.Error())
	err := c.Do(harness.PipeReq("POST"), &gale.Response{})
	var sent *gale.ErrRequestSent
	if !errors.As(err, &sent) || !errors.Is(err, gale.ErrConnectionClosed) {
		t.Errorf("got %v, want an ErrRequestSent of ErrConnectionClosed", err)
	}
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if err := c.Do(harness.PipeReq("GET"), nil); !errors.Is(err, gale.ErrConnectionClosed) {
				t.Errorf("got %v, want ErrConnectionClosed", err)
			}
		})
	}
	wg.Wait()
	if n := conns.Load(); n > 12 {
		t.Errorf("%d connections for 12 requests", n)
	}
}

// A server processes nothing after a response that says "Connection: close". So all later
// requests are sent again, whatever their method.
func TestPipelineServerCloses(t *testing.T) {
	var mu sync.Mutex
	count := map[string]int{}
	c := harness.PipeServer(t, func(_ int, nc net.Conn, br *bufio.Reader) {
		method, path, body := peers.PipeRequest(br)
		if method == "" {
			return
		}
		mu.Lock()
		count[path]++
		mu.Unlock()
		peers.PipeAnswer(nc, "Connection: close\r\n", method+" "+path+" "+body)
		nc.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, br) // requests that aren't processed
	})
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			path := fmt.Sprintf("/%d", i)
			peers.WantPipe(t, harness.PipeDo(c, "POST", path, "body"), "POST "+path+" body")
		})
	}
	wg.Wait()
	mu.Lock()
	defer mu.Unlock()
	for path, n := range count {
		if n != 1 {
			t.Errorf("%s was acted upon %d times", path, n)
		}
	}
}

// A request that says "Connection: close" is the last one on its connection.
func TestPipelineClientCloses(t *testing.T) {
	c := harness.PipeServer(t, func(n int, nc net.Conn, br *bufio.Reader) {
		var req gale.Request
		for req.Read(br) == nil {
			peers.PipeAnswer(nc, "", fmt.Sprint(n))
			if req.ConnectionClose() {
				if b, _ := br.Peek(1); len(b) > 0 {
					t.Error("something was written behind the last request")
				}
				return
			}
		}
	})
	for n := 1; n < 4; n++ {
		peers.WantPipe(t, harness.PipeDo(c, "GET", "/", ""), fmt.Sprint(n))
		req, resp := harness.PipeReq("POST"), &gale.Response{}
		req.SetConnectionClose()
		if err := c.Do(req, resp); err != nil || string(resp.Body()) != fmt.Sprint(n) {
			t.Errorf("got %q, %v", resp.Body(), err)
		}
	}
}

// Bytes that a server sends without a request never become the response of a call.
func TestPipelineUnasked(t *testing.T) {
	answered := make(chan struct{})
	c := harness.PipeServer(t, func(n int, nc net.Conn, br *bufio.Reader) {
		for {
			method, path, _ := peers.PipeRequest(br)
			if method == "" {
				return
			}
			peers.PipeAnswer(nc, "", method+" "+path)
			if path == "/extra" {
				peers.PipeAnswer(nc, "", "poison")
				io.Copy(io.Discard, br)
				close(answered)
				return
			}
		}
	})
	peers.WantPipe(t, harness.PipeDo(c, "GET", "/extra", ""), "GET /extra")
	<-answered // the client has closed the connection
	peers.WantPipe(t, harness.PipeDo(c, "GET", "/next", ""), "GET /next")
}

// Responses that break the rules are errors, and end the connection.
func TestPipelineMalformed(t *testing.T) {
	for _, tt := range []struct{ name, answer, want string }{
		{"status", "HTTP/1.1 xxx OK\r\nContent-Length: 2\r\n\r\nhi", "gale: error when reading response headers"},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi!", "duplicate content-length"},
		{"length and coding", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "gale: error when reading response headers"},
		{"chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "chunk"},
		{"bare LF", "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", "gale: error when reading response headers"},
		{"cut off in the head", "HTTP/1.1 200 OK\r\nContent-", "gale: error when reading response headers"},
		{"cut off in the body", "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nhi", "unexpected EOF"},
		{"cut off in a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhi", "unexpected EOF"},
		{"too large", "HTTP/1.1 200 OK\r\nContent-Length: 2000000000\r\n\r\nhi", gale.ErrBodyTooLarge.Error()},
		{"interim without end", strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 200), "too many 1xx"},
		{"head too long", "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", 100<<10), "small read buffer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var seen sync.Map
			c := harness.PipeServer(t, func(n int, nc net.Conn, br *bufio.Reader) {
				for {
					method, path, _ := peers.PipeRequest(br)
					if method == "" {
						return
					}
					if path == "/bad" {
						io.WriteString(nc, tt.answer)
						nc.(*net.TCPConn).CloseWrite()
						io.Copy(io.Discard, br) // closing with unread requests would reset the connection, and lose the answer
						return
					}
					if _, twice := seen.LoadOrStore(path, n); twice && method == "POST" {
						t.Errorf("%s %s came twice", method, path)
					}
					peers.PipeAnswer(nc, "", method+" "+path)
				}
			})
			c.MaxResponseBodySize = 1 << 20
			peers.WantPipe(t, harness.PipeDo(c, "GET", "/before", ""), "GET /before")
			var wg sync.WaitGroup
			wg.Go(func() {
				if got := harness.PipeDo(c, "POST", "/bad", ""); !strings.Contains(got, tt.want) {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			})
			for i := range 5 {
				path := fmt.Sprintf("/behind%d", i)
				wg.Go(func() { peers.WantPipe(t, harness.PipeDo(c, "GET", path, ""), "GET "+path) })
			}
			wg.Wait()
			peers.WantPipe(t, harness.PipeDo(c, "POST", "/after", ""), "POST /after")
		})
	}
}

// Only the error of its own call quotes a response that breaks off: the later calls
// belong to other callers.
func TestPipelineQuotesOwnOnly(t *testing.T) {
	for _, answer := range []string{"HTTP/1.1 200 OK\r\nX-Canary: canary\r\n", "HTTP/1.1 200 OK\r\ncanary\r\n\r\n"} {
		sent := make(chan struct{})
		c := harness.PipeServer(t, func(_ int, nc net.Conn, br *bufio.Reader) {
			peers.PipeRequest(br)
			close(sent)
			peers.PipeRequest(br)
			io.WriteString(nc, answer)
		})
		first := make(chan string)
		go func() { first <- harness.PipeDo(c, "POST", "/first", "") }()
		<-sent
		behind := harness.PipeDo(c, "POST", "/behind", "")
		if !strings.HasPrefix(behind, "error: ") || strings.Contains(behind, "canary") {
			t.Errorf("the call behind it got %q", behind)
		}
		if got := <-first; !strings.Contains(got, "canary") {
			t.Errorf("its own call got %q", got)
		}
	}
}

// Responses of all forms arrive correctly, one after the other.
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
	c := harness.PipeServer(t, func(_ int, nc net.Conn, br *bufio.Reader) {
		for {
			_, path, _ := peers.PipeRequest(br)
			io.WriteString(nc, answers[path])
			if path == "/close" || path == "" {
				return
			}
		}
	})
	large := strings.Repeat("x", 100000)
	resp := &gale.Response{}
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
				req := harness.PipeReq(tt.method)
				req.SetRequestURI("http://example.org" + tt.path)
				resp.KeepBodyBuffer = keep
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
		skip := &gale.Response{SkipBody: true}
		if err := c.Do(harness.PipeReqTo("/length"), skip); err != nil || len(skip.Body()) > 0 || skip.Header.ContentLength() != 5 {
			t.Errorf("got %q, %v, want no body", skip.Body(), err)
		}
		stream := &gale.Response{StreamBody: true}
		if err := c.Do(harness.PipeReqTo("/length"), stream); err != nil || !stream.IsBodyStream() {
			t.Errorf("got %v, want a stream", err)
		}
		if b, err := io.ReadAll(stream.BodyStream()); err != nil || string(b) != "hello" {
			t.Errorf("got %q, %v", b, err)
		}
		if err := stream.CloseBodyStream(); err != nil {
			t.Error(err)
		}
		if err := c.Do(harness.PipeReqTo("/length"), nil); err != nil {
			t.Error(err)
		}
	}
}

func insecureTLS() *tls.Config { return &tls.Config{InsecureSkipVerify: true} }

// TLS is used, and the certificate is verified.
func TestPipelineTLS(t *testing.T) {
	cert, key, err := gale.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	s := &gale.Server{Logger: peers.DiscardLog{}, Handler: func(ctx *gale.RequestCtx) { ctx.WriteString("secret") }}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- s.ServeTLSEmbed(ln, cert, key) }()
	c := &gale.PipelineClient{Addr: ln.Addr().String(), IsTLS: true, Logger: peers.DiscardLog{}}
	if got := harness.PipeDo(c, "GET", "/", ""); !strings.Contains(got, "certificate") {
		t.Errorf("got %q, want that the certificate can't be verified", got)
	}
	c = &gale.PipelineClient{Addr: ln.Addr().String(), IsTLS: true, TLSConfig: insecureTLS()}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				peers.WantPipe(t, harness.PipeDo(c, "GET", "/", ""), "secret")
			}
		})
	}
	wg.Wait()
	door.ClosePipes(c)
	s.Shutdown()
	<-done
}
