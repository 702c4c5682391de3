package reverse_test

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/reverse"
)

const wait = time.Minute

// onEngines calls f for both engines of the server in front.
func onEngines(t *testing.T, f func(t *testing.T)) {
	for _, e := range []gale.Engine{gale.EngineBlock, gale.EngineAuto} {
		t.Run(e.String(), func(t *testing.T) {
			engine = e
			f(t)
		})
	}
}

// engine is what start uses. Tests don't run in parallel.
var engine gale.Engine

// onUpstreams calls f for both engines, with upstreams of HTTP/1.1 and of HTTP/2.
func onUpstreams(t *testing.T, f func(t *testing.T)) {
	onEngines(t, f)
	upstream2 = true
	defer func() { upstream2 = false }()
	t.Run("HTTP2", func(t *testing.T) { onEngines(t, f) })
}

// upstream2 says that servers behind the proxy speak HTTP/2 only.
var upstream2 bool

// upstreamMode is Proxy.HTTP2 for those servers.
func upstreamMode() gale.HTTP2Mode {
	if upstream2 {
		return gale.HTTP2Only
	}
	return gale.HTTP2Auto
}

// server is a server of package net/http behind the proxy: another
// implementation, that sees what is passed on.
func server(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: handler, Protocols: new(http.Protocols), ErrorLog: log.New(io.Discard, "", 0)}
	s.Protocols.SetHTTP1(!upstream2)
	s.Protocols.SetUnencryptedHTTP2(upstream2)
	go s.Serve(ln)
	t.Cleanup(func() { s.Close() })
	return ln.Addr().String()
}

// start runs the proxy in front of servers and returns its address.
func start(t *testing.T, servers ...string) string {
	return serve(t, &reverse.Proxy{Upstreams: servers, Via: "gale-proxy"})
}

// serve runs p and returns its address.
func serve(t *testing.T, p *reverse.Proxy) string {
	t.Helper()
	return serveHandler(t, p, p.Handler)
}

func serveHandler(t *testing.T, p *reverse.Proxy, h gale.RequestHandler) string {
	t.Helper()
	if upstream2 {
		p.HTTP2 = upstreamMode()
	}
	return serveOn(t, p, &gale.Server{Handler: h, StreamRequestBody: true, Logger: log.New(io.Discard, "", 0)})
}

// serveOn runs s, whose handler calls p, and returns its address. Both end with the test.
func serveOn(t *testing.T, p *reverse.Proxy, s *gale.Server) string {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Engine = engine
	go s.Serve(ln)
	t.Cleanup(func() {
		s.Close()
		p.Close()
	})
	return ln.Addr().String()
}

// talk sends raw bytes on a new connection, and returns all that comes back.
func talk(t *testing.T, addr, raw string) string {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(wait))
	if _, err := io.WriteString(c, raw); err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatalf("after %q: %v", b, err)
	}
	return string(b)
}

// What the server gets: nothing of one connection's own, the client's address,
// the rest as it was.
func TestRequestFields(t *testing.T) { onUpstreams(t, testRequestFields) }

func testRequestFields(t *testing.T) {
	var got http.Header
	var target, host string
	addr := server(t, func(w http.ResponseWriter, r *http.Request) {
		got, target, host = r.Header.Clone(), r.RequestURI, r.Host
	})
	const request = "GET /a%2Fb//c?d=e HTTP/1.1\r\nHost: site.example\r\nConnection: close, X-Hop, Host\r\nX-Hop: 1\r\n" +
		"Keep-Alive: timeout=5\r\nTE: trailers\r\nUpgrade: websocket\r\nProxy-Authorization: Basic dTpw\r\nProxy-Connection: a\r\n" +
		"X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Host: evil.example\r\nForwarded: for=1.2.3.4\r\nCookie: a=b\r\nX-End: 1\r\n\r\n"
	for _, tt := range []struct {
		trust bool
		want  http.Header
	}{
		{false, http.Header{
			"Cookie": {"a=b"}, "X-End": {"1"}, "Via": {"1.1 gale-proxy"},
			"X-Forwarded-For": {"127.0.0.1"}, "X-Forwarded-Host": {"site.example"}, "X-Forwarded-Proto": {"http"},
		}},
		{true, http.Header{
			"Cookie": {"a=b"}, "X-End": {"1"}, "Via": {"1.1 gale-proxy"}, "Forwarded": {"for=1.2.3.4", `for=127.0.0.1;proto=http;host="site.example"`},
			"X-Forwarded-For": {"1.2.3.4, 127.0.0.1"}, "X-Forwarded-Host": {"evil.example"}, "X-Forwarded-Proto": {"http"},
		}},
	} {
		p := &reverse.Proxy{Upstreams: []string{addr}, Via: "gale-proxy"}
		if upstream2 {
			tt.want["Te"] = []string{"trailers"} // the proxy takes them as the client does
		}
		if tt.trust {
			p.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		}
		if answer := talk(t, serve(t, p), request); !strings.HasPrefix(answer, "HTTP/1.1 200 ") {
			t.Fatalf("got %q", answer)
		}
		if !equal(got, tt.want) {
			t.Errorf("trust %v: the server got\n%v, want\n%v", tt.trust, got, tt.want)
		}
		if target != "/a%2Fb//c?d=e" || host != "site.example" {
			t.Errorf("the server was asked for %s at %s", target, host)
		}
	}
}

