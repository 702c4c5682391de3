package adaptor

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galeutil"
)

// describe answers with all that a handler can know of the request.
func describe(w http.ResponseWriter, r *http.Request) {
	b, err := io.ReadAll(r.Body)
	_, again := r.Body.Read(make([]byte, 1))
	closed := r.Body.Close()
	_, after := r.Body.Read(make([]byte, 1))
	formErr := r.ParseForm()
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	fmt.Fprintf(w, "%q %q %q\n", r.Method, r.RequestURI, r.Host)
	fmt.Fprintf(w, "%#v\n", *r.URL)
	fmt.Fprintf(w, "%s %d.%d\n", r.Proto, r.ProtoMajor, r.ProtoMinor)
	names := make([]string, 0, len(r.Header))
	for k := range r.Header {
		names = append(names, k)
	}
	slices.Sort(names)
	for _, k := range names {
		fmt.Fprintf(w, "%s: %q\n", k, r.Header[k])
	}
	fmt.Fprintf(w, "length %d %q close %t\n", r.ContentLength, r.TransferEncoding, r.Close)
	fmt.Fprintf(w, "body %q %v %v %v %v\n", b, err, again, closed, after)
	fmt.Fprintf(w, "trailer %q form %q %v\n", r.Trailer, r.Form, formErr)
	fmt.Fprintf(w, "%t %v %s\n", r.TLS != nil, local, r.RemoteAddr)
}

// A handler finds the same request on Gale as on net/http.
func TestRequestIsThatOfNetHTTP(t *testing.T) {
	requests := []string{
		"GET / HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET /a/b?c=d&e=%20f HTTP/1.1\r\nHost: h:80\r\n\r\n",
		"GET /a%2Fb/%C3%A4?x HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET /a'(b)*!? HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET //a//b/c HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET /? HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET /a?b?c HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET http://other:81/p?q HTTP/1.1\r\nHost: h\r\n\r\n",
		"BREW /pot HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET / HTTP/1.0\r\n\r\n",
		"GET / HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nAccept: a\r\nX-more: 1\r\nETAG: e\r\nx-More: 2\r\naccept: b\r\nCookie: a=1\r\nCookie: b=2\r\n" +
			"X-WebKit-CSP: x\r\nSec-WebSocket-Key: k\r\nWWW-Authenticate: w\r\nTE: trailers\r\nEmpty:\r\n\r\n",
		"POST /?a=b HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 3\r\n\r\nc=d",
		"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
		"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum, X-None\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 1\r\nX-Sum: 2\r\n\r\n",
		"PUT / HTTP/1.1\r\nHost: h\r\nX-Sum: head\r\nTransfer-Encoding: chunked\r\nTrailer: x-sum\r\n\r\n0\r\nx-sum: tail\r\n\r\n",
	}
	h := http.HandlerFunc(describe)
	for _, stream := range []bool{false, true} {
		gl := serveGale(t, &gale.Server{Handler: NewFastHTTPHandler(h), StreamRequestBody: stream})
		nl := onNetHTTP(t, h)
		for _, req := range requests {
			g, n := dial(t, gl), dial(t, nl)
			g.send(req)
			n.send(req)
			a, b := g.read("GET"), n.read("GET")
			if a.Body != b.Body {
				t.Errorf("stream %t: %q: on Gale\n%s\non net/http\n%s", stream, req, a.Body, b.Body)
			}
		}
	}
}

func TestBadTarget(t *testing.T) {
	c := dial(t, onGale(t, http.HandlerFunc(describe)))
	c.send(get("/%zz"))
	if a := c.read("GET"); a.Status != 400 {
		t.Errorf("got %v", a)
	}
}

// What a handler keeps of a request is its own: it stays as it was, and has no effect on
// others.
func TestKeptParts(t *testing.T) {
	type parts struct {
		w http.ResponseWriter
		r *http.Request
	}
	kept := make(chan parts, 1)
	ln := onGale(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/keep" {
			kept <- parts{w, r}
			io.WriteString(w, "kept")
			return
		}
		io.Copy(w, r.Body)
	}))
	c := dial(t, ln)
	c.send("POST /keep HTTP/1.1\r\nHost: h\r\nX-Field: value\r\nContent-Length: 3\r\n\r\nabc")
	c.read("POST")
	p := <-kept
	for range 3 {
		c.send("POST /other HTTP/1.1\r\nHost: other\r\nX-Field: other\r\nContent-Length: 3\r\n\r\nxyz")
		if a := c.read("POST"); a.Body != "xyz" {
			t.Fatal(a)
		}
	}
	if _, err := p.w.Write([]byte("late")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("writing: %v", err)
	}
	p.w.WriteHeader(500)
	p.w.Header().Set("X", "y")
	if err := http.NewResponseController(p.w).Flush(); err == nil {
		t.Error("flushed")
	}
	if _, _, err := http.NewResponseController(p.w).Hijack(); err == nil {
		t.Error("hijacked")
	}
	if b, err := io.ReadAll(p.r.Body); len(b) > 0 || err != http.ErrBodyReadAfterClose {
		t.Errorf("read %q, %v", b, err)
	}
	if err := p.r.Context().Err(); err != context.Canceled {
		t.Errorf("the context: %v", err)
	}
	if p.r.Host != "h" || p.r.URL.Path != "/keep" || p.r.Header.Get("X-Field") != "value" {
		t.Errorf("the request changed: %s %s %v", p.r.Host, p.r.URL, p.r.Header)
	}
}

