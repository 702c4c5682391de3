package gale

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

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
	c.SetDeadline(time.Now().Add(20 * time.Second))
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

// wantClosed checks that the server closes the connection without a word more.
func (c *testConn) wantClosed() {
	c.t.Helper()
	if b, err := io.ReadAll(c.br); len(b) > 0 || err != nil {
		c.t.Fatalf("read %q, %v; want the end of the connection", b, err)
	}
}

// wantOpen checks that the connection can be used on.
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

func TestServePipelined(t *testing.T) {
	ts := startServer(t, nil, echo)
	c := ts.dial()
	c.send(get("/1") + post("/2", "two") + get("/3"))
	c.want("GET", 200, "GET /1 ")
	c.want("POST", 200, "POST /2 two")
	a := c.want("GET", 200, "GET /3 ")
	if a.Close {
		t.Error("the connection is announced to be closed")
	}
	if a.Header.Get("Server") != "gale" || a.Header.Get("Date") == "" {
		t.Errorf("header %v lacks Server or Date", a.Header)
	}
}

func TestServeByteByByte(t *testing.T) {
	ts := startServer(t, nil, echo)
	c := ts.dial()
	c.Conn.(*net.TCPConn).SetNoDelay(true)
	for _, b := range []byte(post("/x", "body") + "POST /y HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n") {
		c.Write([]byte{b})
	}
	c.want("POST", 200, "POST /x body")
	c.want("POST", 200, "POST /y abc")
}

func TestHTTP10(t *testing.T) {
	ts := startServer(t, nil, func(ctx *RequestCtx) {
		if string(ctx.Path()) == "/stream" {
			ctx.SetBodyStream(strings.NewReader("streamed"), -1)
			return
		}
		echo(ctx)
	})
	c := ts.dial()
	c.send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
	if a := c.want("GET", 200, "GET /a "); a.Header.Get("Connection") != "keep-alive" {
		t.Errorf("Connection: %q, want keep-alive", a.Header.Get("Connection"))
	}
	c.send("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
	if a := c.want("GET", 200, "streamed"); len(a.TransferEncoding) > 0 {
		t.Error("chunked was sent to HTTP/1.0")
	}
	c.wantClosed()
	c = ts.dial()
	c.send("GET /b HTTP/1.0\r\n\r\n")
	c.want("GET", 200, "GET /b ")
	c.wantClosed()
}

func TestConnectionClose(t *testing.T) {
	for name, s := range map[string]*Server{
		"request":          {},
		"handler":          {Handler: func(ctx *RequestCtx) { ctx.SetConnectionClose() }},
		"DisableKeepalive": {DisableKeepalive: true},
		"max requests":     {MaxRequestsPerConn: 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := startServer(t, s, func(*RequestCtx) {}).dial()
			req := get("/")
			if name == "request" {
				req = "GET / HTTP/1.1\r\nHost: h\r\nConnection: Close\r\n\r\n"
			}
			c.send(req + get("/smuggled"))
			if a := c.read("GET"); !a.Close {
				t.Error("no Connection: close")
			}
			c.wantClosed()
		})
	}
}

