package gale

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
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
