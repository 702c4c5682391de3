package reverse_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/reverse"
	"github.com/galehttp/gale/tests/harness/await"
)

// long is a request whose body doesn't go out with its head.
var long = "POST /long HTTP/1.1\r\nHost: a\r\nContent-Length: 20000\r\n\r\n" + strings.Repeat("b", 20000)

// A request with a body that waits for a connection ends with its time limit, and when its
// client leaves.
func TestWaitEnds(t *testing.T) { onEngines(t, testWaitEnds) }

func testWaitEnds(t *testing.T) {
	held, asked := make(chan struct{}), make(chan struct{}, 10)
	addr, conns := script(t, func(c *net.TCPConn, br *bufio.Reader) {
		readHead(br)
		asked <- struct{}{}
		<-held
	})
	defer close(held)
	errs := make(chan error, 10)
	p := &reverse.Proxy{Upstreams: []string{addr}, MaxConns: 1, MaxConnWait: time.Hour, ErrorHandler: func(ctx *gale.RequestCtx, err error) {
		errs <- err
		reverse.WriteError(ctx, err)
	}}
	entered := make(chan struct{}, 2)
	proxyAddr := serveHandler(t, p, func(ctx *gale.RequestCtx) {
		entered <- struct{}{}
		p.Handler(ctx)
	})
	c, _ := dial(t, proxyAddr)
	io.WriteString(c, get)
	<-entered
	<-asked
	c, _ = dial(t, proxyAddr)
	io.WriteString(c, long)
	<-entered
	time.Sleep(2 * watchTime) // the proxy waits and watches by then
	reset(c)
	select {
	case err := <-errs:
		if !strings.Contains(err.Error(), "gone") {
			t.Errorf("client left: %v", err)
		}
	case <-time.After(wait):
		t.Error("the request of a client that left still waits")
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}

	// Nothing answers the dialer.
	p = &reverse.Proxy{Upstreams: []string{addr}, Timeout: 50 * time.Millisecond, DialTimeout: time.Hour, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		select {
		case <-ctx.Done():
		case <-held:
		}
		return nil, errors.New("no connection")
	}}
	proxyAddr = serve(t, p)
	for _, request := range []string{get, long} {
		c, br := dial(t, proxyAddr)
		_ = c.SetDeadline(time.Now().Add(wait))
		io.WriteString(c, request)
		if head := readHead(br); !strings.HasPrefix(head, "HTTP/1.1 504 ") {
			t.Errorf("%.4s with a dialer that hangs: %q", request, head)
		}
	}
}

// A health check doesn't wait for requests.
func TestHealthCheckBusy(t *testing.T) { onUpstreams(t, testHealthCheckBusy) }

func testHealthCheckBusy(t *testing.T) {
	asked, proceed := make(chan struct{}, 10), make(chan struct{})
	var checks atomic.Int64
	addr := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" {
			checks.Add(1)
			return
		}
		asked <- struct{}{}
		<-proceed
	})
	p := &reverse.Proxy{Upstreams: []string{addr}, MaxConns: 1, MaxConnWait: wait, HealthCheck: reverse.HealthCheck{Path: "/healthz", Interval: time.Millisecond, Timeout: wait}}
	proxyAddr := serve(t, p)
	c, br := dial(t, proxyAddr)
	io.WriteString(c, get)
	<-asked
	before := checks.Load()
	await.Until(t, "two checks while the upstream is busy", func() bool { return checks.Load() >= before+2 })
	c2, br2 := dial(t, proxyAddr)
	io.WriteString(c2, get)
	close(proceed)
	for _, br := range []*bufio.Reader{br, br2} {
		if head := readHead(br); !strings.HasPrefix(head, "HTTP/1.1 200 ") {
			t.Errorf("got %q", head)
		}
	}
}

// An upstream whose responses break off is left out, though their heads come.
func TestBrokenBodiesCount(t *testing.T) { onEngines(t, testBrokenBodiesCount) }