func TestRefusals(t *testing.T) {
	s := &Server{MaxRequestBodySize: 10, ReadHeaderTimeout: 200 * time.Millisecond, MaxHeaderBytes: 1 << 10}
	ts := startServer(t, s, echo)
	for _, tc := range []struct {
		name, req string
		status    int
	}{
		{"garbage", "\x00\x01\r\n\r\n", 400},
		{"no host", "GET / HTTP/1.1\r\n\r\n", 400},
		{"version", "GET / HTTP/3.0\r\nHost: h\r\n\r\n", 505},
		{"coding", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501},
		{"length and coding", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
		{"long body", post("/", strings.Repeat("x", 11)), 413},
		{"long chunked body", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n01234567890\r\n0\r\n\r\n", 413},
		{"bad chunk", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", 400},
		{"long head", "GET / HTTP/1.1\r\nHost: h\r\nX: " + strings.Repeat("x", 2000), 431},
		{"long target", "GET /" + strings.Repeat("x", 2000) + " HTTP/1.1\r\nHost: h\r\n\r\n", 414},
		{"expectation", "POST / HTTP/1.1\r\nHost: h\r\nExpect: more\r\nContent-Length: 1\r\n\r\nx", 417},
		{"slow head", "GET / HTTP/1.1\r\nHo", 408},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ts := *ts
			ts.t = t
			c := ts.dial()
			go io.WriteString(c, tc.req)
			a := c.read("GET")
			if a.StatusCode != tc.status || !a.Close {
				t.Errorf("got %d (close %t), want %d and close", a.StatusCode, a.Close, tc.status)
			}
			c.wantClosed()
		})
	}
	if n := ts.s.GetOpenConnectionsCount(); n > 1 {
		t.Errorf("%d connections open", n)
	}
}

func TestExpectContinue(t *testing.T) {
	const head = "POST /x HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
	wantContinue := func(c *testConn) {
		t.Helper()
		line := make([]byte, len(continueLine))
		if io.ReadFull(c.br, line); string(line) != continueLine {
			t.Fatalf("got %q, want a 100", line)
		}
	}
	t.Run("accepted", func(t *testing.T) {
		c := startServer(t, nil, echo).dial()
		c.send(head)
		wantContinue(c)
		c.send("abc")
		c.want("POST", 200, "POST /x abc")
		c.wantOpen()
	})
	t.Run("refused", func(t *testing.T) {
		c := startServer(t, &Server{ContinueHandler: func(*RequestHeader) bool { return false }}, echo).dial()
		c.send(head)
		if a := c.read("POST"); a.StatusCode != 417 {
			t.Errorf("got %d", a.StatusCode)
		}
		c.wantClosed()
	})
	t.Run("by ExpectHandler", func(t *testing.T) {
		c := startServer(t, &Server{ExpectHandler: func(*RequestCtx) int { return 403 }}, echo).dial()
		c.send(head)
		if a := c.read("POST"); a.StatusCode != 403 {
			t.Errorf("got %d", a.StatusCode)
		}
		c.wantClosed()
	})
	t.Run("streamed", func(t *testing.T) {
		c := startServer(t, &Server{StreamRequestBody: true}, func(ctx *RequestCtx) {
			if string(ctx.Path()) != "/unread" {
				echo(ctx)
			}
		}).dial()
		c.send(head)
		wantContinue(c) // once the handler reads
		c.send("abc")
		c.want("POST", 200, "POST /x abc")
		c.send(strings.Replace(head, "/x", "/unread", 1))
		if a := c.read("POST"); a.StatusCode != 200 || !a.Close {
			t.Errorf("got %d, close %t; want 200 at once and close", a.StatusCode, a.Close)
		}
	})
}

func TestStreamedRequestBody(t *testing.T) {
	step := make(chan string)
	s := &Server{StreamRequestBody: true, Handler: func(ctx *RequestCtx) {
		switch string(ctx.Path()) {
		case "/read":
			b := make([]byte, 4)
			for {
				n, err := ctx.RequestBodyStream().Read(b)
				if n > 0 {
					step <- string(b[:n])
				}
				if err != nil {
					fmt.Fprint(ctx, err)
					return
				}
			}
		case "/limit":
			ctx.LimitRequestBody(5)
			_, err := io.ReadAll(ctx.RequestBodyStream())
			fmt.Fprint(ctx, err == ErrBodyTooLarge)
		case "/back":
			ctx.SetBodyStream(ctx.RequestBodyStream(), -1)
		}
	}}
	ts := startServer(t, s, nil)
	c := ts.dial()
	c.send("POST /read HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\nabc")
	for _, want := range []string{"abc", "def"} {
		if got := <-step; got != want {
			t.Fatalf("read %q, want %q", got, want)
		}
		if want == "abc" {
			c.send("def" + get("/unread"))
		}
	}
	c.want("POST", 200, "EOF")
	c.want("GET", 200, "")
	c.send(post("/limit", "0123456789"))
	c.want("POST", 200, "true")
	big := strings.Repeat("0123456789", 100_000)
	go io.WriteString(c, post("/back", big))
	c.want("POST", 200, big)
	// What nobody read never becomes the next request.
	c.send(post("/unread", strings.Repeat("GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n", 100)) + get("/next"))
	c.want("POST", 200, "")
	c.want("GET", 200, "")
	c = ts.dial()
	go io.WriteString(c, post("/unread", strings.Repeat("x", 1<<20)))
	if a := c.read("POST"); !a.Close {
		t.Error("a megabyte that nobody read was drained")
	}
}

func TestResponseStreams(t *testing.T) {
	ts := startServer(t, nil, func(ctx *RequestCtx) {
		switch string(ctx.Path()) {
		case "/chunked":
			ctx.SetBodyStream(io.MultiReader(strings.NewReader("a"), strings.NewReader("b")), -1)
		case "/sized":
			ctx.SetBodyStream(strings.NewReader("0123456789"), 10)
		case "/short":
			ctx.SetBodyStream(strings.NewReader("0123"), 10)
		case "/writer":
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
				for i := range 3 {
					fmt.Fprint(w, i)
					w.Flush()
				}
			})
		case "/panic":
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("x"); w.Flush(); panic("in a stream") })
		case "/large":
			ctx.SetBody(bytes.Repeat([]byte("x"), 1<<20))
		}
	})
	c := ts.dial()
	for _, method := range []string{"GET", "HEAD"} {
		for path, body := range map[string]string{"/chunked": "ab", "/sized": "0123456789", "/writer": "012", "/large": strings.Repeat("x", 1<<20)} {
			if method == "HEAD" {
				body = ""
			}
			c.send(method + " " + path + " HTTP/1.1\r\nHost: h\r\n\r\n")
			c.want(method, 200, body)
		}
	}
	for _, path := range []string{"/short", "/panic"} {
		c := ts.dial()
		c.send(get(path))
		resp, err := http.ReadResponse(c.br, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(resp.Body); err == nil {
			t.Errorf("%s: the truncated body looks complete", path)
		}
	}
}

