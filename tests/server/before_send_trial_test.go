package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/adaptor"
	"github.com/galehttp/gale/galetest"
)

// The trial program: the middlewares that an application developer writes around the
// routes. Every answer must then have their headers, no matter which code made it.

// trialFields are the headers that the middlewares set, and their values.
func trialFields(id string) map[string]string {
	return map[string]string{
		"Access-Control-Allow-Origin": "https://app.example", // of the Origin in the request
		"X-Request-Id":                id,
		"X-Frame-Options":             "DENY",
		"X-Hooks":                     "1", // how many times the functions ran
	}
}

// withID gives each request an ID and adds it to the response, along with what the
// handler sets.
func withID(next gale.RequestHandler) gale.RequestHandler {
	return func(ctx *gale.RequestCtx) {
		ctx.SetUserValue("id", string(ctx.Request.Header.Peek("X-Request-Id")))
		ctx.BeforeSend(func(ctx *gale.RequestCtx) {
			ctx.Response.Header.Set("X-Request-Id", ctx.UserValue("id").(string))
		})
		next(ctx)
	}
}

// withCORS looks at the request when the response is sent.
func withCORS(next gale.RequestHandler) gale.RequestHandler {
	return func(ctx *gale.RequestCtx) {
		ctx.BeforeSend(func(ctx *gale.RequestCtx) {
			if origin := ctx.Request.Header.Peek("Origin"); len(origin) > 0 {
				ctx.Response.Header.SetBytesV("Access-Control-Allow-Origin", origin)
				ctx.Response.Header.Add("Vary", "Origin")
			}
		})
		next(ctx)
	}
}

// withSecurity sets its header after next, even if that panics. A head that is sent
// within next gets it before.
func withSecurity(next gale.RequestHandler) gale.RequestHandler {
	return func(ctx *gale.RequestCtx) {
		secure := func(ctx *gale.RequestCtx) { ctx.Response.Header.Set("X-Frame-Options", "DENY") }
		if path := string(ctx.Path()); strings.HasPrefix(path, "/flush") || path == "/switchnethttp" {
			ctx.BeforeSend(secure)
		} else {
			defer ctx.BeforeSend(secure)
		}
		ctx.BeforeSend(func(ctx *gale.RequestCtx) { ctx.Response.Header.Add("X-Hooks", "1") })
		next(ctx)
	}
}

// trial has the routes. Handlers that must be late wait for the end of the test.
type trial struct {
	file string
	end  chan struct{}
}

func newTrial(t *testing.T) *trial {
	file := filepath.Join(t.TempDir(), "file.txt")
	if err := os.WriteFile(file, []byte(strings.Repeat("file ", 5000)), 0o600); err != nil {
		t.Fatal(err)
	}
	tr := &trial{file: file, end: make(chan struct{})}
	t.Cleanup(func() { close(tr.end) })
	return tr
}

func (tr *trial) handler() gale.RequestHandler {
	slow := gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
		<-ctx.Context().Done()
		tr.goOn(ctx)
	}, 20*time.Millisecond, "too slow")
	routes := withID(withCORS(withSecurity(func(ctx *gale.RequestCtx) {
		ctx.Response.Header.Set("X-Set", "by the handler")
		tr.route(ctx, slow)
	})))
	inside := gale.TimeoutHandler(routes, time.Minute, "too slow")
	return func(ctx *gale.RequestCtx) {
		if ctx.QueryArgs().Has("inside") {
			inside(ctx)
			return
		}
		routes(ctx)
	}
}

// goOn uses everything that a handler has, until the test ends.
func (tr *trial) goOn(ctx *gale.RequestCtx) {
	for {
		select {
		case <-tr.end:
			return
		default:
			ctx.Request.Header.Set("X-Request-Id", "late")
			ctx.SetUserValue("id", "late")
			ctx.Response.Header.Set("X-Late", "late")
			ctx.SetRemoteAddr(galetest.RemoteAddr)
			time.Sleep(time.Millisecond) // between two late uses
		}
	}
}