func testBrokenBodiesCount(t *testing.T) {
	var bad atomic.Int64
	breaks, _ := script(t, func(c *net.TCPConn, br *bufio.Reader) {
		readRequest(br)
		bad.Add(1)
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
		time.Sleep(time.Millisecond) // the head most likely comes alone
		io.WriteString(c, "part")
	})
	good := server(t, func(w http.ResponseWriter, r *http.Request) {})
	proxyAddr := serve(t, &reverse.Proxy{Upstreams: []string{breaks, good}, MaxFails: 2, FailTime: time.Hour})
	for range 20 {
		c, br := dial(t, proxyAddr)
		io.WriteString(c, get)
		if resp, err := http.ReadResponse(br, nil); err == nil {
			io.Copy(io.Discard, resp.Body)
		}
	}
	if n := bad.Load(); n != 2 {
		t.Errorf("the upstream that breaks off was asked %d times", n)
	}
}

// What is hop-by-hop or spoofed is dropped in whatever spelling.
func TestSpellings(t *testing.T) { onEngines(t, testSpellings) }

func testSpellings(t *testing.T) {
	var head string
	addr, _ := script(t, func(c *net.TCPConn, br *bufio.Reader) {
		head = readHead(br)
		io.WriteString(c, "HTTP/1.1 200 OK\r\nconnection: x-hop, X-Other\r\nX-HOP: 1\r\nx-other: 1\r\nkeep-alive: 1\r\nX-End: 1\r\nContent-Length: 0\r\n\r\n")
	})
	for _, raw := range []bool{false, true} {
		p := &reverse.Proxy{Upstreams: []string{addr}}
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := &gale.Server{Handler: p.Handler, Engine: engine, StreamRequestBody: true, DisableHeaderNamesNormalizing: raw}
		go s.Serve(ln)
		defer s.Close()
		answer := talk(t, ln.Addr().String(), "GET / HTTP/1.1\r\nHost: a\r\nconnection: close, x-hop, X-Other\r\nX-Hop: 1\r\nx-OTHER: 1\r\nkeep-alive: 1\r\nte: gzip\r\n"+
			"x-forwarded-for: evil\r\nX_Forwarded_For: evil\r\nX-FORWARDED_proto: evil\r\nx_real_ip: evil\r\nexpect: 100-continue\r\nhttp2-settings: evil\r\nproxy-connection: evil\r\n\r\n")
		for _, no := range []string{"x-hop", "x-other", "keep-alive", "te:", "evil", "expect", "connection"} {
			if strings.Contains(strings.ToLower(head), "\r\n"+no) || no == "evil" && strings.Contains(head, no) {
				t.Errorf("raw %v: the upstream got %q", raw, head)
				break
			}
		}
		if strings.Count(strings.ToLower(head), "x-forwarded-for") != 1 {
			t.Errorf("raw %v: the upstream got %q", raw, head)
		}
		for _, no := range []string{"x-hop", "x-other", "keep-alive"} {
			if strings.Contains(strings.ToLower(answer), "\r\n"+no) {
				t.Errorf("raw %v: the client got %q", raw, answer)
			}
		}
	}
}

// An upgrade to HTTP/2 would carry requests past the proxy.
func TestUpgradeToHTTP2(t *testing.T) { onEngines(t, testUpgradeToHTTP2) }

