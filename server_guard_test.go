package gale

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// uses collects what a guard reports.
type uses struct {
	mu  sync.Mutex
	all []*LifetimeUse
}

func (u *uses) add(v *LifetimeUse) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.all = append(u.all, v)
}

func (u *uses) take() []*LifetimeUse {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := u.all
	u.all = nil
	return all
}

// find returns the first report about what.
func (u *uses) find(what string) *LifetimeUse {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, v := range u.all {
		if v.What == what {
			return v
		}
	}
	return nil
}

// guarded returns a server that guards each request, and what it reports. It leaves the
// pools as they were.
func guarded(t *testing.T, s *Server) (*Server, *uses) {
	u := new(uses)
	keepPools(t)
	s.GuardLifetimes = &LifetimeGuard{OnUse: u.add}
	return s, u
}

// keepPools restores the guard of the pools at the end of the test.
func keepPools(t *testing.T) {
	before := poolGuard.Load()
	t.Cleanup(func() { poolGuard.Store(before) })
}

// ended waits until the loan of a guarded request has ended.
func ended(t *testing.T, ctx *RequestCtx) {
	t.Helper()
	if ctx.loan == nil {
		t.Fatal("the request is not guarded")
	}
	await(t, "the end of the request", ctx.loan.Over)
}

// eachProtocol runs f with clients of both protocols on both engines.
func eachProtocol(t *testing.T, f func(t *testing.T, way h2Way, major int)) {
	for _, way := range h2Ways {
		for _, major := range []int{1, 2} {
			if !way.tls || major == 2 {
				t.Run(fmt.Sprintf("%v,http%d", way, major), func(t *testing.T) { f(t, way, major) })
			}
		}
	}
}

// A context that the handler keeps is emptied, and each use of it is reported, with the
// request that it belonged to. Bytes that were kept are overwritten.
func TestGuardFindsLateUse(t *testing.T) {
	eachProtocol(t, func(t *testing.T, way h2Way, major int) {
		var ctx *RequestCtx
		var kept [][]byte
		s, u := guarded(t, &Server{Handler: func(c *RequestCtx) {
			ctx = c
			kept = [][]byte{c.Path(), c.QueryArgs().Peek("q"), c.Request.Header.Peek("X-Token"), c.Request.Header.Cookie("sid"),
				c.PostBody(), c.PostArgs().Peek("f"), c.URI().FullURI(), c.Request.Header.Peek("Content-Type")}
			for i, b := range kept {
				if !strings.Contains(string(b), "alice") && i != 7 {
					t.Errorf("%d: %q", i, b)
				}
			}
			c.SetBodyString("alice")
			kept = append(kept, c.Response.Body())
		}})
		hs := way.start(t, s)
		req, _ := http.NewRequest("POST", hs.url("/alice?q=alice"), strings.NewReader("f=alice&g=1"))
		req.Header.Set("X-Token", "alice")
		req.Header.Set("Cookie", "sid=alice")
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := hs.client(major).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || string(body) != "alice" {
			t.Fatalf("%d %q", resp.StatusCode, body)
		}
		gone(t, ctx, kept...)
		if late := u.take(); len(late) > 0 {
			t.Fatalf("a report before the misuse: %v", late[0])
		}
		for i, b := range kept {
			if strings.Contains(string(b), "alice") || strings.Contains(string(b), "form") {
				t.Errorf("slice %d is still %q", i, b)
			}
		}
		if got := ctx.Request.Header.Peek("X-Token"); len(got) > 0 {
			t.Errorf("Peek of an ended request returned %q", got)
		}
		late := u.take()
		if len(late) != 1 {
			t.Fatalf("%d reports of one use", len(late))
		}
		v := late[0]
		if v.What != "RequestHeader.Peek" || v.Method != "POST" || v.Path != "/alice" || v.ID == 0 ||
			!strings.HasPrefix(v.RemoteAddr, "127.0.0.1:") || !strings.Contains(v.Handler, "TestGuardFindsLateUse") ||
			!strings.HasPrefix(v.Error(), "gale: RequestHeader.Peek used after the handler returned") ||
			!strings.Contains(v.Stack, "TestGuardFindsLateUse") {
			t.Errorf("the report is %+v\n%s", v, v)
		}
		if !strings.Contains(hs.log.String(), v.Line()) {
			t.Errorf("the log is %q", hs.log)
		}
		for name, use := range map[string]func(){
			"RequestCtx.Path": func() { ctx.Path() }, "RequestCtx.SetBodyString": func() { ctx.SetBodyString("late") },
			"Args.Peek": func() { ctx.Request.PostArgs().Peek("f") }, "Request.Body": func() { ctx.Request.Body() },
			"Response.SetStatusCode": func() { ctx.Response.SetStatusCode(404) }, "RequestCtx.UserValue": func() { ctx.UserValue("a") },
		} {
			use()
			if len(u.take()) == 0 {
				t.Errorf("no report of %s", name)
			}
		}
	})
}