func equal(a, b http.Header) bool {
	if len(a) != len(b) {
		return false
	}
	for name := range a {
		if !slices.Equal(a[name], b[name]) {
			return false
		}
	}
	return true
}

// What the client gets, for responses of all kinds.
func TestResponses(t *testing.T) { onUpstreams(t, testResponses) }

func testResponses(t *testing.T) {
	addr := server(t, func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		if !upstream2 { // which has no such fields
			h.Set("Connection", "X-Hop")
			h.Set("X-Hop", "1")
			h.Set("Keep-Alive", "timeout=5")
		}
		h.Set("X-End", "1")
		switch r.URL.Path {
		case "/short":
			io.WriteString(w, "short")
		case "/long":
			h.Set("Content-Length", "300000")
			io.WriteString(w, strings.Repeat("long", 75000))
		case "/chunked":
			io.WriteString(w, "chun")
			w.(http.Flusher).Flush()
			io.WriteString(w, "ked")
		case "/none":
			w.WriteHeader(204)
		case "/same":
			h.Set("ETag", `"a"`)
			w.WriteHeader(304)
		case "/empty":
		default:
			http.Error(w, "no", 404)
		}
	})
	proxyAddr := start(t, addr)
	via := "1.1 gale-proxy"
	if upstream2 {
		via = "2.0 gale-proxy"
	}
	for _, tt := range []struct {
		method, path string
		status       int
		length       int64
		body         string
	}{
		{"GET", "/short", 200, 5, "short"},
		{"GET", "/long", 200, 300000, strings.Repeat("long", 75000)},
		{"GET", "/chunked", 200, -1, "chunked"},
		{"GET", "/none", 204, 0, ""},
		{"GET", "/same", 304, 0, ""},
		{"GET", "/empty", 200, 0, ""},
		{"GET", "/other", 404, 3, "no\n"},
		{"HEAD", "/short", 200, 5, ""},
		{"HEAD", "/long", 200, 300000, ""},
		{"POST", "/short", 200, 5, "short"},
		{"TRACE", "/short", 405, 18, "Method Not Allowed"},
	} {
		req, _ := http.NewRequest(tt.method, "http://"+proxyAddr+tt.path, nil)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != tt.status || resp.ContentLength != tt.length || string(body) != tt.body {
			t.Errorf("%s %s: got %d, length %d, %d bytes, %v; want %d, length %d, %d bytes", tt.method, tt.path,
				resp.StatusCode, resp.ContentLength, len(body), err, tt.status, tt.length, len(tt.body))
		}
		if h := resp.Header; tt.status != 405 && (h.Get("X-End") != "1" || h.Get("Via") != via || h.Get("X-Hop") != "" || h.Get("Keep-Alive") != "") {
			t.Errorf("%s %s: fields %v", tt.method, tt.path, h)
		}
	}
}

// Bodies are passed on while they arrive, in both directions at a time, and
// trailers with them.
func TestStreams(t *testing.T) { onUpstreams(t, testStreams) }