func TestFlushInHandler(t *testing.T) {
	more := make(chan struct{})
	left := make(chan error, 1)
	ts := startServer(t, nil, func(ctx *RequestCtx) {
		ctx.SetContentType("text/event-stream")
		ctx.WriteString("data: 1\n\n")
		if err := ctx.Flush(); err != nil {
			t.Error(err)
		}
		<-more
		ctx.WriteString("data: 2\n\n")
		if string(ctx.Path()) == "/leave" {
			<-ctx.Done()
			left <- ctx.Err()
			return
		}
		ctx.Flush()
		ctx.WriteString("end")
	})
	c := ts.dial()
	c.send(get("/") + get("/"))
	for range 2 {
		resp, err := http.ReadResponse(c.br, nil)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 9)
		if io.ReadFull(resp.Body, b); string(b) != "data: 1\n\n" {
			t.Fatalf("before the handler's end: %q", b)
		}
		more <- struct{}{}
		if rest, err := io.ReadAll(resp.Body); string(rest) != "data: 2\n\nend" || err != nil {
			t.Fatalf("rest %q, %v", rest, err)
		}
	}
	c.send(get("/leave"))
	if _, err := http.ReadResponse(c.br, nil); err != nil {
		t.Fatal(err)
	}
	more <- struct{}{}
	c.Close()
	if err := <-left; err == nil {
		t.Error("Err is nil after the client has left")
	}
}

func TestDoneOnHalfClose(t *testing.T) {
	ts := startServer(t, nil, func(ctx *RequestCtx) {
		<-ctx.Done()
		fmt.Fprint(ctx, "you left, here is your answer")
	})
	c := ts.dial()
	c.send(get("/"))
	c.Conn.(*net.TCPConn).CloseWrite()
	c.want("GET", 200, "you left, here is your answer")
	c.wantClosed()
}

func TestContextOutlivesRequest(t *testing.T) {
	type key struct{}
	ctxs := make(chan interface{ Err() error }, 1)
	ts := startServer(t, nil, func(ctx *RequestCtx) {
		ctx.SetUserValue(key{}, "v")
		if ctx.Value(key{}) != "v" {
			t.Error("Value does not know a user value")
		}
		c := ctx.Context()
		if c.Err() != nil {
			t.Error("cancelled while the handler runs")
		}
		ctxs <- c
	})
	c := ts.dial()
	c.send(get("/"))
	c.want("GET", 200, "")
	if err := (<-ctxs).Err(); err == nil {
		t.Error("not cancelled after the handler")
	}
	c.wantOpen()
}

func TestPanic(t *testing.T) {
	ts := startServer(t, nil, func(ctx *RequestCtx) {
		ctx.SetBodyString("not to be seen")
		switch string(ctx.Path()) {
		case "/panic":
			panic("on purpose")
		case "/abort":
			panic(ErrAbortHandler)
		case "/late":
			ctx.Flush()
			panic("late")
		case "/timeout":
			TimeoutHandler(func(*RequestCtx) { panic("inside") }, time.Minute, "slow")(ctx)
		}
	})
	for path, logged := range map[string]string{"/panic": "on purpose", "/timeout": "inside"} {
		c := ts.dial()
		c.send(get(path) + get("/smuggled"))
		if a := c.want("GET", 500, "Internal Server Error"); !a.Close {
			t.Error("the connection stays open")
		}
		c.wantClosed()
		if !strings.Contains(ts.log.String(), logged) || !strings.Contains(ts.log.String(), "goroutine") {
			t.Errorf("the log %q lacks %q with a stack", ts.log, logged)
		}
	}
	for _, path := range []string{"/abort", "/late"} {
		c := ts.dial()
		c.send(get(path))
		b, _ := io.ReadAll(c.br)
		if path == "/abort" && len(b) > 0 || strings.HasSuffix(string(b), "0\r\n\r\n") {
			t.Errorf("%s: got %q, want no complete answer", path, b)
		}
	}
	if n := ts.s.GetPanicsCount(); n != 3 {
		t.Errorf("%d panics counted, want 3", n)
	}
	c := ts.dial()
	c.wantOpen()
}