// However a request ends, its context is used for no other one, and late uses of it are
// reported.
func TestGuardAtEveryEnd(t *testing.T) {
	type test struct {
		name    string
		handler func(ctx *RequestCtx)
		set     func(s *Server)
		send    func(c *testConn)
		http1   bool // HTTP/2 has no such end
	}
	plain := func(c *testConn) { c.send("POST /alice HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nalice") }
	for _, tt := range []test{
		{name: "plain"},
		{name: "flush", handler: func(ctx *RequestCtx) { ctx.WriteString("a"); ctx.Flush(); ctx.WriteString("b") }},
		{name: "stream", handler: func(ctx *RequestCtx) { ctx.SetBodyStream(strings.NewReader("alice"), -1) }},
		{name: "writer", handler: func(ctx *RequestCtx) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.Write(ctx.Path()) })
		}},
		{name: "panic", handler: func(ctx *RequestCtx) { panic("on purpose") }},
		{name: "panic in PanicHandler", handler: func(ctx *RequestCtx) { panic("on purpose") },
			set: func(s *Server) { s.PanicHandler = func(ctx *RequestCtx, _ any) { panic(string(ctx.Path())) } }},
		{name: "abort", handler: func(ctx *RequestCtx) { panic(ErrAbortHandler) }},
		{name: "Goexit", handler: func(ctx *RequestCtx) { runtime.Goexit() }},
		{name: "closer panics", handler: func(ctx *RequestCtx) { ctx.SetUserValue("a", brokenCloser{}) }},
		{name: "BeforeSend panics", handler: func(ctx *RequestCtx) {
			ctx.BeforeSend(func(ctx *RequestCtx) { panic(string(ctx.Path())) })
		}},
		{name: "close", handler: func(ctx *RequestCtx) { ctx.SetConnectionClose() }},
		{name: "Fail", handler: func(ctx *RequestCtx) { ctx.Fail(400, errors.New("on purpose")) }},
		{name: "streamed body unread", set: func(s *Server) { s.StreamRequestBody = true }},
		{name: "streamed body of a gone client", set: func(s *Server) { s.StreamRequestBody = true }, http1: true,
			handler: func(ctx *RequestCtx) { io.ReadAll(ctx.RequestBodyStream()) },
			send: func(c *testConn) {
				c.send("POST /alice HTTP/1.1\r\nHost: h\r\nContent-Length: 500\r\n\r\nalice")
				c.Close()
			}},
		{name: "body read by a goroutine", set: func(s *Server) { s.StreamRequestBody = true }, http1: true,
			handler: func(ctx *RequestCtx) { go io.ReadAll(ctx.RequestBodyStream()) },
			send: func(c *testConn) {
				c.send("POST /alice HTTP/1.1\r\nHost: h\r\nContent-Length: 500\r\n\r\nalice")
			}},
		{name: "Hijack", http1: true, handler: func(ctx *RequestCtx) { ctx.Hijack(func(net.Conn) {}) }},
		{name: "HijackNow", http1: true, handler: func(ctx *RequestCtx) {
			if c, err := ctx.HijackNow(); err == nil {
				c.Close()
			}
		}},
		{name: "gone", handler: func(ctx *RequestCtx) { <-ctx.Context().Done() }, http1: true, send: func(c *testConn) {
			plain(c)
			c.Close()
		}},
	} {
		for _, way := range clearWays() {
			for _, major := range []int{1, 2} {
				if tt.http1 && major == 2 {
					continue
				}
				t.Run(fmt.Sprintf("%s/%v,http%d", tt.name, way, major), func(t *testing.T) {
					kept := make(chan *RequestCtx, 1)
					s, u := guarded(t, &Server{Handler: func(ctx *RequestCtx) {
						kept <- ctx
						ctx.Request.Header.Peek("X")
						if tt.handler != nil {
							tt.handler(ctx)
						}
					}})
					if tt.set != nil {
						tt.set(s)
					}
					hs := way.start(t, s)
					if major == 2 {
						if resp, err := hs.client(2).Post(hs.url("/alice"), "text/plain", strings.NewReader("alice")); err == nil {
							io.ReadAll(resp.Body)
							resp.Body.Close()
						}
					} else {
						c := hs.dial()
						if tt.send == nil {
							plain(c)
						} else {
							tt.send(c)
						}
					}
					ctx := <-kept
					ended(t, ctx)
					if late := u.take(); len(late) > 0 {
						t.Fatalf("a report before the misuse: %v", late[0])
					}
					if p := string(ctx.Path()); strings.Contains(p, "alice") {
						t.Errorf("an ended request has the path %q", p)
					}
					if u.find("RequestCtx.Path") == nil {
						t.Errorf("no report: %v", u.take())
					}
				})
			}
		}
	}
}

