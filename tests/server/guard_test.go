package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/internal/lifetime"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// A context that the handler keeps is emptied, and each use of it is reported, with the
// request that it belonged to. Bytes that were kept are overwritten.
func TestGuardFindsLateUse(t *testing.T) {
	peers.EachProtocol(t, func(t *testing.T, way harness.H2Way, major int) {
		var ctx *gale.RequestCtx
		var kept [][]byte
		s, u := harness.Guarded(t, &gale.Server{Handler: func(c *gale.RequestCtx) {
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
		hs := way.Start(t, s)
		req, _ := http.NewRequest("POST", hs.URL("/alice?q=alice"), strings.NewReader("f=alice&g=1"))
		req.Header.Set("X-Token", "alice")
		req.Header.Set("Cookie", "sid=alice")
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := hs.Client(major).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || string(body) != "alice" {
			t.Fatalf("%d %q", resp.StatusCode, body)
		}
		harness.Gone(t, ctx, kept...)
		if late := u.Take(); len(late) > 0 {
			gate.Unforgiven(t, "a report before the misuse: %v", late[0])
		}
		for i, b := range kept {
			if strings.Contains(string(b), "alice") || strings.Contains(string(b), "form") {
				t.Errorf("slice %d is still %q", i, b)
			}
		}
		if got := ctx.Request.Header.Peek("X-Token"); len(got) > 0 {
			t.Errorf("Peek of an ended request returned %q", got)
		}
		late := u.Take()
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
		if !strings.Contains(hs.Log.String(), v.Line()) {
			t.Errorf("the log is %q", hs.Log)
		}
		for name, use := range map[string]func(){
			"RequestCtx.Path": func() { ctx.Path() }, "RequestCtx.SetBodyString": func() { ctx.SetBodyString("late") },
			"Args.Peek": func() { ctx.Request.PostArgs().Peek("f") }, "Request.Body": func() { ctx.Request.Body() },
			"Response.SetStatusCode": func() { ctx.Response.SetStatusCode(404) }, "RequestCtx.UserValue": func() { ctx.UserValue("a") },
		} {
			use()
			if len(u.Take()) == 0 {
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
		handler func(ctx *gale.RequestCtx)
		set     func(s *gale.Server)
		send    func(c *peers.Conn)
		http1   bool // HTTP/2 has no such end
	}
	plain := func(c *peers.Conn) { c.Send("POST /alice HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nalice") }
	for _, tt := range []test{
		{name: "plain"},
		{name: "flush", handler: func(ctx *gale.RequestCtx) { ctx.WriteString("a"); ctx.Flush(); ctx.WriteString("b") }},
		{name: "stream", handler: func(ctx *gale.RequestCtx) { ctx.SetBodyStream(strings.NewReader("alice"), -1) }},
		{name: "writer", handler: func(ctx *gale.RequestCtx) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.Write(ctx.Path()) })
		}},
		{name: "panic", handler: func(ctx *gale.RequestCtx) { panic("on purpose") }},
		{name: "panic in PanicHandler", handler: func(ctx *gale.RequestCtx) { panic("on purpose") },
			set: func(s *gale.Server) { s.PanicHandler = func(ctx *gale.RequestCtx, _ any) { panic(string(ctx.Path())) } }},
		{name: "abort", handler: func(ctx *gale.RequestCtx) { panic(gale.ErrAbortHandler) }},
		{name: "Goexit", handler: func(ctx *gale.RequestCtx) { runtime.Goexit() }},
		{name: "closer panics", handler: func(ctx *gale.RequestCtx) { ctx.SetUserValue("a", brokenCloser{}) }},
		{name: "BeforeSend panics", handler: func(ctx *gale.RequestCtx) {
			ctx.BeforeSend(func(ctx *gale.RequestCtx) { panic(string(ctx.Path())) })
		}},
		{name: "close", handler: func(ctx *gale.RequestCtx) { ctx.SetConnectionClose() }},
		{name: "Fail", handler: func(ctx *gale.RequestCtx) { ctx.Fail(400, errors.New("on purpose")) }},
		{name: "streamed body unread", set: func(s *gale.Server) { s.StreamRequestBody = true }},
		{name: "streamed body of a gone client", set: func(s *gale.Server) { s.StreamRequestBody = true }, http1: true,
			handler: func(ctx *gale.RequestCtx) { io.ReadAll(ctx.RequestBodyStream()) },
			send: func(c *peers.Conn) {
				c.Send("POST /alice HTTP/1.1\r\nHost: h\r\nContent-Length: 500\r\n\r\nalice")
				c.Close()
			}},
		{name: "body read by a goroutine", set: func(s *gale.Server) { s.StreamRequestBody = true }, http1: true,
			handler: func(ctx *gale.RequestCtx) { go io.ReadAll(ctx.RequestBodyStream()) },
			send: func(c *peers.Conn) {
				c.Send("POST /alice HTTP/1.1\r\nHost: h\r\nContent-Length: 500\r\n\r\nalice")
			}},
		{name: "Hijack", http1: true, handler: func(ctx *gale.RequestCtx) { ctx.Hijack(func(net.Conn) {}) }},
		{name: "HijackNow", http1: true, handler: func(ctx *gale.RequestCtx) {
			if c, err := ctx.HijackNow(); err == nil {
				c.Close()
			}
		}},
		{name: "gone", handler: func(ctx *gale.RequestCtx) { <-ctx.Context().Done() }, http1: true, send: func(c *peers.Conn) {
			plain(c)
			c.Close()
		}},
	} {
		for _, way := range peers.ClearWays[harness.H2Way]() {
			for _, major := range []int{1, 2} {
				if tt.http1 && major == 2 {
					continue
				}
				t.Run(fmt.Sprintf("%s/%v,http%d", tt.name, way, major), func(t *testing.T) {
					kept := make(chan *gale.RequestCtx, 1)
					s, u := harness.Guarded(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {
						kept <- ctx
						ctx.Request.Header.Peek("X")
						if tt.handler != nil {
							tt.handler(ctx)
						}
					}})
					if tt.set != nil {
						tt.set(s)
					}
					hs := way.Start(t, s)
					if major == 2 {
						if resp, err := hs.Client(2).Post(hs.URL("/alice"), "text/plain", strings.NewReader("alice")); err == nil {
							io.ReadAll(resp.Body)
							resp.Body.Close()
						}
					} else {
						c := hs.Dial()
						if tt.send == nil {
							plain(c)
						} else {
							tt.send(c)
						}
					}
					ctx := <-kept
					harness.Ended(t, ctx)
					if late := u.Take(); len(late) > 0 {
						gate.Unforgiven(t, "a report before the misuse: %v", late[0])
					}
					if p := string(ctx.Path()); strings.Contains(p, "alice") {
						t.Errorf("an ended request has the path %q", p)
					}
					if u.Find("RequestCtx.Path") == nil {
						t.Errorf("no report: %v", u.Take())
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
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		for name, request := range map[string]string{
			"no request": "nonsense\r\n\r\n", "too large": "POST /alice HTTP/1.1\r\nHost: h\r\nContent-Length: 500\r\n\r\n",
			"expect": "POST /alice HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nalice",
		} {
			kept := make(chan *gale.RequestCtx, 1)
			s, u := harness.Guarded(t, &gale.Server{
				Engine: e, MaxRequestBodySize: 100, Logger: &peers.Log{},
				ErrorHandler:  func(ctx *gale.RequestCtx, err error) { kept <- ctx },
				ExpectHandler: func(ctx *gale.RequestCtx) int { kept <- ctx; return 417 },
			})
			if name == "expect" {
				s.ErrorHandler = nil
			}
			ts := harness.Start(t, s, func(*gale.RequestCtx) {})
			c := ts.Dial()
			c.Send(request)
			_, _ = c.Br.ReadString('\n')
			c.Close() // else the server lingers
			ctx := <-kept
			harness.Ended(t, ctx)
			ctx.Request.Header.Peek("Host")
			if v := u.Find("RequestHeader.Peek"); v == nil {
				t.Errorf("%s: no report", name)
			}
		}
	})
}

// What the program may use after the handler has returned is not reported.
func TestGuardSparesWhatMayBeKept(t *testing.T) {
	peers.EachProtocol(t, func(t *testing.T, way harness.H2Way, major int) {
		kept := make(chan *gale.RequestCtx, 1)
		release := make(chan struct{})
		finished := make(chan error, 1)
		s, u := harness.Guarded(t, &gale.Server{Handler: func(ctx *gale.RequestCtx) {
			switch string(ctx.Path()) {
			case "/timeout":
				go func() {
					<-release
					finished <- same(string(ctx.QueryArgs().Peek("q")), "alice")
				}()
				ctx.TimeoutError("late")
			case "/handler":
				gale.TimeoutHandler(func(ctx *gale.RequestCtx) {
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
		hs := way.Start(t, s)
		c := hs.Client(major)
		for _, path := range []string{"/timeout", "/handler"} {
			if status, _ := hs.Get(c, path+"?q=alice"); status != 408 {
				t.Errorf("%s: status %d", path, status)
			}
			<-kept
			hs.Get(c, "/other?q=other")
			<-kept
			release <- struct{}{}
			if err := <-finished; err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
		if late := u.Take(); len(late) > 0 {
			gate.Unforgiven(t, "reported: %v", late[0])
		}
		hs.Get(c, "/held?q=alice")
		ctx := <-kept
		harness.Ended(t, ctx)
		<-ctx.Done()
		if v := ctx.Value("user"); v != "alice" || ctx.Err() == nil {
			t.Errorf("a held context has the value %v and the error %v", v, ctx.Err())
		}
		ctx.Deadline()
		if late := u.Take(); len(late) > 0 {
			gate.Unforgiven(t, "reported: %v", late[0])
		}
		if ctx.Path(); u.Find("RequestCtx.Path") == nil {
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
	peers.OnEngines(t, func(t *testing.T, e gale.Engine) {
		peers.KeepPools(t)
		var kept *gale.RequestCtx
		got := make(chan any, 1)
		ts := harness.Start(t, &gale.Server{
			Engine: e, GuardLifetimes: &gale.LifetimeGuard{Report: gale.LifetimePanic}, Logger: &peers.Log{},
			PanicHandler: func(_ *gale.RequestCtx, v any) { got <- v },
		}, func(ctx *gale.RequestCtx) {
			if kept == nil {
				kept = ctx
				return
			}
			kept.Request.Header.Peek("X-Token")
		})
		c := ts.Dial()
		c.Send(peers.Get("/first"))
		c.Want("GET", 200, "")
		harness.Ended(t, kept)
		c.Send(peers.Get("/second"))
		c.Want("GET", 500, "Internal Server Error")
		v, ok := (<-got).(*gale.LifetimeUse)
		if !ok || v.Path != "/first" {
			t.Errorf("PanicHandler got %v", v)
		}
	})
}

// A guarded object of a pool that a program uses for long doesn't collect the memory of all
// that it had.
func TestGuardedObjectsAreBounded(t *testing.T) {
	g := &gale.LifetimeGuard{}
	u := harness.GuardPools(t, g)
	held := func() int64 { return harness.GuardIn(g).Stats().Held }
	before := held()
	body := strings.Repeat("alice", 8<<10)
	ts := harness.Start(t, &gale.Server{GuardLifetimes: &gale.LifetimeGuard{Every: 1 << 30}}, func(ctx *gale.RequestCtx) { ctx.WriteString(body) })
	req, resp := gale.AcquireRequest(), gale.AcquireResponse()
	c := &gale.HostClient{Addr: "h", Dial: func(string) (net.Conn, error) { return ts.Dial().Conn, nil }}
	a, uri, cookie := gale.AcquireArgs(), gale.AcquireURI(), gale.AcquireCookie()
	for i := range 2000 {
		req.SetRequestURI(fmt.Sprint("http://h/", i))
		req.SetBodyString(body[:i])
		if err := c.Do(req, resp); err != nil {
			t.Fatal(err)
		}
		if string(resp.Body()) != body {
			t.Fatalf("the body has %d bytes", len(resp.Body()))
		}
		if i%100 == 0 {
			resp.SwapBody([]byte(body))
			req.ResetBody()
			a.Set("a", body+body)
			a.Reset()
			uri.SetPath(body + body)
			uri.FullURI()
			uri.Reset()
			cookie.SetValue(body)
			cookie.Reset()
		}
	}
	if n := held() - before; n > 40<<20 {
		t.Errorf("%d bytes are held", n)
	}
	kept := [][]byte{resp.Body(), req.Body(), req.Header.RequestURI()}
	gale.ReleaseRequest(req)
	gale.ReleaseResponse(resp)
	gale.ReleaseArgs(a)
	gale.ReleaseURI(uri)
	gale.ReleaseCookie(cookie)
	if n := held(); n > before {
		t.Errorf("%d bytes are held after the release", n-before)
	}
	for i, b := range kept {
		if peers.HasAlice(b) {
			t.Errorf("what was kept (%d) is still there", i)
		}
	}
	if late := u.Take(); len(late) > 0 {
		gate.Unforgiven(t, "a report: %v", late[0])
	}
}

// blockingValues is the context of a connection whose Value waits, when it is told to.
type blockingValues struct {
	context.Context
	wait atomic.Pointer[func()]
}

func (c *blockingValues) Value(key any) any {
	if wait := c.wait.Swap(nil); wait != nil {
		(*wait)()
	}
	return c.Context.Value(key)
}

// A request may end while package context is asking its context for a value. That is no use
// of it.
func TestValueWhileTheRequestEnds(t *testing.T) {
	peers.EachProtocol(t, func(t *testing.T, way harness.H2Way, major int) {
		values := &blockingValues{Context: context.Background()}
		asked, got := make(chan *gale.RequestCtx, 1), make(chan any)
		kept := make(chan context.Context, 1)
		s, u := harness.Guarded(t, &gale.Server{
			ConnContext: func(context.Context, net.Conn) context.Context { return values },
			Handler: func(ctx *gale.RequestCtx) {
				derived, cancel := context.WithCancel(ctx)
				kept <- derived
				ctx.AfterSend(func(int64, error) { cancel() })
				wait := func() {
					asked <- ctx
					for !door.LoanOf(ctx).(*lifetime.Loan).Over() {
						runtime.Gosched()
					}
				}
				values.wait.Store(&wait)
				go func() { got <- derived.Value("key") }()
				asked <- <-asked
			},
		})
		hs := way.Start(t, s)
		resp, err := hs.Client(major).Get(hs.URL("/"))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if v := <-got; v != nil {
			t.Errorf("the value is %v", v)
		}
		if text := fmt.Sprint(<-kept); !strings.Contains(text, "WithCancel") {
			t.Errorf("the derived context is printed as %q", text)
		}
		if late := u.Take(); len(late) > 0 {
			gate.Unforgiven(t, "a report: %v", late[0])
		}
	})
}

// A body of memory that is unreadable can't be sent. It breaks one response, and the server
// goes on.
func TestRawBodyThatIsUnreadable(t *testing.T) {
	peers.EachProtocol(t, func(t *testing.T, way harness.H2Way, major int) {
		peers.KeepPools(t)
		var old atomic.Pointer[gale.RequestCtx]
		var kept []byte
		s := &gale.Server{GuardLifetimes: &gale.LifetimeGuard{Pages: true, MaxBytes: 64 << 20}, Logger: &peers.Log{}, Handler: func(ctx *gale.RequestCtx) {
			switch n, _ := ctx.QueryArgs().GetUint("raw"); {
			case old.Load() == nil:
				kept = ctx.PostBody()
				old.Store(ctx)
			case n > 0:
				ctx.Response.SetBodyRaw(kept[:n])
			}
		}}
		if !harness.GuardIn(s.GuardLifetimes).HasPages() {
			t.Skip()
		}
		hs := way.Start(t, s)
		resp, err := hs.Client(major).Post(hs.URL("/first"), "text/plain", strings.NewReader(strings.Repeat("a", 300<<10)))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		harness.Gone(t, old.Load(), kept)
		for _, n := range []int{10, 5000, 20 << 10, 200 << 10} {
			if resp, err := hs.Client(major).Get(hs.URL(fmt.Sprint("/?raw=", n))); err == nil {
				b, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err == nil && resp.StatusCode == 200 && len(b) > 0 {
					t.Errorf("%d bytes were sent: %q", n, b[:1])
				}
			}
			resp, err := hs.Client(major).Get(hs.URL("/last"))
			if err != nil || resp.StatusCode != 200 {
				t.Fatalf("after %d bytes the server doesn't serve any more: %v", n, err)
			}
			resp.Body.Close()
		}
	})
}

// A late Read of a kept body stream is reported, but not that of a client's sender: the
// client has revoked the stream at the end of its call.
func TestGuardFindsLateRead(t *testing.T) {
	peers.EachProtocol(t, func(t *testing.T, way harness.H2Way, major int) {
		for path, want := range map[string]int{"/kept": 1, "/revoked": 0} {
			var ctx *gale.RequestCtx
			var kept door.Lent
			s, u := harness.Guarded(t, &gale.Server{StreamRequestBody: true, Handler: func(c *gale.RequestCtx) {
				ctx, kept = c, c.RequestBodyStream().(door.Lent)
				if string(c.Path()) == "/revoked" {
					kept.Revoke(door.Seal{})
				}
			}})
			hs := way.Start(t, s)
			peers.Upload(t, hs.Client(major), hs.URL(path), strings.NewReader("body"))
			harness.Ended(t, ctx)
			if n, err := kept.Read(make([]byte, 10)); n != 0 || fmt.Sprint(err) != streamClosed {
				t.Errorf("%s: read %d bytes and %v", path, n, err)
			}
			if late := u.Take(); len(late) != want {
				t.Errorf("%s: %d reports, want %d: %v", path, len(late), want, late)
			}
		}
	})
}

// streamClosed is the text of the error of a body that is read too late.
const streamClosed = "gale: the request body was closed: it can't be read after the handler has returned"
