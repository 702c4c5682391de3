package gale

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// After Detach, the request belongs to another goroutine and the response to the handler.
// Both grow in memory of the loan: neither gets what the other one has.
func TestGuardedDetachSharesNothing(t *testing.T) {
	eachProtocol(t, func(t *testing.T, way h2Way, major int) {
		done := make(chan error, 1)
		s, u := guarded(t, &Server{Handler: func(ctx *RequestCtx) {
			go func(ctx *RequestCtx) { done <- fillRequest(ctx) }(ctx.Detach())
			for i := range 200 {
				ctx.Response.Header.Set(fmt.Sprint("X-Bob-", i), strings.Repeat("b", 100))
				ctx.WriteString(strings.Repeat("b", 100))
			}
		}})
		hs := way.start(t, s)
		for range 10 {
			resp, err := hs.client(major).Get(hs.url("/?q=alice"))
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if string(body) != strings.Repeat("b", 200*100) {
				t.Errorf("the body is %d bytes with %q", len(body), strings.Trim(string(body), "b"))
			}
			for i := range 200 {
				if v := resp.Header.Get(fmt.Sprint("X-Bob-", i)); v != strings.Repeat("b", 100) {
					t.Fatalf("a header is %q", v)
				}
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		if late := u.take(); len(late) > 0 {
			t.Errorf("a report: %v", late[0])
		}
	})
}

// fillRequest changes the request of a detached context, and looks at what it has.
func fillRequest(ctx *RequestCtx) error {
	for i := range 200 {
		ctx.Request.Header.Set(fmt.Sprint("X-Alice-", i), strings.Repeat("a", 100))
		ctx.QueryArgs().Set(fmt.Sprint("alice", i), strings.Repeat("a", 100))
		ctx.URI().FullURI()
		ctx.Request.AppendBodyString(strings.Repeat("a", 100))
	}
	for i := range 200 {
		if v := ctx.Request.Header.Peek(fmt.Sprint("X-Alice-", i)); string(v) != strings.Repeat("a", 100) {
			return fmt.Errorf("header %d is %q", i, v)
		}
		if v := ctx.QueryArgs().Peek(fmt.Sprint("alice", i)); string(v) != strings.Repeat("a", 100) {
			return fmt.Errorf("argument %d is %q", i, v)
		}
	}
	if v := ctx.Request.Body(); string(v) != strings.Repeat("a", 200*100) {
		return fmt.Errorf("the body is %q", v)
	}
	return nil
}

// Contexts that belong to the program keep their bytes, on pages too. The guard doesn't
// count what it can't end, and its pages stay below their limit.
func TestGuardedContextsThatAreLeft(t *testing.T) {
	eachProtocol(t, func(t *testing.T, way h2Way, major int) {
		const requests = 200
		u := new(uses)
		keepPools(t)
		g := &LifetimeGuard{Pages: true, MaxBytes: 2 << 20, OnUse: u.add} // 64 requests
		kept := make(chan *RequestCtx, requests)
		paths := make(chan []byte, requests)
		s := &Server{GuardLifetimes: g, Logger: &testLog{}, Handler: func(ctx *RequestCtx) {
			paths <- ctx.Path()
			kept <- ctx
			switch string(ctx.QueryArgs().Peek("how")) {
			case "detach":
				ctx.Detach()
			case "panic":
				ctx.Detach()
				panic("on purpose")
			default:
				ctx.TimeoutError("late")
			}
		}}
		hs := way.start(t, s)
		for i := range requests {
			how := []string{"detach", "panic", "timeout"}[i%3]
			resp, err := hs.client(major).Get(hs.url(fmt.Sprintf("/alice/%d?how=%s", i, how)))
			if err != nil {
				t.Fatal(err)
			}
			io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		await(t, "the end of all requests", func() bool { return s.Stats().Lifetimes.Held <= 2<<20 })
		for i := range requests {
			ctx, path := <-kept, <-paths
			if want := fmt.Sprint("/alice/", i); string(path) != want || string(ctx.Path()) != want {
				t.Fatalf("request %d: the path became %q and %q", i, path, ctx.Path())
			}
		}
		if late := u.take(); len(late) > 0 {
			t.Errorf("a report: %v", late[0])
		}
		t.Logf("%+v", s.Stats().Lifetimes)
	})
}

// A guarded object of a pool that a program uses for long doesn't collect the memory of all
// that it had.
func TestGuardedObjectsAreBounded(t *testing.T) {
	u := guardPools(t, &LifetimeGuard{})
	held := func() int64 { return poolGuard.Load().Stats().Held }
	before := held()
	body := strings.Repeat("alice", 8<<10)
	ts := startServer(t, &Server{GuardLifetimes: &LifetimeGuard{Every: 1 << 30}}, func(ctx *RequestCtx) { ctx.WriteString(body) })
	req, resp := AcquireRequest(), AcquireResponse()
	c := &HostClient{Addr: "h", Dial: func(string) (net.Conn, error) { return ts.dial().Conn, nil }}
	a, uri, cookie := AcquireArgs(), AcquireURI(), AcquireCookie()
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
	ReleaseRequest(req)
	ReleaseResponse(resp)
	ReleaseArgs(a)
	ReleaseURI(uri)
	ReleaseCookie(cookie)
	if n := held(); n > before {
		t.Errorf("%d bytes are held after the release", n-before)
	}
	for i, b := range kept {
		if hasAlice(b) {
			t.Errorf("what was kept (%d) is still there", i)
		}
	}
	if late := u.take(); len(late) > 0 {
		t.Errorf("a report: %v", late[0])
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
	eachProtocol(t, func(t *testing.T, way h2Way, major int) {
		values := &blockingValues{Context: context.Background()}
		asked, got := make(chan *RequestCtx, 1), make(chan any)
		kept := make(chan context.Context, 1)
		s, u := guarded(t, &Server{
			ConnContext: func(context.Context, net.Conn) context.Context { return values },
			Handler: func(ctx *RequestCtx) {
				derived, cancel := context.WithCancel(ctx)
				kept <- derived
				ctx.AfterSend(func(int64, error) { cancel() })
				wait := func() {
					asked <- ctx
					for !ctx.loan.Over() {
						runtime.Gosched()
					}
				}
				values.wait.Store(&wait)
				go func() { got <- derived.Value("key") }()
				asked <- <-asked
			},
		})
		hs := way.start(t, s)
		resp, err := hs.client(major).Get(hs.url("/"))
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
		if late := u.take(); len(late) > 0 {
			t.Errorf("a report: %v", late[0])
		}
	})
}

// A release ends the loan even if what it closes panics.
func TestReleaseWithPanic(t *testing.T) {
	for _, pages := range []bool{false, true} {
		guardPools(t, &LifetimeGuard{Pages: pages})
		before := poolGuard.Load().Stats().Held
		release := func(f func()) {
			defer func() { _ = recover() }()
			f()
		}
		req, resp := AcquireRequest(), AcquireResponse()
		req.SetBodyStream(panickingBody{}, -1)
		resp.SetBodyStream(panickingBody{}, -1)
		release(func() { ReleaseRequest(req) })
		release(func() { ReleaseResponse(resp) })
		if !req.loan.Over() || !resp.loan.Over() {
			t.Error("a loan lasts after the release")
		}
		if n := poolGuard.Load().Stats().Held; !pages && n > before {
			t.Errorf("%d bytes are held", n-before)
		}
	}
}

// gone waits until bytes of a guarded request are overwritten or unreadable.
func gone(t *testing.T, ctx *RequestCtx, kept ...[]byte) {
	t.Helper()
	ended(t, ctx)
	await(t, "the end of its memory", func() bool { return !slices.ContainsFunc(kept, ctx.loan.Covers) })
}

type panickingBody struct{ io.Reader }

func (panickingBody) Close() error { panic("on purpose") }

// What OnUse does is no danger to the server: it panics, ends its goroutine, or uses what it
// is told about.
func TestHostileOnUse(t *testing.T) {
	for name, onUse := range map[string]func(ctx *RequestCtx){
		"panic":  func(*RequestCtx) { panic("on purpose") },
		"Goexit": func(*RequestCtx) { runtime.Goexit() },
		"use":    func(ctx *RequestCtx) { ctx.Path(); ctx.Response.Body(); ctx.Request.Header.Peek("X"); _ = ctx.String() },
	} {
		t.Run(name, func(t *testing.T) {
			eachProtocol(t, func(t *testing.T, way h2Way, major int) {
				for _, pages := range []bool{false, true} {
					keepPools(t)
					var old atomic.Pointer[RequestCtx]
					var kept []byte
					var calls atomic.Int64
					g := &LifetimeGuard{Pages: pages, MaxBytes: 4 << 20, OnUse: func(*LifetimeUse) { calls.Add(1); onUse(old.Load()) }}
					s := &Server{GuardLifetimes: g, Logger: &testLog{}, Handler: func(ctx *RequestCtx) {
						switch {
						case old.Load() == nil:
							kept = ctx.Path()
							old.Store(ctx)
						case pages && len(ctx.QueryArgs().Peek("raw")) > 0:
							ctx.SetBody(kept)
						case len(ctx.QueryArgs().Peek("late")) > 0:
							old.Load().Request.Header.Peek("X-Token")
						}
					}}
					hs := way.start(t, s)
					ask := func(path string) {
						resp, err := hs.client(major).Get(hs.url(path))
						if err == nil {
							io.ReadAll(resp.Body)
							resp.Body.Close()
						}
					}
					ask("/first")
					gone(t, old.Load(), kept)
					for range 3 {
						ask("/a?late=1")
						ask("/b?raw=1")
					}
					resp, err := hs.client(major).Get(hs.url("/last"))
					if err != nil || resp.StatusCode != 200 {
						t.Errorf("pages %v: the server doesn't serve any more: %v", pages, err)
					} else {
						resp.Body.Close()
					}
					if calls.Load() < 3 {
						t.Errorf("pages %v: OnUse was called %d times", pages, calls.Load())
					}
				}
			})
		})
	}
}

// A body of memory that is unreadable can't be sent. It breaks one response, and the server
// goes on.
func TestRawBodyThatIsUnreadable(t *testing.T) {
	eachProtocol(t, func(t *testing.T, way h2Way, major int) {
		keepPools(t)
		var old atomic.Pointer[RequestCtx]
		var kept []byte
		s := &Server{GuardLifetimes: &LifetimeGuard{Pages: true, MaxBytes: 64 << 20}, Logger: &testLog{}, Handler: func(ctx *RequestCtx) {
			switch n, _ := ctx.QueryArgs().GetUint("raw"); {
			case old.Load() == nil:
				kept = ctx.PostBody()
				old.Store(ctx)
			case n > 0:
				ctx.Response.SetBodyRaw(kept[:n])
			}
		}}
		if !s.GuardLifetimes.guard().HasPages() {
			t.Skip()
		}
		hs := way.start(t, s)
		resp, err := hs.client(major).Post(hs.url("/first"), "text/plain", strings.NewReader(strings.Repeat("a", 300<<10)))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		gone(t, old.Load(), kept)
		for _, n := range []int{10, 5000, 20 << 10, 200 << 10} {
			if resp, err := hs.client(major).Get(hs.url(fmt.Sprint("/?raw=", n))); err == nil {
				b, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err == nil && resp.StatusCode == 200 && len(b) > 0 {
					t.Errorf("%d bytes were sent: %q", n, b[:1])
				}
			}
			resp, err := hs.client(major).Get(hs.url("/last"))
			if err != nil || resp.StatusCode != 200 {
				t.Fatalf("after %d bytes the server doesn't serve any more: %v", n, err)
			}
			resp.Body.Close()
		}
	})
}

// However requests end, their pages come back: many more requests than there are pages for
// leave none of them on other memory.
func TestGuardEndsEachLoan(t *testing.T) {
	const requests = 150 // of each kind, each with a page of 128
	kinds := map[string]func(ctx *RequestCtx){
		"plain":  func(ctx *RequestCtx) { ctx.WriteString("a") },
		"stream": func(ctx *RequestCtx) { ctx.SetBodyStream(strings.NewReader("alice"), -1) },
		"broken": func(ctx *RequestCtx) { ctx.SetBodyStream(io.MultiReader(strings.NewReader("a"), brokenBody{}), -1) },
		"writer": func(ctx *RequestCtx) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("a"); w.Flush() })
		},
		"writer panics": func(ctx *RequestCtx) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) { w.WriteString("a"); w.Flush(); panic("on purpose") })
		},
		"flush":           func(ctx *RequestCtx) { ctx.WriteString("a"); ctx.Flush(); ctx.WriteString("b") },
		"flush and panic": func(ctx *RequestCtx) { ctx.WriteString("a"); ctx.Flush(); panic("on purpose") },
		"panic":           func(*RequestCtx) { panic("on purpose") },
		"abort":           func(*RequestCtx) { panic(ErrAbortHandler) },
		"Goexit":          func(*RequestCtx) { runtime.Goexit() },
		"TimeoutHandler":  TimeoutHandler(func(ctx *RequestCtx) { ctx.WriteString("a") }, time.Minute, ""),
		"TimeoutHandler and panic": TimeoutHandler(func(ctx *RequestCtx) {
			ctx.WriteString("a")
			panic("on purpose")
		}, time.Minute, ""),
		"held":      func(ctx *RequestCtx) { ctx.Done(); ctx.WriteString("a") },
		"Hijack":    func(ctx *RequestCtx) { ctx.Hijack(func(net.Conn) {}) },
		"body":      func(ctx *RequestCtx) { ctx.Write(ctx.PostBody()) },
		"closer":    func(ctx *RequestCtx) { ctx.SetUserValue("a", brokenCloser{}) },
		"AfterSend": func(ctx *RequestCtx) { ctx.AfterSend(func(int64, error) { panic("on purpose") }) },
	}

	eachProtocol(t, func(t *testing.T, way h2Way, major int) {
		keepPools(t)
		for _, stream := range []bool{false, true} {
			s := &Server{
				GuardLifetimes: &LifetimeGuard{Pages: true, MaxBytes: 4 << 20}, Logger: &testLog{}, StreamRequestBody: stream,
				Handler: func(ctx *RequestCtx) { kinds[string(ctx.QueryArgs().Peek("kind"))](ctx) },
			}
			hs := way.start(t, s)
			client := hs.client(major)
			before := s.Stats().Lifetimes.Unpaged
			for kind := range kinds {
				for i := range requests {
					ctx, cancel := context.WithCancel(t.Context())
					var body io.Reader = strings.NewReader("alice")
					if i%10 == 9 { // the client leaves
						body = io.MultiReader(strings.NewReader("alice"), cancelingBody(cancel))
					}
					req, _ := http.NewRequestWithContext(ctx, "POST", hs.url("/?kind="+url.QueryEscape(kind)), body)
					if resp, err := client.Do(req); err == nil {
						io.ReadAll(resp.Body)
						resp.Body.Close()
					}
					cancel()
				}
				if n := s.Stats().Lifetimes; n.Unpaged != before {
					t.Errorf("%s: %d requests had no pages: %+v", kind, n.Unpaged-before, n)
					before = n.Unpaged
				}
			}
		}
	})
}