type brokenCloser struct{}

func (brokenCloser) Close() error { panic("on purpose") }

// Contexts that ErrorHandler, ExpectHandler or PanicHandler keep are found, too.
func TestGuardOutsideOfHandlers(t *testing.T) {
	onEngines(t, func(t *testing.T, e Engine) {
		for name, request := range map[string]string{
			"no request": "nonsense\r\n\r\n", "too large": "POST /alice HTTP/1.1\r\nHost: h\r\nContent-Length: 500\r\n\r\n",
			"expect": "POST /alice HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nalice",
		} {
			kept := make(chan *RequestCtx, 1)
			s, u := guarded(t, &Server{
				Engine: e, MaxRequestBodySize: 100, Logger: &testLog{},
				ErrorHandler:  func(ctx *RequestCtx, err error) { kept <- ctx },
				ExpectHandler: func(ctx *RequestCtx) int { kept <- ctx; return 417 },
			})
			if name == "expect" {
				s.ErrorHandler = nil
			}
			ts := startServer(t, s, func(*RequestCtx) {})
			c := ts.dial()
			c.send(request)
			_, _ = c.br.ReadString('\n')
			c.Close() // else the server lingers
			ctx := <-kept
			ended(t, ctx)
			ctx.Request.Header.Peek("Host")
			if v := u.find("RequestHeader.Peek"); v == nil {
				t.Errorf("%s: no report", name)
			}
		}
	})
}