func (tr *trial) route(ctx *gale.RequestCtx, slow gale.RequestHandler) {
	switch string(ctx.Path()) {
	case "/ok":
		ctx.SetBodyString("ok")
	case "/error":
		ctx.Error("no", gale.StatusForbidden)
	case "/fail":
		ctx.Fail(gale.StatusConflict, errors.New("taken"))
	case "/fail5xx":
		ctx.Fail(gale.StatusBadGateway, errors.New("secret"))
	case "/405":
		ctx.Response.Header.Set("Allow", "GET")
		ctx.Fail(gale.StatusMethodNotAllowed, nil)
	case "/304":
		ctx.NotModified()
	case "/redirect":
		ctx.Redirect("/ok", gale.StatusFound)
	case "/panic":
		panic("on purpose")
	case "/timeout":
		slow(ctx)
	case "/timeouterror":
		go tr.goOn(ctx)
		ctx.TimeoutError("too slow")
	case "/stream":
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) { io.WriteString(w, "stream") })
	case "/broken":
		ctx.SetBodyStream(io.MultiReader(strings.NewReader("x"), errReader{}), -1)
		_ = ctx.Response.Body()
	case "/flush":
		ctx.WriteString("first ")
		if err := ctx.Flush(); err != nil {
			panic(err)
		}
		ctx.WriteString("second")
	case "/flush2":
		_ = ctx.EarlyHints()
		for range 3 {
			ctx.WriteString("part ")
			if err := ctx.Flush(); err != nil {
				panic(err)
			}
		}
	case "/hijack":
		ctx.SetStatusCode(gale.StatusSwitchingProtocols)
		ctx.Response.Header.Set("Connection", "Upgrade")
		ctx.Response.Header.Set("Upgrade", "trial")
		ctx.Hijack(func(c net.Conn) { io.WriteString(c, "hijacked") })
	case "/file":
		ctx.SendFile(tr.file)
	case "/missing":
		ctx.SendFile(tr.file + ".none")
	case "/body":
		fmt.Fprint(ctx, len(ctx.PostBody()))
	case "/nethttp":
		adaptor.NewFastHTTPHandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusCreated)
			io.WriteString(w, "net/http")
		})(ctx)
	case "/flushnethttp":
		adaptor.NewFastHTTPHandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "net/http")
			w.(http.Flusher).Flush()
		})(ctx)
	case "/switchnethttp":
		adaptor.NewFastHTTPHandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "trial")
			w.WriteHeader(http.StatusSwitchingProtocols)
			c, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			c.Close()
		})(ctx)
	default:
		ctx.NotFound()
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errors.New("broken") }

// trialRequest is what a client sends, and which status it gets.
type trialRequest struct {
	name   string
	method string
	path   string
	fields string
	body   string
	status int
	// Where it applies: on net/http a panic of a handler breaks the connection, and a
	// recorder has no server.
	gale, native bool
}