// panicCloser is a body stream and a user value that panics.
type panicCloser struct{ read bool }

func (p panicCloser) Read(b []byte) (int, error) {
	if p.read {
		panic("on purpose")
	}
	return 0, io.EOF
}
func (p panicCloser) Close() error { panic("on purpose") }

// No panic of user code ends the process, wherever it comes from.
func TestPanicOutsideHandler(t *testing.T) {
	s := &Server{HeaderReceived: func(h *RequestHeader) RequestConfig {
		if string(h.RequestURI()) == "/hook" {
			panic("on purpose")
		}
		return RequestConfig{}
	}}
	ts := startServer(t, s, func(ctx *RequestCtx) {
		switch string(ctx.Path()) {
		case "/read":
			ctx.SetBodyStream(panicCloser{read: true}, -1)
		case "/close":
			ctx.SetBodyStream(panicCloser{}, -1)
		case "/value":
			ctx.SetUserValue("v", panicCloser{})
		}
	})
	paths := []string{"/hook", "/read", "/close", "/value"}
	for _, path := range paths {
		c := ts.dial()
		c.send(get(path))
		// The answer to /value was complete when its value was closed.
		if b, _ := io.ReadAll(c.br); path != "/value" && strings.HasSuffix(string(b), "0\r\n\r\n") {
			t.Errorf("%s: got %q, want no complete answer", path, b)
		}
	}
	if n := s.GetPanicsCount(); n != uint64(len(paths)) {
		t.Errorf("%d panics counted, want %d", n, len(paths))
	}
	ts.dial().wantOpen()
}

func TestHijack(t *testing.T) {
	ts := startServer(t, nil, func(ctx *RequestCtx) {
		ctx.HijackSetNoResponse(string(ctx.Path()) == "/silent")
		ctx.Hijack(func(c net.Conn) {
			b := make([]byte, 5)
			io.ReadFull(c, b)
			fmt.Fprintf(c, "<%s>", b)
		})
		ctx.SetStatusCode(StatusSwitchingProtocols)
	})
	c := ts.dial()
	c.send(get("/") + "early")
	if resp, err := http.ReadResponse(c.br, nil); err != nil || resp.StatusCode != 101 {
		t.Fatal(resp, err)
	}
	if b, _ := io.ReadAll(c.br); string(b) != "<early>" {
		t.Errorf("got %q", b)
	}
	c = ts.dial()
	c.send(get("/silent"))
	c.send("later")
	if b, _ := io.ReadAll(c.br); string(b) != "<later>" {
		t.Errorf("got %q", b)
	}
}

func TestTimeoutHandler(t *testing.T) {
	release := make(chan struct{})
	var wg sync.WaitGroup
	wg.Add(1)
	ts := startServer(t, nil, TimeoutHandler(func(ctx *RequestCtx) {
		if string(ctx.Path()) == "/slow" {
			defer wg.Done()
			<-ctx.Done()
			<-release
			ctx.SetBodyString("too late")
			if string(ctx.Path()) != "/slow" {
				t.Error("the context was given to another request")
			}
			return
		}
		ctx.SetBodyString("quick")
	}, 100*time.Millisecond, "timed out"))
	c := ts.dial()
	c.send(get("/slow"))
	c.want("GET", 408, "timed out")
	for range 10 {
		c = ts.dial()
		c.send(get("/"))
		c.want("GET", 200, "quick")
	}
	close(release)
	wg.Wait()
}

func TestEarlyHints(t *testing.T) {
	ts := startServer(t, nil, func(ctx *RequestCtx) {
		ctx.Response.Header.Add("Link", "</a.css>; rel=preload")
		if err := ctx.EarlyHints(); err != nil {
			t.Error(err)
		}
		ctx.SetBodyString("ok")
	})
	c := ts.dial()
	c.send(get("/"))
	hints := "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
	b := make([]byte, len(hints))
	if io.ReadFull(c.br, b); string(b) != hints {
		t.Errorf("got %q", b)
	}
	c.want("GET", 200, "ok")
}