// What the program may use after the handler has returned is not reported.
func TestGuardSparesWhatMayBeKept(t *testing.T) {
	eachProtocol(t, func(t *testing.T, way h2Way, major int) {
		kept := make(chan *RequestCtx, 1)
		release := make(chan struct{})
		finished := make(chan error, 1)
		s, u := guarded(t, &Server{Handler: func(ctx *RequestCtx) {
			switch string(ctx.Path()) {
			case "/timeout":
				go func() {
					<-release
					finished <- same(string(ctx.QueryArgs().Peek("q")), "alice")
				}()
				ctx.TimeoutError("late")
			case "/handler":
				TimeoutHandler(func(ctx *RequestCtx) {
					<-release
					finished <- same(string(ctx.QueryArgs().Peek("q")), "alice")
				}, time.Millisecond, "late")(ctx)
			case "/held":
				ctx.SetUserValue("user", "alice")
				ctx.Done()
			}
			select {
			case kept <- ctx:
			default:
			}
		}})
		hs := way.start(t, s)
		c := hs.client(major)
		for _, path := range []string{"/timeout", "/handler"} {
			if status, _ := hs.get(c, path+"?q=alice"); status != 408 {
				t.Errorf("%s: status %d", path, status)
			}
			<-kept
			hs.get(c, "/other?q=other")
			<-kept
			release <- struct{}{}
			if err := <-finished; err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
		if late := u.take(); len(late) > 0 {
			t.Errorf("reported: %v", late[0])
		}
		hs.get(c, "/held?q=alice")
		ctx := <-kept
		ended(t, ctx)
		<-ctx.Done()
		if v := ctx.Value("user"); v != "alice" || ctx.Err() == nil {
			t.Errorf("a held context has the value %v and the error %v", v, ctx.Err())
		}
		ctx.Deadline()
		if late := u.take(); len(late) > 0 {
			t.Errorf("reported: %v", late[0])
		}
		if ctx.Path(); u.find("RequestCtx.Path") == nil {
			t.Error("no report of a held context")
		}
	})
}

func same(got, want string) error {
	if got != want {
		return fmt.Errorf("got %q, want %q", got, want)
	}
	return nil
}

// Reports as panics reach PanicHandler, with text for a log.
func TestGuardPanics(t *testing.T) {
	onEngines(t, func(t *testing.T, e Engine) {
		keepPools(t)
		var kept *RequestCtx
		got := make(chan any, 1)
		ts := startServer(t, &Server{
			Engine: e, GuardLifetimes: &LifetimeGuard{Report: LifetimePanic}, Logger: &testLog{},
			PanicHandler: func(_ *RequestCtx, v any) { got <- v },
		}, func(ctx *RequestCtx) {
			if kept == nil {
				kept = ctx
				return
			}
			kept.Request.Header.Peek("X-Token")
		})
		c := ts.dial()
		c.send(get("/first"))
		c.want("GET", 200, "")
		ended(t, kept)
		c.send(get("/second"))
		c.want("GET", 500, "Internal Server Error")
		v, ok := (<-got).(*LifetimeUse)
		if !ok || v.Path != "/first" {
			t.Errorf("PanicHandler got %v", v)
		}
	})
}

// With pages, reading bytes that were kept in a handler is a panic that the server
// recovers, and reports what was read.
func TestGuardPages(t *testing.T) {
	var sink byte
	onEngines(t, func(t *testing.T, e Engine) {
		u := new(uses)
		g := &LifetimeGuard{Pages: true, MaxBytes: 4 << 20, OnUse: u.add}
		if !g.guard().HasPages() {
			t.Skip(g.guard().PagesErr())
		}
		keepPools(t)
		for _, tt := range []struct {
			name string
			read func(f func())
		}{
			{"handler", func(f func()) { f() }},
			{"TimeoutHandler", nil},
		} {
			var kept []byte
			var ctx *RequestCtx
			got := make(chan any, 1)
			ts := startServer(t, &Server{
				Engine: e, GuardLifetimes: g, Logger: &testLog{}, PanicHandler: func(_ *RequestCtx, v any) { got <- v },
			}, func(c *RequestCtx) {
				if kept == nil {
					kept, ctx = c.QueryArgs().Peek("q"), c
					return
				}
				h := func(*RequestCtx) { sink += kept[0] }
				if tt.read == nil {
					h = TimeoutHandler(h, time.Minute, "")
				}
				h(c)
			})
			c := ts.dial()
			c.send(get("/first?q=alice"))
			c.want("GET", 200, "")
			gone(t, ctx, kept)
			c.send(get("/second"))
			c.want("GET", 500, "Internal Server Error")
			v, ok := (<-got).(*LifetimeUse)
			if !ok || v.What != "bytes" || v.Path != "/first" || !strings.Contains(v.Stack, "TestGuardPages") {
				t.Errorf("%s: PanicHandler got %v", tt.name, v)
			}
			if u.find("bytes") == nil {
				t.Errorf("%s: OnUse was not called", tt.name)
			}
			u.take()
			if n := ts.s.Stats().Lifetimes; n.Requests != 2 || n.Reports == 0 || n.Held == 0 {
				t.Errorf("%s: Stats has %+v", tt.name, n)
			}
		}
	})
	_ = sink
}

// A guard with a sample guards about that part of the requests.
func TestGuardSample(t *testing.T) {
	s := &Server{GuardLifetimes: &LifetimeGuard{Every: 10}}
	keepPools(t)
	var n atomic.Int64
	ts := startServer(t, s, func(ctx *RequestCtx) {
		if ctx.loan != nil {
			n.Add(1)
		}
	})
	c := ts.dial()
	for range 100 {
		c.send(strings.Repeat(get("/"), 20))
		for range 20 {
			c.want("GET", 200, "")
		}
	}
	if got := n.Load(); got < 100 || got > 400 || uint64(got) != s.Stats().Lifetimes.Requests {
		t.Errorf("%d of 2000 requests were guarded, want about 200; Stats has %+v", got, s.Stats().Lifetimes)
	}
}

// TestGuardIsSilent proves that nothing is reported where nothing is used too late: the
// requests of TestNoForeignBytes and TestH2Foreign, all guarded, with pages if the system
// has them. GALE_LEAK_REQUESTS says how many requests each of the four tests sends.
func TestGuardIsSilent(t *testing.T) {
	keepPools(t)
	total := leakRequests() / 20
	if os.Getenv("GALE_LEAK_REQUESTS") != "" {
		total = leakRequests()
	}
	onEngines(t, func(t *testing.T, e Engine) {
		for _, major := range []int{1, 2} {
			t.Run(fmt.Sprintf("http%d", major), func(t *testing.T) {
				u := new(uses)
				g := &LifetimeGuard{Pages: true, OnUse: u.add}
				if major == 1 {
					testNoForeignBytes(t, &Server{Engine: e, GuardLifetimes: g}, total)
				} else {
					for _, stream := range []bool{false, true} {
						testH2Foreign(t, h2Way{engine: e}, stream, g, total/2)
					}
				}
				if late := u.take(); len(late) > 0 {
					t.Errorf("%d reports, the first is\n%v", len(late), late[0])
				}
				n := g.guard().Stats()
				t.Logf("%+v", n)
				if n.Guarded < total*3/4 || n.Held > 64<<20 && n.Unpaged == 0 { // some clients leave early
					t.Errorf("of %d requests, the guard has %+v", total, n)
				}
			})
		}
	})
}