func trialRequests() []trialRequest {
	var all []trialRequest
	for path, status := range map[string]int{
		"/ok": 200, "/error": 403, "/fail": 409, "/fail5xx": 502, "/none": 404, "/405": 405, "/304": 304, "/redirect": 302,
		"/timeout": 408, "/timeouterror": 408, "/stream": 200, "/broken": 500, "/flush": 200, "/flush2": 200, "/file": 200,
		"/missing": 404, "/nethttp": 201, "/flushnethttp": 200,
	} {
		all = append(all, trialRequest{name: path, method: "GET", path: path, status: status})
		if !strings.HasPrefix(path, "/time") {
			all = append(all, trialRequest{name: path + " HEAD", method: "HEAD", path: path, status: status},
				trialRequest{name: path + " inside", method: "GET", path: path + "?inside", status: status})
		}
	}
	return append(all,
		trialRequest{name: "range", method: "GET", path: "/file", fields: "Range: bytes=0-9\r\n", status: 206},
		trialRequest{name: "bad range", method: "GET", path: "/file", fields: "Range: bytes=99999-\r\n", status: 416},
		trialRequest{name: "not modified", method: "GET", path: "/file", fields: "If-Modified-Since: Fri, 31 Dec 2100 00:00:00 GMT\r\n", status: 304},
		trialRequest{name: "body", method: "POST", path: "/body", body: "body", status: 200},
		trialRequest{name: "unread body", method: "POST", path: "/body", body: strings.Repeat("x", gale.DefaultMaxRequestBodySize+1), status: 413},
		trialRequest{name: "hijack", method: "GET", path: "/hijack", fields: "Connection: Upgrade\r\nUpgrade: trial\r\n", status: 101},
		trialRequest{name: "hijack of net/http", method: "GET", path: "/switchnethttp", status: 101, gale: true, native: true},
		trialRequest{name: "panic", method: "GET", path: "/panic", status: 500, gale: true, native: true},
		trialRequest{name: "panic inside", method: "GET", path: "/panic?inside", status: 500, gale: true, native: true},
		trialRequest{name: "expectation", method: "GET", path: "/ok", fields: "Expect: else\r\n", status: 417, gale: true},
		trialRequest{name: "GET only", method: "POST", path: "/ok", fields: "X-Get-Only: 1\r\n", status: 200, gale: true},
	)
}

// want checks the fields of an answer.
func (r trialRequest) want(t *testing.T, status int, h http.Header, id string) {
	t.Helper()
	if status != r.status {
		t.Errorf("%s: status %d, want %d: %v", r.name, status, r.status, h)
	}
	for name, value := range trialFields(id) {
		if got := h.Values(name); len(got) != 1 || got[0] != value {
			t.Errorf("%s: %s is %q, want %q once", r.name, name, got, value)
		}
	}
	if len(h.Values("X-Late")) > 0 {
		t.Errorf("%s: the answer has a field of the late handler", r.name)
	}
}

// send sends the request over c and returns the final answer, read to its end.
func (r trialRequest) send(t *testing.T, c net.Conn, id string) *http.Response {
	t.Helper()
	c.SetDeadline(time.Now().Add(time.Minute))
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: h\r\nOrigin: https://app.example\r\nX-Request-Id: %s\r\n%s", r.method, r.path, id, r.fields)
	if r.body != "" {
		head += fmt.Sprintf("Content-Length: %d\r\n", len(r.body))
	}
	go io.WriteString(c, head+"\r\n"+r.body)
	return readTrial(t, r.name, r.method, c)
}

func readTrial(t *testing.T, name, method string, c net.Conn) *http.Response {
	t.Helper()
	br := bufio.NewReader(c)
	for {
		resp, err := http.ReadResponse(br, &http.Request{Method: method})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if resp.StatusCode == http.StatusSwitchingProtocols {
			return resp
		}
		if _, err := io.ReadAll(resp.Body); err != nil {
			t.Errorf("%s: reading the body: %v", name, err)
		}
		if resp.StatusCode >= 200 {
			return resp
		}
	}
}

// serverFields is the Server.BeforeSend of the trial: answers that have not gone through
// the middlewares get their headers here.
func serverFields(ctx *gale.RequestCtx) {
	h := &ctx.Response.Header
	if len(h.Peek("X-Request-Id")) > 0 {
		return
	}
	h.Set("X-Request-Id", string(ctx.Request.Header.Peek("X-Request-Id"))+"s")
	h.Set("Access-Control-Allow-Origin", "https://app.example")
	h.Set("X-Frame-Options", "DENY")
	h.Add("X-Hooks", "1")
}