func testUpgradeToHTTP2(t *testing.T) {
	var head string
	addr, _ := script(t, func(c *net.TCPConn, br *bufio.Reader) {
		head = readHead(br)
		io.WriteString(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
	})
	proxyAddr := start(t, addr)
	for value, want := range map[string]string{"h2c": "", "H2C, websocket": "Upgrade: websocket\r\n", "h2c/1": "", "websocket": "Upgrade: websocket\r\n"} {
		c, br := dial(t, proxyAddr)
		io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: "+value+"\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n")
		if got := readHead(br); !strings.HasPrefix(got, "HTTP/1.1 200 ") {
			t.Errorf("%s: got %q", value, got)
		}
		if strings.Contains(strings.ToLower(head), "h2c") || strings.Contains(head, "Settings") || strings.Contains(head, "Upgrade: ") != (want != "") || !strings.Contains(head, want) {
			t.Errorf("%s: the upstream got %q", value, head)
		}
	}
}

// The limit for bodies holds also if the server has collected them.
func TestTooLargeCollected(t *testing.T) { onUpstreams(t, testTooLargeCollected) }

func testTooLargeCollected(t *testing.T) {
	var asked atomic.Int64
	addr := server(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		asked.Add(1)
	})
	for _, stream := range []bool{true, false} {
		p := &reverse.Proxy{Upstreams: []string{addr}, MaxRequestBodySize: 10, HTTP2: upstreamMode()}
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := &gale.Server{Handler: p.Handler, Engine: engine, StreamRequestBody: stream}
		go s.Serve(ln)
		defer s.Close()
		for _, request := range []string{
			"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nb\r\nhello world\r\n0\r\n\r\n",
			"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nhello world",
		} {
			c, br := dial(t, ln.Addr().String())
			io.WriteString(c, request)
			if head := readHead(br); !strings.HasPrefix(head, "HTTP/1.1 413 ") {
				t.Errorf("stream %v: %q: got %q", stream, request, head)
			}
		}
	}
}

// A response that a handler around the proxy has answered in place of costs nothing, whether it comes
// before that or after.
func TestAnswersTooLate(t *testing.T) { onEngines(t, testAnswersTooLate) }

func testAnswersTooLate(t *testing.T) {
	var late atomic.Pointer[chan struct{}] // closed when the handler has answered
	addr, _ := script(t, func(c *net.TCPConn, br *bufio.Reader) {
		r := readRequest(br)
		if r != nil && r.URL.Path != "/now" {
			if r.URL.Path != "/early" {
				<-*late.Load()
			}
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nhello")
			io.Copy(io.Discard, br)
			return
		}
		io.WriteString(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
	})
	p := &reverse.Proxy{Upstreams: []string{addr}, MaxConns: 1}
	slow := gale.TimeoutHandler(p.Handler, 10*time.Millisecond, "late")
	proxyAddr := serveHandler(t, p, func(ctx *gale.RequestCtx) {
		switch string(ctx.Path()) {
		case "/now":
			p.Handler(ctx)
		case "/early":
			p.Handler(ctx)
			ctx.TimeoutError("late")
		case "/left":
			go p.Handler(ctx)
			ctx.TimeoutError("late")
		default:
			slow(ctx)
		}
	})
	requests := []string{get, long}
	for _, path := range []string{"/early", "/left"} {
		requests = append(requests, "GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\n")
	}
	for range 5 {
		for _, request := range requests {
			answered := make(chan struct{})
			late.Store(&answered)
			c, br := dial(t, proxyAddr)
			io.WriteString(c, request)
			if head := readHead(br); !strings.HasPrefix(head, "HTTP/1.1 408 ") {
				_, err := br.ReadByte()
				t.Fatalf("%.30q: got %q, then %v", request, head, err)
			}
			close(answered)
			c, br = dial(t, proxyAddr)
			io.WriteString(c, "GET /now HTTP/1.1\r\nHost: a\r\n\r\n")
			if head := readHead(br); !strings.HasPrefix(head, "HTTP/1.1 200 ") {
				t.Fatalf("got %q", head)
			}
		}
	}
}

// A handler around the proxy may say that the connection ends.
func TestCloseAround(t *testing.T) { onUpstreams(t, testCloseAround) }

func testCloseAround(t *testing.T) {
	addr := server(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "ok") })
	p := &reverse.Proxy{Upstreams: []string{addr}}
	proxyAddr := serveHandler(t, p, func(ctx *gale.RequestCtx) {
		ctx.SetConnectionClose()
		p.Handler(ctx)
	})
	if answer := talk(t, proxyAddr, get); strings.Count(answer, "Connection: close\r\n") != 1 {
		t.Errorf("got %q", answer)
	}
}