// A goroutine that reads the body when the handler returns is cut off, and never
// gets bytes of another request.
func TestBodyReadBeyondHandler(t *testing.T) {
	got := make(chan error, 1)
	ln := onGale(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started := make(chan bool)
		go func() {
			_, err := io.ReadFull(r.Body, make([]byte, 3))
			close(started)
			if err == nil {
				_, err = io.ReadAll(r.Body)
			}
			got <- err
		}()
		<-started
		time.Sleep(5 * time.Millisecond) // now it most likely waits for more
	}))
	c := dial(t, ln)
	c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc")
	if a := c.read("POST"); a.Status != 200 {
		t.Error(a)
	}
	if err := <-got; err == nil {
		t.Error("read to its end")
	}
}

// The context of a request is cancelled when the client leaves, and has the
// values of the connection and of middleware.
func TestContext(t *testing.T) {
	type key struct{}
	left := make(chan error)
	kept := make(chan context.Context, 1)
	h := NewFastHTTPHandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Context().Value("user") != "me" || r.Context().Value(key{}) != "conn" {
			t.Error("a value is missing")
		}
		if _, ok := r.Context().Deadline(); ok || r.Context().Err() != nil {
			t.Error("the context is over")
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		kept <- context.WithoutCancel(ctx)
		if r.URL.Path == "/wait" {
			w.(http.Flusher).Flush()
			gone := w.(interface{ CloseNotify() <-chan bool }).CloseNotify()
			<-ctx.Done()
			<-gone
			left <- ctx.Err()
		}
	})
	s := &gale.Server{
		Handler:     func(ctx *gale.RequestCtx) { ctx.SetUserValue("user", "me"); h(ctx) },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, key{}, "conn") },
	}
	ln := serveGale(t, s)
	c := dial(t, ln)
	c.send(get("/"))
	c.read("GET")
	if v := (<-kept).Value("user"); v != "me" {
		t.Errorf("after the handler the user value is %v", v)
	}
	c.send(get("/wait"))
	if _, err := http.ReadResponse(c.br, nil); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if err := <-left; err != context.Canceled {
		t.Error(err)
	}
}

// What is flushed arrives while the handler runs, and a body is read while it
// arrives, both ways at once.
func TestFullDuplex(t *testing.T) {
	ln := onGale(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		must(rc.EnableFullDuplex(), nil)
		must(rc.SetReadDeadline(time.Now().Add(time.Minute)), nil)
		must(rc.SetWriteDeadline(time.Now().Add(time.Minute)), nil)
		sc := bufio.NewScanner(r.Body)
		for sc.Scan() {
			fmt.Fprintf(w, "<%s>", sc.Text())
			must(rc.Flush(), nil)
		}
	}))
	c := dial(t, ln)
	c.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na\n\r\n")
	resp, err := http.ReadResponse(c.br, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 3)
	for _, want := range []string{"<a>", "<b>", "<c>"} {
		if _, err := io.ReadFull(resp.Body, b); string(b) != want {
			t.Fatalf("%q, %v", b, err)
		}
		switch want {
		case "<a>":
			c.send("2\r\nb\n\r\n")
		case "<b>":
			c.send("2\r\nc\n\r\n0\r\n\r\n")
		}
	}
	if rest, err := io.ReadAll(resp.Body); len(rest) > 0 || err != nil {
		t.Errorf("%q, %v", rest, err)
	}
}

func TestReadDeadline(t *testing.T) {
	ln := onGale(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		_, err := io.ReadAll(r.Body)
		fmt.Fprint(w, err)
	}))
	c := dial(t, ln)
	c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc")
	if a := c.read("POST"); !strings.Contains(a.Body, "timeout") {
		t.Errorf("got %v", a)
	}
}

// Informational responses precede the final one with their own fields.
func TestInformational(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</a.css>")
		w.WriteHeader(103)
		w.Header().Del("Link")
		w.WriteHeader(102)
		io.WriteString(w, "done")
	})
	for _, ln := range []*galeutil.InmemoryListener{onGale(t, h), onNetHTTP(t, h)} {
		c := dial(t, ln)
		c.send(get("/"))
		const want = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"
		b := make([]byte, len(want))
		if io.ReadFull(c.br, b); string(b) != want {
			t.Fatalf("got %q", b)
		}
		if a := c.read("GET"); a.Status != 200 || a.Body != "done" || a.Header.Get("Link") != "" {
			t.Error(a)
		}
	}
}

