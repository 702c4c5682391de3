package reverse_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"crypto/tls"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/reverse"
)

// script is an upstream that gets connections one by one, and counts them.
func script(t *testing.T, f func(c *net.TCPConn, br *bufio.Reader)) (addr string, conns *atomic.Int64) {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	conns = new(atomic.Int64)
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			conns.Add(1)
			go func() {
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(wait))
				f(c.(*net.TCPConn), bufio.NewReader(c))
			}()
		}
	}()
	return ln.Addr().String(), conns
}

// readRequest reads a request with its whole body.
func readRequest(br *bufio.Reader) *http.Request {
	r, err := http.ReadRequest(br)
	if err != nil {
		return nil
	}
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return nil
	}
	r.Body = io.NopCloser(bytes.NewReader(b))
	return r
}

// readHead reads up to the empty line.
func readHead(br *bufio.Reader) string {
	var b strings.Builder
	for !strings.HasSuffix(b.String(), "\r\n\r\n") {
		line, err := br.ReadString('\n')
		b.WriteString(line)
		if err != nil {
			break
		}
	}
	return b.String()
}

// dial connects to the proxy.
func dial(t *testing.T, addr string) (*net.TCPConn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(wait))
	return c.(*net.TCPConn), bufio.NewReader(c)
}

const (
	get  = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody"
)

// An upstream that dies before its response or within the head is answered with 502. Within
// the body the client's connection breaks off, and what came doesn't look complete.
func TestUpstreamDies(t *testing.T) { onEngines(t, testUpstreamDies) }