func TestGracefulShutdown(t *testing.T) {
	started, release := make(chan struct{}, 2), make(chan struct{})
	s := &Server{Handler: func(ctx *RequestCtx) {
		if string(ctx.Path()) == "/slow" {
			started <- struct{}{}
			<-ctx.Done() // the shutdown is known to the handler
			<-release
		}
		ctx.SetBodyString("done")
	}}
	ts := startServer(t, s, nil)
	idle, busy, fresh, half := ts.dial(), ts.dial(), ts.dial(), ts.dial()
	idle.wantOpen()
	busy.send(get("/slow"))
	<-started
	half.send("GET / HT")
	time.Sleep(50 * time.Millisecond) // let the server read it
	ended := make(chan error, 1)
	go func() { ended <- s.Shutdown() }()
	idle.wantClosed()
	fresh.wantClosed()
	half.send("TP/1.1\r\nHost: h\r\n\r\n")
	if a := half.want("GET", 200, "done"); !a.Close {
		t.Error("no Connection: close during the shutdown")
	}
	close(release)
	busy.want("GET", 200, "done")
	busy.wantClosed()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if n := s.GetOpenConnectionsCount(); n != 0 {
		t.Errorf("%d connections open", n)
	}
}

// Shutdown in the middle of load: every request of which the server has read
// something is answered.
func TestShutdownLosesNothing(t *testing.T) {
	for range 5 {
		s := &Server{Handler: func(ctx *RequestCtx) { ctx.SetBodyString("ok") }}
		ts := startServer(t, s, nil)
		var wg sync.WaitGroup
		for range 20 {
			c := ts.dial()
			wg.Add(1)
			go func() {
				defer wg.Done()
				for {
					if _, err := io.WriteString(c, get("/")); err != nil {
						return
					}
					resp, err := http.ReadResponse(c.br, nil)
					if err != nil {
						if err != io.EOF && err != io.ErrUnexpectedEOF && !strings.Contains(err.Error(), "reset") {
							t.Errorf("an answer in part: %v", err)
						}
						return
					}
					if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "ok" {
						t.Errorf("got %q, %v", b, err)
						return
					}
					if resp.Close {
						return
					}
				}
			}()
		}
		time.Sleep(20 * time.Millisecond)
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	}
}

func TestConcurrencyLimit(t *testing.T) {
	s := &Server{Concurrency: 2}
	held, release := make(chan struct{}), make(chan struct{})
	ts := startServer(t, s, func(ctx *RequestCtx) {
		if string(ctx.Path()) == "/hold" {
			held <- struct{}{}
			<-release
		}
	})
	a, b := ts.dial(), ts.dial()
	a.send(get("/hold"))
	<-held // a connection whose request hasn't arrived is idle too
	b.wantOpen()
	for s.idleConns() != 1 {
		time.Sleep(time.Millisecond)
	}
	c := ts.dial() // takes the place of b, which is idle
	c.send(get("/hold"))
	<-held
	b.wantClosed()
	d := ts.dial()
	if ans := d.read("GET"); ans.StatusCode != 503 || !ans.Close {
		t.Errorf("got %d, want 503 and close", ans.StatusCode)
	}
	d.wantClosed()
	close(release)
	a.want("GET", 200, "")
	c.want("GET", 200, "")
	if n := s.GetRejectedConnectionsCount(); n != 1 {
		t.Errorf("%d rejected, want 1", n)
	}
}