// Protocols are switched in both ways that programs have: a 101 by WriteHeader,
// or written to the connection.
func TestUpgrade(t *testing.T) {
	echo := func(c net.Conn, r io.Reader) {
		defer c.Close()
		io.Copy(c, r)
	}
	for name, h := range map[string]http.HandlerFunc{
		"WriteHeader": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "echo")
			w.WriteHeader(101)
			c, rw, err := http.NewResponseController(w).Hijack()
			must(err, nil)
			go echo(c, rw)
		},
		"written": func(w http.ResponseWriter, r *http.Request) {
			c, rw, err := http.NewResponseController(w).Hijack()
			must(err, nil)
			io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			echo(c, rw)
		},
	} {
		c := dial(t, onGale(t, h))
		c.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nearly")
		resp, err := http.ReadResponse(c.br, nil)
		if err != nil || resp.StatusCode != 101 || resp.Header.Get("Upgrade") != "echo" {
			t.Fatal(name, resp, err)
		}
		c.send("late")
		b := make([]byte, 9)
		if io.ReadFull(c.br, b); string(b) != "earlylate" {
			t.Errorf("%s: echoed %q", name, b)
		}
	}
}

// A panic is Gale's matter; mistakes of a handler are logged with their place.
func TestPanicAndLog(t *testing.T) {
	logged := &quiet{}
	s := &gale.Server{Logger: logged, Handler: NewFastHTTPHandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/panic" {
			panic("on purpose")
		}
		w.WriteHeader(200)
		w.WriteHeader(500)
	})}
	ln := serveGale(t, s)
	c := dial(t, ln)
	c.send(get("/") + get("/panic"))
	if a := c.read("GET"); a.Status != 200 {
		t.Error(a)
	}
	if a := c.read("GET"); a.Status != 500 || a.Body != "Internal Server Error" {
		t.Error(a)
	}
	c.Close()
	s.Shutdown()
	for _, want := range []string{"superfluous response.WriteHeader call from", "handler_test.go:", "on purpose", "TestPanicAndLog"} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, logged)
		}
	}
}

// Middleware on Gale's side finds the response, and can set defaults.
func TestMiddleware(t *testing.T) {
	h := NewFastHTTPHandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, strings.Repeat("text ", 1000)) })
	ln := serveGale(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {
		ctx.Response.Header.Set("X-Before", "1")
		ctx.SetStatusCode(202)
		gale.CompressHandler(h)(ctx)
		ctx.Response.Header.Set("X-After", "2")
	}})
	c := dial(t, ln)
	c.send("GET / HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n")
	a := c.read("GET")
	if a.Status != 202 || a.Header.Get("X-Before") != "1" || a.Header.Get("X-After") != "2" || a.Header.Get("Content-Encoding") != "gzip" {
		t.Error(a.Status, a.Header)
	}
}

// Without a server everything is in the context afterwards.
func TestWithoutServer(t *testing.T) {
	var ctx gale.RequestCtx
	var req gale.Request
	req.SetRequestURI("http://h/path")
	ctx.Init(&req, nil, nil)
	NewFastHTTPHandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Host+r.URL.Path)
		w.(http.Flusher).Flush()
		if _, _, err := w.(http.Hijacker).Hijack(); err == nil {
			t.Error("hijacked")
		}
		if r.Context().Err() != nil {
			t.Error("the context is over")
		}
	})(&ctx)
	if got := string(ctx.Response.Body()); got != "h/path" {
		t.Errorf("got %q", got)
	}
}

// countedConn counts writes.
type countedConn struct {
	net.Conn
	writes *atomic.Int32
}

func (c countedConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

// What a request's context keeps of the connection does not keep pipelined responses
// from going out together, as a call of RequestCtx.Conn does.
func TestPipelinedResponsesTogether(t *testing.T) {
	const n = 5
	s := &gale.Server{Handler: NewFastHTTPHandlerFunc(func(w http.ResponseWriter, r *http.Request) {})}
	ours, theirs := net.Pipe()
	var writes atomic.Int32
	served := make(chan error, 1)
	go func() { served <- s.ServeConn(countedConn{theirs, &writes}) }()
	if _, err := io.WriteString(ours, strings.Repeat("GET / HTTP/1.1\r\nHost: h\r\n\r\n", n)); err != nil {
		t.Fatal(err)
	}
	br := bufio.NewReader(ours)
	for range n {
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	ours.Close()
	<-served
	if writes.Load() != 1 {
		t.Errorf("%d responses took %d writes", n, writes.Load())
	}
}