type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { panic("on purpose") }

// cancelingBody is a body that cancels its request.
type cancelingBody func()

func (cancel cancelingBody) Read([]byte) (int, error) {
	cancel()
	return 0, io.ErrUnexpectedEOF
}

// A client that gives up a call doesn't use the request and the response after that: the
// caller may release them at once.
func TestGuardedClientGivesUp(t *testing.T) {
	for _, pages := range []bool{false, true} {
		u := guardPools(t, &LifetimeGuard{Pages: pages})
		stop := make(chan struct{})
		ts := startServer(t, &Server{GuardLifetimes: &LifetimeGuard{Every: 1 << 30}}, func(ctx *RequestCtx) {
			if len(ctx.PostBody()) > 0 {
				<-stop
			}
			ctx.Redirect("/a", 302)
		})
		dial := func(string) (net.Conn, error) { return ts.dial().Conn, nil }
		hc := &HostClient{Addr: "h", Dial: dial, StreamResponseBody: pages}
		pipeline := &PipelineClient{Addr: "h", Dial: dial}
		client := &Client{Dial: dial}
		for name, do := range map[string]func(req *Request, resp *Response) error{
			"HostClient.DoTimeout":     func(req *Request, resp *Response) error { return hc.DoTimeout(req, resp, time.Millisecond) },
			"PipelineClient.DoTimeout": func(req *Request, resp *Response) error { return pipeline.DoTimeout(req, resp, time.Millisecond) },
			"Client.DoTimeout":         func(req *Request, resp *Response) error { return client.DoTimeout(req, resp, time.Millisecond) },
			"LBClient": func(req *Request, resp *Response) error {
				return (&LBClient{Clients: []BalancingClient{hc}, Timeout: time.Millisecond}).Do(req, resp)
			},
			"Client.DoRedirects": func(req *Request, resp *Response) error { req.ResetBody(); return client.DoRedirects(req, resp, 3) },
			"without a response": func(req *Request, _ *Response) error { req.ResetBody(); return client.Do(req, nil) },
			"Client.DoContext, cancelled": func(req *Request, resp *Response) error {
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				defer cancel()
				return client.DoContext(ctx, req, resp)
			},
		} {
			for range 30 {
				req, resp := AcquireRequest(), AcquireResponse()
				req.SetRequestURI("http://h/?q=alice")
				req.Header.SetMethod("POST")
				req.SetBodyString(strings.Repeat("alice", 1000))
				if err := do(req, resp); err == nil && strings.Contains(name, "Timeout") {
					t.Errorf("%s: no error", name)
				}
				ReleaseRequest(req)
				ReleaseResponse(resp)
			}
			if late := u.take(); len(late) > 0 {
				t.Errorf("%s: a report: %v", name, late[0])
			}
		}
		close(stop)
	}
}