func testUpstreamDies(t *testing.T) {
	for _, tt := range []struct {
		name, says string
		reset      bool
		whole      bool // the client gets a 502
	}{
		{"at once", "", false, true},
		{"at once, reset", "", true, true},
		{"in the status line", "HTTP/1.1 2", false, true},
		{"in the fields", "HTTP/1.1 200 OK\r\nX-A: 1\r\n", false, true},
		{"in the fields, reset", "HTTP/1.1 200 OK\r\nX-A: 1\r\n", true, true},
		{"not HTTP", "220 smtp.example\r\n\r\n", false, true},
		{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", false, true},
		{"bare LF", "HTTP/1.1 200 OK\nContent-Length: 1\n\na", false, true},
		{"in a body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345", false, false},
		{"in a body, reset", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345", true, false},
		{"before a body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", false, false},
		{"in a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\n12345", false, false},
		{"after a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n", false, false},
		{"in the last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n0\r\n", false, false},
		{"a chunk that is none", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n12345\r\n", false, false},
		{"without length, reset", "HTTP/1.1 200 OK\r\n\r\n12345", true, false},
	} {
		for _, request := range []string{get, post} {
			t.Run(tt.name+" "+request[:4], func(t *testing.T) {
				addr, conns := script(t, func(c *net.TCPConn, br *bufio.Reader) {
					readRequest(br)
					io.WriteString(c, tt.says)
					if tt.reset {
						c.SetLinger(0)
					}
				})
				c, br := dial(t, start(t, addr))
				io.WriteString(c, request)
				resp, err := http.ReadResponse(br, nil)
				if err != nil {
					if tt.whole {
						t.Fatal(err)
					}
					return // broken off before anything went out
				}
				_, err = io.ReadAll(resp.Body)
				if tt.whole && (resp.StatusCode != 502 || err != nil) || !tt.whole && resp.StatusCode != 502 && err == nil {
					t.Errorf("got %d, %v", resp.StatusCode, err)
				}
				if n := conns.Load(); n != 1 {
					t.Errorf("the upstream got %d connections", n)
				}
			})
		}
	}
}

// A request with a body, or of a method that isn't idempotent, is sent once, also over a
// connection that was used before. Another one is repeated if that connection dies.
func TestRetries(t *testing.T) { onEngines(t, testRetries) }

func testRetries(t *testing.T) {
	for _, tt := range []struct {
		request string
		status  int
		asked   int64
	}{
		{get, 200, 3},
		{post, 502, 2},
		{"PUT" + post[4:], 502, 2},
		{"POST / HTTP/1.1\r\nHost: a\r\n\r\n", 502, 2},
	} {
		var asked atomic.Int64
		addr, _ := script(t, func(c *net.TCPConn, br *bufio.Reader) {
			for readRequest(br) != nil {
				if asked.Add(1) == 2 {
					return // the second request, on a connection that is kept
				}
				io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			}
		})
		c, br := dial(t, start(t, addr))
		for i, want := range []int{200, tt.status} {
			io.WriteString(c, []string{get, tt.request}[i])
			resp, err := http.ReadResponse(br, nil)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			if resp.StatusCode != want {
				t.Errorf("%q: response %d has status %d, want %d", tt.request, i, resp.StatusCode, want)
			}
		}
		if n := asked.Load(); n != tt.asked {
			t.Errorf("%q: the upstream was asked %d times, want %d", tt.request, n, tt.asked)
		}
	}
}

// closedAddr is an address where nothing listens.
func closedAddr(t *testing.T) string {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// A request of which nothing was sent goes to the next upstream, whatever its method.
func TestNextUpstream(t *testing.T) { onUpstreams(t, testNextUpstream) }

func testNextUpstream(t *testing.T) {
	addr := server(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	proxyAddr := start(t, closedAddr(t), closedAddr(t), addr)
	for range 10 {
		resp, err := http.Post("http://"+proxyAddr, "text/plain", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || string(b) != "body" {
			t.Errorf("got %d %q", resp.StatusCode, b)
		}
	}
}

// 103 goes to the client, 100 only if the client waits for it, and what an upstream says
// instead of 100 ends the matter.
func TestInterim(t *testing.T) { onEngines(t, testInterim) }

func testInterim(t *testing.T) {
	const hints = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nConnection: X-Hop\r\nX-Hop: 1\r\n\r\n"
	addr, _ := script(t, func(c *net.TCPConn, br *bufio.Reader) {
		head := readHead(br)
		switch {
		case strings.Contains(head, "/refuse"):
			io.WriteString(c, "HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n")
			if b, _ := br.Peek(1); len(b) > 0 {
				t.Errorf("the upstream got %q after its refusal", b)
			}
			return
		case strings.Contains(head, "Expect: 100-continue"):
			if br.Buffered() > 0 {
				t.Error("the body came without a 100")
			}
			io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\n")
		}
		if strings.HasPrefix(head, "POST") {
			br.Discard(4)
		}
		io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\n"+hints+"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
	})
	proxyAddr := start(t, addr)
	const gotHints = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
	for _, request := range []string{get, post} {
		c, br := dial(t, proxyAddr)
		io.WriteString(c, request)
		if got := readHead(br); got != gotHints {
			t.Errorf("%.4s: first %q", request, got)
		}
		if got := readHead(br); !strings.HasPrefix(got, "HTTP/1.1 200 OK") {
			t.Errorf("%.4s: then %q", request, got)
		}
	}

	c, br := dial(t, proxyAddr)
	io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
	if got := readHead(br); got != "HTTP/1.1 100 Continue\r\n\r\n" {
		t.Errorf("with Expect, first %q", got)
	}
	io.WriteString(c, "body")
	if got := readHead(br); got != gotHints {
		t.Errorf("with Expect, second %q", got)
	}
	if got := readHead(br); !strings.HasPrefix(got, "HTTP/1.1 200 OK") {
		t.Errorf("with Expect, then %q", got)
	}

	c, br = dial(t, proxyAddr)
	io.WriteString(c, "POST /refuse HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
	if got := readHead(br); !strings.HasPrefix(got, "HTTP/1.1 417 ") {
		t.Errorf("refused: %q", got)
	}
}

// An upstream may answer before it has read the request, or while it does: neither side
// waits for the other one.
func TestAnswersEarly(t *testing.T) { onEngines(t, testAnswersEarly) }

func testAnswersEarly(t *testing.T) {
	const size = 16 << 20
	addr, _ := script(t, func(c *net.TCPConn, br *bufio.Reader) {
		head := readHead(br)
		if strings.Contains(head, "/echo") {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 16777216\r\n\r\n")
			io.CopyN(c, br, size)
			return
		}
		io.WriteString(c, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n")
		br.Peek(br.Size()) // no more than that is read before the proxy leaves
		io.Copy(io.Discard, io.LimitReader(br, 1<<20))
	})
	proxyAddr := start(t, addr)
	c, br := dial(t, proxyAddr)
	go func() {
		io.WriteString(c, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 16777216\r\n\r\n")
		io.CopyN(c, zeros{}, size)
	}()
	resp, err := http.ReadResponse(br, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, resp.Body); n != size || err != nil {
		t.Errorf("the echo has %d bytes, %v", n, err)
	}

	c, br = dial(t, proxyAddr)
	io.WriteString(c, "POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 16777216\r\n\r\nstart")
	if got := readHead(br); !strings.HasPrefix(got, "HTTP/1.1 413 ") {
		t.Errorf("while the body is outstanding: %q", got)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// Streams pass in constant memory. GALE_STREAM_SIZE says how many bytes.
func TestMemory(t *testing.T) { onUpstreams(t, testMemory) }

func testMemory(t *testing.T) {
	size := int64(64 << 20)
	if n, err := strconv.ParseInt(os.Getenv("GALE_STREAM_SIZE"), 10, 64); err == nil {
		size = n
	}
	addr := server(t, func(w http.ResponseWriter, r *http.Request) {
		if n, err := io.Copy(io.Discard, r.Body); err != nil || r.Method == "POST" && n != size {
			t.Errorf("the upstream got %d bytes, %v", n, err)
		}
		if r.Method == "GET" {
			io.CopyN(w, zeros{}, size)
		}
	})
	url := "http://" + start(t, addr)
	var most uint64
	watch := func(r io.Reader) io.Reader {
		left := 0
		return readerFunc(func(p []byte) (int, error) {
			if left--; left < 0 {
				left = 512
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapAlloc)
			}
			return r.Read(p)
		})
	}
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	resp, err := http.Post(url, "a/b", watch(io.LimitReader(zeros{}, size)))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp, err = http.Get(url); err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, watch(resp.Body)); n != size || err != nil {
		t.Errorf("the response has %d bytes, %v", n, err)
	}
	resp.Body.Close()
	if grown := int64(most) - int64(before.HeapAlloc); grown > 16<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// What an upstream gets of the target, Host and what tells the client's address.
func TestTargets(t *testing.T) { onEngines(t, testTargets) }

func testTargets(t *testing.T) {
	var head string
	addr, _ := script(t, func(c *net.TCPConn, br *bufio.Reader) {
		head = readHead(br)
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	})
	const fwd = "X-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Host: a\r\nX-Forwarded-Proto: http\r\n\r\n"
	for _, tt := range []struct {
		name          string
		p             *reverse.Proxy
		path          string // of the upstream
		request, want string // want "" is a 400
	}{
		{"origin", &reverse.Proxy{}, "", "GET /a//b/./%2e?c#d HTTP/1.1\r\nHost: a\r\n\r\n", ""},
		{"dots", &reverse.Proxy{}, "", "GET /a//b/./c HTTP/1.1\r\nHost: a\r\n\r\n", ""},
		{"dots, raw", &reverse.Proxy{RawTargets: true, StrictPaths: true}, "", "GET /a//b/./%2e?c HTTP/1.1\r\nHost: a\r\n\r\n", "GET /a//b/./%2e?c HTTP/1.1\r\nHost: a\r\n" + fwd},
		{"absolute", &reverse.Proxy{}, "", "GET http://a/x?y HTTP/1.1\r\nHost: a\r\n\r\n", "GET /x?y HTTP/1.1\r\nHost: a\r\n" + fwd},
		{"absolute, no path", &reverse.Proxy{}, "", "GET http://a?y HTTP/1.1\r\nHost: a\r\n\r\n", "GET /?y HTTP/1.1\r\nHost: a\r\n" + fwd},
		{"asterisk", &reverse.Proxy{}, "/base", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n" + fwd},
		{"absolute asterisk", &reverse.Proxy{}, "", "OPTIONS http://a HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n" + fwd},
		{"HTTP/1.0", &reverse.Proxy{Via: "me"}, "", "GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nHost: ADDR\r\nX-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Host: \r\nX-Forwarded-Proto: http\r\nVia: 1.0 me\r\n\r\n"},
		{"rewritten host", &reverse.Proxy{RewriteHost: true}, "", get, "GET / HTTP/1.1\r\nHost: ADDR\r\n" + fwd},
		{"base", &reverse.Proxy{}, "/base/", "GET /x?y/../z HTTP/1.1\r\nHost: a\r\n\r\n", "GET /base/x?y/../z HTTP/1.1\r\nHost: a\r\n" + fwd},
		{"base and dots", &reverse.Proxy{}, "/base", "GET /../x HTTP/1.1\r\nHost: a\r\n\r\n", ""},
		{"base and encoded dots", &reverse.Proxy{}, "/base", "GET /x/%2e%2E%2fy HTTP/1.1\r\nHost: a\r\n\r\n", ""},
		{"base and dots, raw", &reverse.Proxy{RawTargets: true}, "/base", "GET /../x HTTP/1.1\r\nHost: a\r\n\r\n", ""},
		{"encoded slash", &reverse.Proxy{}, "/base", "GET /a%2fb//%5C HTTP/1.1\r\nHost: a\r\n\r\n", "GET /base/a%2fb//%5C HTTP/1.1\r\nHost: a\r\n" + fwd},
		{"encoded slash, strict", &reverse.Proxy{StrictPaths: true}, "", "GET /a%2fb HTTP/1.1\r\nHost: a\r\n\r\n", ""},
		{"encoded backslash, strict", &reverse.Proxy{StrictPaths: true}, "", "GET /a%5Cb HTTP/1.1\r\nHost: a\r\n\r\n", ""},
		{"empty segment, strict", &reverse.Proxy{StrictPaths: true}, "", "GET //a HTTP/1.1\r\nHost: a\r\n\r\n", ""},
		{"URL in a path, strict", &reverse.Proxy{StrictPaths: true}, "", "GET /img/http://h/x?%2f//../ HTTP/1.1\r\nHost: a\r\n\r\n", "GET /img/http://h/x?%2f//../ HTTP/1.1\r\nHost: a\r\n" + fwd},
		{"strip", &reverse.Proxy{StripPrefix: "/api"}, "", "GET /api/x HTTP/1.1\r\nHost: a\r\n\r\n", "GET /x HTTP/1.1\r\nHost: a\r\n" + fwd},
		{"strip all", &reverse.Proxy{StripPrefix: "/api/"}, "", "GET /api?q HTTP/1.1\r\nHost: a\r\n\r\n", "GET /?q HTTP/1.1\r\nHost: a\r\n" + fwd},
		{"strip a segment only", &reverse.Proxy{StripPrefix: "/api"}, "", "GET /apix HTTP/1.1\r\nHost: a\r\n\r\n", "404"},
		{"strip another path", &reverse.Proxy{StripPrefix: "/api"}, "/base", "GET //api/x HTTP/1.1\r\nHost: a\r\n\r\n", "404"},
		{"strip an encoded path", &reverse.Proxy{StripPrefix: "/api"}, "", "GET /%61pi/x HTTP/1.1\r\nHost: a\r\n\r\n", "404"},
		{"strip an absolute target", &reverse.Proxy{StripPrefix: "/api"}, "", "GET http://a/api/x HTTP/1.1\r\nHost: a\r\n\r\n", "GET /x HTTP/1.1\r\nHost: a\r\n" + fwd},
		{"forwarded", &reverse.Proxy{Forwarded: true}, "", "GET / HTTP/1.1\r\nHost: a\r\nforwarded: for=evil\r\nX-Forwarded-Port: 1\r\nx-real-ip: 1.2.3.4\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: a\r\nForwarded: for=127.0.0.1;proto=http;host=\"a\"\r\n" + fwd},
		{"trusted", &reverse.Proxy{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}, "", "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Proto: https\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 1.2.3.4, 127.0.0.1\r\nX-Forwarded-Host: a\r\nX-Forwarded-Proto: https\r\n\r\n"},
		{"not trusted", &reverse.Proxy{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}, "", "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 1.2.3.4\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: a\r\n" + fwd},
		{"Max-Forwards", &reverse.Proxy{}, "", "OPTIONS / HTTP/1.1\r\nHost: a\r\nMax-Forwards: 7\r\n\r\n", "OPTIONS / HTTP/1.1\r\nHost: a\r\nMax-Forwards: 6\r\nContent-Length: 0\r\n" + fwd},
		{"empty body", &reverse.Proxy{}, "", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", "POST / HTTP/1.1\r\nHost: a\r\n" + strings.TrimSuffix(fwd, "\r\n") + "Content-Length: 0\r\n\r\n"},
	} {
		head = ""
		tt.p.Upstreams = []string{"http://" + addr + tt.path}
		c, br := dial(t, serve(t, tt.p))
		io.WriteString(c, tt.request)
		status := readHead(br)
		want := strings.ReplaceAll(tt.want, "ADDR", addr)
		if want == "" {
			want = "400"
		}
		refused := len(want) == 3 && strings.HasPrefix(status, "HTTP/1.1 "+want+" ") && head == ""
		if !refused && !sameFields(head, want) {
			t.Errorf("%s: the upstream got\n%q, want\n%q; the client\n%q", tt.name, head, want, status)
		}
	}
	head = ""
	c, br := dial(t, start(t, addr))
	io.WriteString(c, "OPTIONS / HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\n\r\n")
	if got := readHead(br); !strings.HasPrefix(got, "HTTP/1.1 200 ") || head != "" {
		t.Errorf("Max-Forwards 0: got %q, and the upstream %q", got, head)
	}
}

// sameFields reports whether two heads have the same start line and fields, in any order.
func sameFields(a, b string) bool {
	la, lb := strings.Split(a, "\r\n"), strings.Split(b, "\r\n")
	if len(la) != len(lb) || la[0] != lb[0] {
		return false
	}
	left := map[string]int{}
	for i := range la {
		left[la[i]]++
		left[lb[i]]--
	}
	for _, n := range left {
		if n != 0 {
			return false
		}
	}
	return true
}

// Time limits, and a queue without room.
func TestLimits(t *testing.T) { onEngines(t, testLimits) }

func testLimits(t *testing.T) {
	const short = 50 * time.Millisecond
	addr, _ := script(t, func(c *net.TCPConn, br *bufio.Reader) {
		if strings.Contains(readHead(br), "/body") {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
		}
		io.Copy(io.Discard, br) // until the proxy gives up
	})
	for _, tt := range []struct {
		name string
		p    func() *reverse.Proxy
		want int
	}{
		{"header", func() *reverse.Proxy { return &reverse.Proxy{ResponseHeaderTimeout: short} }, 504},
		{"total", func() *reverse.Proxy { return &reverse.Proxy{Timeout: short} }, 504},
		{"no room", func() *reverse.Proxy { return &reverse.Proxy{Timeout: time.Second, MaxConns: 1, MaxConnWait: -1} }, 503},
	} {
		for _, request := range []string{get, post} {
			p := tt.p()
			p.Upstreams = []string{addr}
			proxyAddr := serve(t, p)
			c, br := dial(t, proxyAddr)
			io.WriteString(c, request)
			if tt.want == 503 {
				other, _ := dial(t, proxyAddr)
				io.WriteString(other, request)
				// One of the two gets the connection, the other one the answer.
				first := make(chan string, 2)
				go func() { first <- readHead(bufio.NewReader(other)) }()
				go func() { first <- readHead(br) }()
				if got := <-first; !strings.HasPrefix(got, "HTTP/1.1 503 ") {
					t.Errorf("%s: got %q", tt.name, got)
				}
				continue
			}
			if got := readHead(br); !strings.HasPrefix(got, fmt.Sprintf("HTTP/1.1 %d ", tt.want)) {
				t.Errorf("%s %.4s: got %q, want %d", tt.name, request, got, tt.want)
			}
		}
	}
	for _, p := range []*reverse.Proxy{{BodyIdleTimeout: short}, {Timeout: short}} {
		for _, request := range []string{get, post} {
			p := &reverse.Proxy{BodyIdleTimeout: p.BodyIdleTimeout, Timeout: p.Timeout, Upstreams: []string{addr}}
			c, br := dial(t, serve(t, p))
			io.WriteString(c, strings.Replace(request, " / ", " /body ", 1))
			// On a busy machine the time may be over before the head comes.
			if b, _ := io.ReadAll(br); !strings.HasSuffix(string(b), "half") && !strings.HasPrefix(string(b), "HTTP/1.1 504 ") && len(b) > 0 {
				t.Errorf("%.4s: got %q", request, b)
			}
		}
	}
}

// Errors are told to the handler, with status and upstream.
func TestErrorHandler(t *testing.T) { onEngines(t, testErrorHandler) }

func testErrorHandler(t *testing.T) {
	gone := closedAddr(t)
	for _, tt := range []struct {
		p        *reverse.Proxy
		status   int
		upstream string
	}{
		{&reverse.Proxy{Upstreams: []string{gone}}, 502, gone},
		{&reverse.Proxy{Upstreams: []string{"ftp://x"}}, 503, ""},
		{&reverse.Proxy{}, 503, ""},
	} {
		var got *reverse.Error
		tt.p.ErrorHandler = func(ctx *gale.RequestCtx, err error) {
			if !errors.As(err, &got) {
				t.Errorf("the error is %v", err)
			}
			reverse.WriteError(ctx, err)
		}
		c, br := dial(t, serve(t, tt.p))
		io.WriteString(c, get)
		if head := readHead(br); !strings.HasPrefix(head, fmt.Sprintf("HTTP/1.1 %d ", tt.status)) {
			t.Errorf("got %q, want %d", head, tt.status)
		}
		if got == nil || got.StatusCode != tt.status || got.Upstream != tt.upstream {
			t.Errorf("the error is %+v, want %d of %q", got, tt.status, tt.upstream)
		}
	}
	p := &reverse.Proxy{Upstreams: []string{gone}}
	p.Close()
	c, br := dial(t, serve(t, p))
	io.WriteString(c, get)
	if head := readHead(br); !strings.HasPrefix(head, "HTTP/1.1 503 ") {
		t.Errorf("after Close: %q", head)
	}
	for _, name := range []string{"", "http://", "http://a,b", "ftp://a", "http://u:p@a", "http://a?b"} {
		if _, err := reverse.New(name); err == nil {
			t.Errorf("New(%q) returns no error", name)
		}
	}
}

// Fields that other handlers set before stay, in answers and in errors.
func TestFieldsAround(t *testing.T) { onUpstreams(t, testFieldsAround) }

func testFieldsAround(t *testing.T) {
	addr := server(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Both", "upstream")
		w.Header().Add("Set-Cookie", "u=1")
		io.WriteString(w, "ok")
	})
	for _, upstream := range []string{addr, closedAddr(t)} {
		p := &reverse.Proxy{Upstreams: []string{upstream}}
		resp, err := http.Get("http://" + serveHandler(t, p, func(ctx *gale.RequestCtx) {
			h := &ctx.Response.Header
			h.Set("X-Request-Id", "7")
			h.Set("X-Both", "handler")
			h.Set("Set-Cookie", "h=1")
			p.Handler(ctx)
		}))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		both, cookies := "upstream", 2
		if upstream != addr {
			both, cookies = "handler", 1
		}
		if h := resp.Header; h.Get("X-Request-Id") != "7" || len(h["X-Both"]) != 1 || h.Get("X-Both") != both || len(h["Set-Cookie"]) != cookies {
			t.Errorf("%d with %v", resp.StatusCode, h)
		}
	}
}

// Responses are passed on as they are, and leave nothing for the next one on the
// connection.
func TestAsItWas(t *testing.T) { onEngines(t, testAsItWas) }

func testAsItWas(t *testing.T) {
	for _, tt := range []struct{ says, want string }{
		{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.1 200 OK\r\nDate\r\nContent-Length: 2\r\nVia: 1.1 p\r\n\r\nok"},
		{"HTTP/1.0 200 Fine\r\nDate: D\r\nServer: s\r\n\r\nok", "HTTP/1.1 200 Fine\r\nDate: D\r\nServer: s\r\nTransfer-Encoding: chunked\r\nVia: 1.0 p\r\n\r\n2\r\nok\r\n0\r\n\r\n"},
		// A proxy sends its own version (RFC 9110 section 2.5).
		{"HTTP/1.0 200 Fine\r\nDate: D\r\nServer: s\r\nContent-Length: 2\r\n\r\nok", "HTTP/1.1 200 Fine\r\nDate: D\r\nServer: s\r\nContent-Length: 2\r\nVia: 1.0 p\r\n\r\nok"},
		{"HTTP/1.0 304 Not Modified\r\nDate: D\r\nETag: x\r\n\r\n", "HTTP/1.1 304 Not Modified\r\nDate: D\r\nEtag: x\r\nVia: 1.0 p\r\n\r\n"},
		{"HTTP/1.0 103 Early Hints\r\n\r\nHTTP/1.0 204 No Content\r\nDate: D\r\n\r\n", "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No Content\r\nServer: gale\r\nDate: D\r\nVia: 1.0 p\r\n\r\n"},
		{"HTTP/1.1 404 Not Found\r\nContent-Type: a/b\r\nDate: D\r\nX-A: 1\r\nX-A: 2\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nContent-Length: 0\r\n\r\n",
			"HTTP/1.1 404 Not Found\r\nContent-Type: a/b\r\nDate: D\r\nX-A: 1\r\nX-A: 2\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nContent-Length: 0\r\nVia: 1.1 p\r\n\r\n"},
		{"HTTP/1.1 304 Not Modified\r\nDate: D\r\nETag: x\r\n\r\n", "HTTP/1.1 304 Not Modified\r\nDate: D\r\nEtag: x\r\nVia: 1.1 p\r\n\r\n"},
	} {
		addr, _ := script(t, func(c *net.TCPConn, br *bufio.Reader) {
			readRequest(br)
			io.WriteString(c, tt.says)
		})
		for _, request := range []string{get, post} {
			// Each has its own: the upstream closes the connection, and no POST is sent again.
			p := &reverse.Proxy{Upstreams: []string{addr}, Via: "p"}
			proxyAddr := serveHandler(t, p, func(ctx *gale.RequestCtx) {
				if string(ctx.Path()) == "/own" {
					ctx.SetBodyString("own")
					ctx.SetConnectionClose()
					return
				}
				p.Handler(ctx)
			})
			answer := talk(t, proxyAddr, request+"GET /own HTTP/1.1\r\nHost: a\r\n\r\n")
			i := strings.LastIndex(answer, "HTTP/1.1 200 OK")
			head, body, _ := strings.Cut(answer[:i], "\r\n\r\n")
			var lines []string
			for line := range strings.SplitSeq(head, "\r\n") {
				switch {
				case strings.HasPrefix(line, "Date: ") && !strings.HasPrefix(line, "Date: D"):
					line = "Date"
				case line == "Server: gale":
					continue
				}
				lines = append(lines, line)
			}
			wantHead, wantBody, _ := strings.Cut(tt.want, "\r\n\r\n")
			if !sameFields(strings.Join(lines, "\r\n"), wantHead) || body != wantBody {
				t.Errorf("got\n%q, want\n%q", answer[:i], tt.want)
			}
			if own := answer[i:]; !strings.Contains(own, "\r\nContent-Type: text/plain; charset=utf-8\r\n") || !strings.Contains(own, "\r\nServer: gale\r\n") || strings.Contains(own, "Via") {
				t.Errorf("the next response is %q", own)
			}
		}
	}
}

// An upstream that says it is ill gets no requests until it is well.
func TestHealthCheck(t *testing.T) { onUpstreams(t, testHealthCheck) }

func testHealthCheck(t *testing.T) {
	var ill atomic.Bool
	var asked atomic.Int64
	ill.Store(true)
	addr := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" {
			asked.Add(1)
			if ill.Load() {
				w.WriteHeader(500)
			}
		}
	})
	p := &reverse.Proxy{Upstreams: []string{addr}, HealthCheck: reverse.HealthCheck{Path: "/healthz", Interval: time.Millisecond}}
	url := "http://" + serve(t, p)
	until := func(want int) {
		t.Helper()
		for end := time.Now().Add(wait); ; {
			resp, err := http.Get(url)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode == want {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("still %d, want %d", resp.StatusCode, want)
			}
		}
	}
	until(503)
	ill.Store(false)
	until(200)
	ill.Store(true)
	until(503)
	p.Close()
}

// Upstreams may use TLS.
func TestTLS(t *testing.T) { onEngines(t, testTLS) }

func testTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) }))
	defer s.Close()
	for _, tt := range []struct {
		config *tls.Config
		want   int
	}{
		{nil, 502}, // no authority signed the certificate
		{s.Client().Transport.(*http.Transport).TLSClientConfig, 200},
	} {
		p := &reverse.Proxy{Upstreams: []string{s.URL}, TLSConfig: tt.config}
		resp, err := http.Post("http://"+serve(t, p), "a/b", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != tt.want || tt.want == 200 && string(b) != "body" {
			t.Errorf("got %d %q, want %d", resp.StatusCode, b, tt.want)
		}
	}
}