// Interim responses that come late, while the client is watched.
func TestInterimLate(t *testing.T) { onEngines(t, testInterimLate) }

func testInterimLate(t *testing.T) {
	addr, _ := script(t, func(c *net.TCPConn, br *bufio.Reader) {
		readRequest(br)
		for range 30 {
			time.Sleep(10 * time.Millisecond) // all of them take longer than until the client is watched
			io.WriteString(c, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
		}
		io.WriteString(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
	})
	proxyAddr := start(t, addr)
	for _, request := range []string{get, post, long} {
		c, br := dial(t, proxyAddr)
		io.WriteString(c, request)
		n := 0
		for ; ; n++ {
			if got := readHead(br); !strings.HasPrefix(got, "HTTP/1.1 103 ") {
				if !strings.HasPrefix(got, "HTTP/1.1 200 ") {
					t.Errorf("got %q", got)
				}
				break
			}
		}
		if n != 30 {
			t.Errorf("%d interim responses", n)
		}
	}
}

// A client that leaves while it sends its body ends the request to the upstream, which
// doesn't get a complete one.
func TestClientLeavesSending(t *testing.T) { onUpstreams(t, testClientLeavesSending) }

func testClientLeavesSending(t *testing.T) {
	begun, result := make(chan struct{}, 1), make(chan error, 1)
	addr := server(t, func(w http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		_, err := io.Copy(io.Discard, r.Body)
		result <- err
	})
	proxyAddr := start(t, addr)
	for _, reset := range []bool{false, true} {
		for _, head := range []string{"Content-Length: 100000\r\n\r\nbody", "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n", "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n"} {
			c, _ := dial(t, proxyAddr)
			io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\n"+head)
			<-begun
			if reset {
				c.SetLinger(0)
			}
			c.Close()
			select {
			case err := <-result:
				if err == nil {
					t.Errorf("%q: the upstream got a complete body", head)
				}
			case <-time.After(wait):
				t.Fatalf("%q: the upstream still waits", head)
			}
		}
	}
}

// What Rewrite sets can't be taken away by a client, and a panic in it leaves nothing open.
func TestRewrite(t *testing.T) { onUpstreams(t, testRewrite) }

func testRewrite(t *testing.T) {
	var got http.Header
	addr := server(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		got = r.Header.Clone()
	})
	p := &reverse.Proxy{Upstreams: []string{addr}, MaxConns: 1, MaxConnWait: -1, Rewrite: func(ctx *gale.RequestCtx, h *gale.RequestHeader) {
		h.Set("X-User", "7")
		h.Del("X-Secret")
		if string(ctx.Path()) == "/panic" {
			panic("Rewrite")
		}
	}}
	proxyAddr := serve(t, p)
	for _, request := range []string{get, post, long} {
		for _, path := range []string{" /panic ", " / "} {
			head, body, _ := strings.Cut(strings.Replace(strings.Replace(request, " / ", path, 1), " /long ", path, 1), "\r\n\r\n")
			c, br := dial(t, proxyAddr)
			io.WriteString(c, head+"\r\nConnection: X-User\r\nX-User: evil\r\nX-Secret: 1\r\n\r\n"+body)
			want := "HTTP/1.1 200 "
			if path == " /panic " {
				want = "HTTP/1.1 500 "
			}
			if head := readHead(br); !strings.HasPrefix(head, want) {
				t.Errorf("got %q", head)
			}
		}
		if len(got["X-User"]) != 1 || got.Get("X-User") != "7" || got.Get("X-Secret") != "" {
			t.Errorf("the upstream got %v", got)
		}
	}
}

// Bodies that the server, or a handler around the proxy, has read already are passed on byte
// for byte; a form that was read from a stream is written again.
func TestBodyReadBefore(t *testing.T) { onUpstreams(t, testBodyReadBefore) }

func testBodyReadBefore(t *testing.T) {
	var got string
	addr := server(t, func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		got = fmt.Sprint(string(b), err)
	})
	form := "preamble\r\n--b\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--b--\r\nepilogue"
	for _, stream := range []bool{true, false} {
		for _, read := range []string{"", "body", "form", "args"} {
			p := &reverse.Proxy{Upstreams: []string{addr}, HTTP2: upstreamMode()}
			ln, err := net.Listen("tcp4", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			s := &gale.Server{Engine: engine, StreamRequestBody: stream, Logger: log.New(io.Discard, "", 0), Handler: func(ctx *gale.RequestCtx) {
				switch read {
				case "body":
					ctx.PostBody()
				case "form":
					ctx.MultipartForm()
				case "args":
					ctx.PostArgs().Peek("a")
				}
				p.Handler(ctx)
			}}
			go s.Serve(ln)
			defer s.Close()
			for _, tt := range []struct{ kind, body string }{
				{"multipart/form-data; boundary=b", form},
				{"application/x-www-form-urlencoded", "b=%20+&a=1&&c"},
				{"application/x-www-form-urlencoded", "a=" + strings.Repeat("b", 20000)},
			} {
				for _, framing := range []string{
					fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(tt.body), tt.body),
					fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(tt.body), tt.body),
				} {
					got = ""
					c, br := dial(t, ln.Addr().String())
					_ = c.SetDeadline(time.Now().Add(wait))
					io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: "+tt.kind+"\r\n"+framing)
					head := readHead(br)
					if stream && read == "form" && tt.body == form {
						if !strings.HasPrefix(head, "HTTP/1.1 200 ") || !strings.Contains(got, "name=\"a\"\r\n\r\n1\r\n--") || strings.Contains(got, "--b\r\n") {
							t.Errorf("a form that was read: upstream got %q, client %q", got, head)
						}
						continue
					}
					if !strings.HasPrefix(head, "HTTP/1.1 200 ") || got != tt.body+"<nil>" {
						t.Errorf("stream %v, read %q: %.40q: upstream got %.80q, client %q", stream, read, framing, got, head)
					}
				}
			}
		}
	}
}