func TestMaxConnsPerIP(t *testing.T) {
	ts := startServer(t, &Server{MaxConnsPerIP: 1}, echo)
	a := ts.dial()
	a.wantOpen()
	b := ts.dial()
	if ans := b.read("GET"); ans.StatusCode != 429 {
		t.Errorf("got %d", ans.StatusCode)
	}
	a.Close()
	for end := time.Now().Add(10 * time.Second); ; {
		c := ts.dial()
		c.send(get("/"))
		if ans := c.read("GET"); ans.StatusCode == 200 {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the place of a closed connection is not given again")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestTimeouts(t *testing.T) {
	s := &Server{IdleTimeout: 100 * time.Millisecond, ReadTimeout: 300 * time.Millisecond}
	ts := startServer(t, s, echo)
	c := ts.dial()
	c.wantOpen()
	c.wantClosed() // idle
	c = ts.dial()
	c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab")
	if a := c.read("POST"); a.StatusCode != 408 {
		t.Errorf("got %d for a body that does not come", a.StatusCode)
	}
	c.wantClosed()
	c = ts.dial() // sends nothing at all
	if a := c.read("GET"); a.StatusCode != 408 {
		t.Errorf("got %d for no request", a.StatusCode)
	}
	c.wantClosed()
}

func TestTLS(t *testing.T) {
	certPEM, keyPEM, err := GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Handler: func(ctx *RequestCtx) {
		if !ctx.IsTLS() || ctx.TLSConnectionState() == nil || string(ctx.URI().Scheme()) != "https" {
			t.Errorf("IsTLS %t, scheme %q", ctx.IsTLS(), ctx.URI().Scheme())
		}
		echo(ctx)
	}, Logger: &testLog{}}
	s.NextProto("other", func(c net.Conn) error { _, err := io.WriteString(c, "other"); return err })
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.ServeTLSEmbed(ln, certPEM, keyPEM) }()
	dial := func(proto string, version uint16) (*testConn, error) {
		c, err := tls.Dial("tcp", ln.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{proto}, MaxVersion: version})
		if err != nil {
			return nil, err
		}
		return newTestConn(t, c), nil
	}
	for _, v := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		c, err := dial("http/1.1", v)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			c.send(get("/1") + get("/2"))
			c.want("GET", 200, "GET /1 ")
			c.want("GET", 200, "GET /2 ")
		}
	}
	c, err := dial("other", 0)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := io.ReadAll(c.br); string(b) != "other" {
		t.Errorf("got %q", b)
	}
	if _, err := dial("h2", 0); err == nil {
		t.Error("a client that speaks only h2 got through")
	}
	plain, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c = newTestConn(t, plain)
	c.send("GET / HTTP/1.1\r\nHost: h\r\nX: " + strings.Repeat("x", 2000) + "\r\n\r\n")
	if a := c.read("GET"); a.StatusCode != StatusBadRequest || !strings.Contains(a.body, "https://") {
		t.Errorf("plain HTTP: got %d %q", a.StatusCode, a.body)
	}
	c.wantClosed()
	if _, err := dial("http/1.1", tls.VersionTLS11); err == nil {
		t.Error("TLS 1.1 was accepted")
	}
	if err := s.Shutdown(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// Whatever a handler gives as the body of a status without one, nothing of it
// is sent: the next answer comes where it is looked for.
func TestBodylessStatus(t *testing.T) {
	bodies := map[string]func(ctx *RequestCtx){
		"bytes":  func(ctx *RequestCtx) { ctx.SetBodyString("BODY") },
		"none":   func(*RequestCtx) {},
		"stream": func(ctx *RequestCtx) { ctx.SetBodyStream(strings.NewReader("BODY"), -1) },
		"sized":  func(ctx *RequestCtx) { ctx.SetBodyStream(strings.NewReader("BODY"), 4) },
		"writer": func(ctx *RequestCtx) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { _, _ = w.WriteString("BODY") })
		},
		"trailer": func(ctx *RequestCtx) {
			_ = ctx.Response.Header.SetTrailer("X-Sum")
			ctx.SetBodyString("BODY")
		},
		"flush": func(ctx *RequestCtx) {
			ctx.SetBodyString("BO")
			_ = ctx.Flush()
			ctx.Response.AppendBodyString("DY")
		},
	}
	ts := startServer(t, nil, func(ctx *RequestCtx) {
		if body := bodies[string(ctx.QueryArgs().Peek("body"))]; body != nil {
			ctx.SetStatusCode(ctx.QueryArgs().GetUintOrZero("status"))
			body(ctx)
			return
		}
		echo(ctx)
	})
	for _, status := range []int{StatusNoContent, StatusResetContent, StatusNotModified} {
		for name := range bodies {
			c := ts.dial()
			c.send(get(fmt.Sprintf("/?status=%d&body=%s", status, name)) + get("/next"))
			a := c.want("GET", status, "")
			if status == StatusResetContent && (a.ContentLength != 0 || a.TransferEncoding != nil) {
				t.Errorf("%d, %s: Content-Length %d, Transfer-Encoding %q", status, name, a.ContentLength, a.TransferEncoding)
			}
			if next := c.read("GET"); next.StatusCode != StatusOK {
				t.Errorf("%d, %s: the next answer is %d", status, name, next.StatusCode)
			}
		}
	}
}