func testStreams(t *testing.T) {
	addr := server(t, func(w http.ResponseWriter, r *http.Request) {
		b := make([]byte, 5)
		if _, err := io.ReadFull(r.Body, b); err != nil {
			t.Error(err)
		}
		// net/http answers while it reads only if it is told to.
		_ = http.NewResponseController(w).EnableFullDuplex()
		rest, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Trailer", "X-Sum")
		fmt.Fprintf(w, "%s, ", b)
		w.(http.Flusher).Flush()
		fmt.Fprintf(w, "%s and %q", rest, r.Trailer.Get("X-Check"))
		w.Header().Set("X-Sum", "42")
	})
	c, err := net.Dial("tcp", start(t, addr))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(wait))
	for _, part := range []string{
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: X-Check\r\nExpect: 100-continue\r\n\r\n",
		"5\r\nfirst\r\n", "6\r\nsecond\r\n", "0\r\nX-Check: ok\r\n\r\n",
	} {
		if _, err := io.WriteString(c, part); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond) // each part most likely comes alone
	}
	br := bufio.NewReader(c)
	resp, err := http.ReadResponse(br, nil)
	if err == nil && resp.StatusCode == 100 {
		resp, err = http.ReadResponse(br, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if want := `first, second and "ok"`; err != nil || string(body) != want {
		t.Errorf("got %q, %v, want %q", body, err, want)
	}
	if got := resp.Trailer.Get("X-Sum"); got != "42" {
		t.Errorf("the trailer field is %q", got)
	}
}

// Bodies of all sizes and framings arrive whole, one request after another on one
// connection.
func TestRequestBodies(t *testing.T) { onUpstreams(t, testRequestBodies) }

func testRequestBodies(t *testing.T) {
	addr := server(t, func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%d %d %v", len(b), r.ContentLength, err)
	})
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	defer client.CloseIdleConnections()
	proxyURL := "http://" + start(t, addr)
	for _, size := range []int{0, 1, 100, 5000, 70000, 1 << 20} {
		for _, chunked := range []bool{false, true} {
			var body io.Reader = strings.NewReader(strings.Repeat("a", size))
			length := size
			if chunked && size > 0 {
				body, length = io.MultiReader(body), -1 // of a length that net/http doesn't know
			}
			resp, err := client.Post(proxyURL, "text/plain", body)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if want := fmt.Sprintf("%d %d <nil>", size, length); err != nil || string(got) != want {
				t.Errorf("chunked %v: got %q, %v, want %q", chunked, got, err, want)
			}
		}
	}
}

// The first bytes of a response come while the server still makes the rest, and
// the server learns when the client leaves.
func TestEndlessResponse(t *testing.T) { onUpstreams(t, testEndlessResponse) }

func testEndlessResponse(t *testing.T) {
	left := make(chan struct{})
	addr := server(t, func(w http.ResponseWriter, r *http.Request) {
		defer close(left)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, "tick\n"); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			time.Sleep(time.Millisecond) // a response that goes on
		}
	})
	resp, err := http.Get("http://" + start(t, addr))
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 10)
	if _, err := io.ReadFull(resp.Body, b); err != nil || string(b) != "tick\ntick\n" {
		t.Errorf("got %q, %v", b, err)
	}
	resp.Body.Close()
	select {
	case <-left:
	case <-time.After(wait):
		t.Error("the server still sends")
	}
}

// A client that breaks its connection while the server thinks ends the request to the server.
func TestClientLeaves(t *testing.T) { onUpstreams(t, testClientLeaves) }

func testClientLeaves(t *testing.T) {
	asked, left := make(chan struct{}), make(chan struct{})
	addr := server(t, func(w http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
		close(left)
	})
	c, err := net.Dial("tcp", start(t, addr))
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	<-asked
	reset(c)
	select {
	case <-left:
	case <-time.After(wait):
		t.Error("the server still works for it")
	}
}

// Messages that two servers could read differently stop here: the upstream server sees
// one request at most, and never the smuggled one.
func TestSmuggling(t *testing.T) { onUpstreams(t, testSmuggling) }