// A client that takes too long to send its body is to blame for it, not the upstream.
func TestSlowClient(t *testing.T) { onUpstreams(t, testSlowClient) }

func testSlowClient(t *testing.T) {
	addr := server(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	p := &reverse.Proxy{Upstreams: []string{addr}, Timeout: 500 * time.Millisecond}
	c, br := dial(t, serve(t, p))
	io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nstart")
	if head := readHead(br); !strings.HasPrefix(head, "HTTP/1.1 408 ") {
		t.Errorf("got %q", head)
	}
}

// The trailer section of a body that the server has collected is passed on, once.
func TestTrailersCollected(t *testing.T) { onUpstreams(t, testTrailersCollected) }

func testTrailersCollected(t *testing.T) {
	got := make(chan string, 1)
	addr := server(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- fmt.Sprintf("%s %q %q", b, r.Trailer["X-Sum"], r.Header["X-Sum"])
	})
	for _, merge := range []bool{false, true} {
		p := &reverse.Proxy{Upstreams: []string{addr}, HTTP2: upstreamMode()}
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := &gale.Server{Handler: p.Handler, Engine: engine, MergeTrailers: merge}
		go s.Serve(ln)
		answer := talk(t, ln.Addr().String(), "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n2\r\nhi\r\n0\r\nX-Sum: 1\r\n\r\n")
		if !strings.HasPrefix(answer, "HTTP/1.1 200 ") {
			t.Fatalf("got %q", answer)
		}
		if s := <-got; s != `hi ["1"] []` {
			t.Errorf("MergeTrailers %v: the upstream got %s", merge, s)
		}
		s.Close()
		p.Close()
	}
}