// Every answer of a server has the headers of the middlewares, no matter which code made
// it.
func TestTrialOnServer(t *testing.T) {
	for _, e := range []gale.Engine{gale.EngineBlock, gale.EngineEvent} {
		if e == gale.EngineEvent && runtime.GOOS != "linux" {
			continue
		}
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v, stream %v", e, stream), func(t *testing.T) {
				testTrialOnServer(t, &gale.Server{Engine: e, StreamRequestBody: stream, MaxHeaderBytes: 8 << 10})
			})
		}
	}
}

func testTrialOnServer(t *testing.T, s *gale.Server) {
	s.Handler = newTrial(t).handler()
	s.Logger = log.New(io.Discard, "", 0)
	s.BeforeSend = serverFields
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(ln)
	defer s.Close()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for i, r := range trialRequests() {
		c := dial()
		id := fmt.Sprint("id", i)
		if r.name == "GET only" {
			continue
		}
		resp := r.send(t, c, id)
		if !s.StreamRequestBody && r.name == "unread body" || r.name == "expectation" {
			id += "s" // no handler saw it
		}
		r.want(t, resp.StatusCode, resp.Header, id)
		c.Close()
	}
	for name, in := range map[string]struct {
		head   string
		status int
	}{
		"malformed head":  {"GET / HTTP/1.1\r\nHost h\r\n\r\n", 400},
		"malformed line":  {"GET\r\n\r\n", 400},
		"no host":         {"GET / HTTP/1.1\r\n\r\n", 400},
		"too large":       {"GET / HTTP/1.1\r\nHost: h\r\nX: " + strings.Repeat("x", 9000) + "\r\n\r\n", 431},
		"version":         {"GET / HTTP/3.0\r\nHost: h\r\n\r\n", 505},
		"unknown coding":  {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: x\r\n\r\n", 501},
		"malformed again": {"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\n\r\n", 400},
	} {
		c := dial()
		c.SetDeadline(time.Now().Add(time.Minute))
		go io.WriteString(c, in.head)
		resp := readTrial(t, name, "GET", c)
		trialRequest{name: name, status: in.status}.want(t, resp.StatusCode, resp.Header, "s")
		c.Close()
	}
}

// The same on a server of net/http, and in a recorder.
func TestTrialElsewhere(t *testing.T) {
	h := newTrial(t).handler()
	s := httptest.NewUnstartedServer(adaptor.NewHTTPHandler(h))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	defer s.Close()
	for i, r := range trialRequests() {
		if r.gale {
			continue
		}
		id := fmt.Sprint("id", i)
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		resp := r.send(t, c, id)
		r.want(t, resp.StatusCode, resp.Header, id)
		c.Close()

		if r.name == "unread body" {
			continue // it has arrived there
		}
		req := galetest.NewRequest(r.method, r.path, []byte(r.body))
		req.Header.Set("Origin", "https://app.example")
		req.Header.Set("X-Request-Id", id)
		if name, value, ok := strings.Cut(strings.TrimSuffix(r.fields, "\r\n"), ": "); ok && !strings.Contains(value, "\r\n") {
			req.Header.Set(name, value)
		}
		got := galetest.Record(h, galetest.NewContextOf(req)).Response
		fields := make(http.Header)
		for k, v := range got.Header.All() {
			fields.Add(string(k), string(v))
		}
		r.name += ", recorded"
		r.want(t, got.StatusCode(), fields, id)
	}
}

// This needs a server with GetOnly.
func TestTrialGetOnly(t *testing.T) {
	s := galetest.NewUnstartedServer(newTrial(t).handler())
	s.Config.GetOnly, s.Config.BeforeSend = true, serverFields
	s.Config.Logger = log.New(io.Discard, "", 0)
	s.Start()
	defer s.Close()
	resp, err := s.HTTPClient().Post(s.URL+"/ok", "text/plain", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	trialRequest{name: "GET only", status: 400}.want(t, resp.StatusCode, resp.Header, "s")
}