func testSmuggling(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	addr := server(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Method+" "+r.URL.Path)
	})
	proxyAddr := start(t, addr)
	const smuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
	for name, head := range map[string]string{
		"CL and TE":         "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"two lengths":       "Content-Length: 0\r\nContent-Length: 36\r\n\r\n",
		"list of lengths":   "Content-Length: 0, 36\r\n\r\n",
		"signed length":     "Content-Length: +0\r\n\r\n",
		"obscured TE":       "Transfer-Encoding: xchunked\r\nContent-Length: 0\r\n\r\n",
		"TE with a space":   "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
		"TE with a tab":     "Transfer-Encoding:\tchunked\r\nContent-Length: 0\r\n\r\n",
		"TE twice":          "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
		"folded TE":         "Transfer-Encoding:\r\n chunked\r\nContent-Length: 0\r\n\r\n",
		"bare LF":           "X: y\nContent-Length: 0\r\n\r\n",
		"bare CR":           "X: y\rTransfer-Encoding: chunked\r\n\r\n",
		"null":              "X: y\x00\r\n\r\n",
		"chunk size":        "Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n",
		"chunk size LF":     "Transfer-Encoding: chunked\r\n\r\n0\n\r\n",
		"two hosts":         "Host: b\r\n\r\n",
		"space before name": " X: y\r\n\r\n",
	} {
		answer := talk(t, proxyAddr, "POST /outer HTTP/1.1\r\nHost: a\r\n"+head+smuggled)
		if !strings.HasPrefix(answer, "HTTP/1.1 400 ") && !strings.HasPrefix(answer, "HTTP/1.1 501 ") {
			t.Errorf("%s: got %q", name, answer)
		}
	}
	// Connection can't remove the framing either.
	for _, option := range []string{"Content-Length", "Transfer-Encoding", "Host"} {
		talk(t, proxyAddr, fmt.Sprintf("POST /outer HTTP/1.1\r\nHost: a\r\nConnection: close, %s\r\nContent-Length: %d\r\n\r\n%s", option, len(smuggled), smuggled))
	}
	mu.Lock()
	defer mu.Unlock()
	if slices.Contains(seen, "GET /smuggled") {
		t.Errorf("the server saw %q", seen)
	}
}

// Servers get their share; one that isn't there costs little, and without any the
// answer is 502.
func TestBalancing(t *testing.T) { onUpstreams(t, testBalancing) }

func testBalancing(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	one := func(name string) string {
		return server(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			seen[name]++
		})
	}
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := ln.Addr().String()
	ln.Close()
	proxyAddr := start(t, one("a"), one("b"), gone)
	failed := 0
	for range 40 {
		resp, err := http.Get("http://" + proxyAddr)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode == 502 {
			failed++
		}
	}
	if seen["a"] < 10 || seen["b"] < 10 || failed > 5 {
		t.Errorf("got %v, and %d requests failed", seen, failed)
	}
	if resp, err := http.Get("http://" + start(t, gone)); err != nil || resp.StatusCode != 502 {
		t.Errorf("without a server: %v, %v", resp, err)
	}
}

// A body beyond the limit is answered with 413, whatever was passed on of it.
func TestTooLarge(t *testing.T) { onUpstreams(t, testTooLarge) }

func testTooLarge(t *testing.T) {
	addr := server(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	answer := talk(t, start(t, addr), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n")
	if !strings.HasPrefix(answer, "HTTP/1.1 413 ") {
		t.Errorf("got %q", answer)
	}
}

// What the proxy sets or removes doesn't come after the body either.
func TestTrailersOfOthers(t *testing.T) { onUpstreams(t, testTrailersOfOthers) }

func testTrailersOfOthers(t *testing.T) {
	got := make(chan http.Header, 1)
	addr := server(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		got <- r.Trailer
		w.Header().Set("Connection", "X-Hop")
		w.Header().Set("Trailer", "Via, X-Hop, X-Sum")
		io.WriteString(w, "ok")
		w.Header().Set("Via", "theirs")
		if !upstream2 { // which has no Connection
			w.Header().Set("X-Hop", "theirs")
		}
		w.Header().Set("X-Sum", "1")
	})
	answer := talk(t, start(t, addr), "POST / HTTP/1.1\r\nHost: a\r\nConnection: close, X-Hop\r\nTransfer-Encoding: chunked\r\n"+
		"Trailer: Via, X-Hop, X-Sum\r\n\r\n2\r\nhi\r\n0\r\nVia: theirs\r\nX-Hop: theirs\r\nX-Sum: 1\r\n\r\n")
	h := <-got
	for name, values := range h {
		if name == "X-Sum" && slices.Equal(values, []string{"1"}) || name != "X-Sum" && len(values) == 0 {
			continue
		}
		t.Errorf("the server got the trailer field %s: %q", name, values)
	}
	if strings.Contains(answer, "theirs") || !strings.HasSuffix(answer, "0\r\nX-Sum: 1\r\n\r\n") {
		t.Errorf("the client got %q", answer)
	}
}
