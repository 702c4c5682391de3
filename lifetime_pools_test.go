package gale

import (
	"strings"
	"testing"
)

// guardPools guards the pools for a test, and returns what is reported.
func guardPools(t *testing.T, g *LifetimeGuard) *uses {
	u := new(uses)
	g.OnUse = u.add
	keepPools(t)
	GuardPools(g)
	return u
}

// Objects of pools are emptied when they are released, and neither a use after that nor a
// second release goes unnoticed.
func TestGuardPools(t *testing.T) {
	u := guardPools(t, &LifetimeGuard{})
	for _, tt := range []struct {
		name  string
		setUp func() (release func(), use func() string, kept []byte)
	}{
		{"ReleaseRequest", func() (func(), func() string, []byte) {
			req := AcquireRequest()
			req.SetRequestURI("http://h/alice")
			req.SetBodyString("alice")
			return func() { ReleaseRequest(req) }, func() string { return string(req.Body()) + string(req.Header.RequestURI()) }, req.Body()
		}},
		{"ReleaseResponse", func() (func(), func() string, []byte) {
			resp := AcquireResponse()
			resp.Header.Set("X-User", "alice")
			return func() { ReleaseResponse(resp) }, func() string { return string(resp.Header.Peek("X-User")) }, resp.Header.Peek("X-User")
		}},
		{"ReleaseArgs", func() (func(), func() string, []byte) {
			a := AcquireArgs()
			a.Set("user", "alice")
			return func() { ReleaseArgs(a) }, func() string { return string(a.QueryString()) }, a.Peek("user")
		}},
		{"ReleaseURI", func() (func(), func() string, []byte) {
			uri := AcquireURI()
			uri.SetPath("/alice")
			return func() { ReleaseURI(uri) }, func() string { return string(uri.Path()) }, uri.Path()
		}},
		{"ReleaseCookie", func() (func(), func() string, []byte) {
			c := AcquireCookie()
			c.SetValue("alice")
			return func() { ReleaseCookie(c) }, func() string { return string(c.Value()) }, c.Value()
		}},
	} {
		release, use, kept := tt.setUp()
		if got := use(); !strings.Contains(got, "alice") {
			t.Errorf("%s: before the release it has %q", tt.name, got)
		}
		release()
		if late := u.take(); len(late) > 0 {
			t.Errorf("%s: a report before the misuse: %v", tt.name, late[0])
		}
		if strings.Contains(string(kept), "alice") {
			t.Errorf("%s: bytes that were kept are still %q", tt.name, kept)
		}
		if got := use(); strings.Contains(got, "alice") {
			t.Errorf("%s: after the release it has %q", tt.name, got)
		}
		if late := u.take(); len(late) == 0 || !strings.Contains(late[0].Line(), " used after "+tt.name) || !strings.Contains(late[0].Lent, "TestGuardPools") {
			t.Errorf("%s: a use after it led to %v", tt.name, late)
		}
		release()
		if late := u.take(); len(late) != 1 || !strings.Contains(late[0].Line(), "released twice by "+tt.name) {
			t.Errorf("%s: a second one led to %v", tt.name, late)
		}
	}
}

// A release of something that doesn't belong to a pool empties it, and doesn't end its
// request. In unguarded programs it would get into the pool.
func TestReleaseOfRequestOfServer(t *testing.T) {
	s, u := guarded(t, &Server{})
	ts := startServer(t, s, func(ctx *RequestCtx) {
		ReleaseRequest(&ctx.Request)
		if n := len(ctx.Request.Header.Peek("Host")); n > 0 {
			t.Errorf("Host still has %d bytes", n)
		}
		ctx.SetBodyString("fine")
	})
	c := ts.dial()
	for range 2 {
		c.send(get("/"))
		c.want("GET", 200, "fine")
	}
	if late := u.take(); len(late) > 0 {
		t.Errorf("a report: %v", late[0])
	}
}

// A server with a guard guards the pools, unless something else does.
func TestServerGuardsPools(t *testing.T) {
	keepPools(t)
	poolGuard.Store(nil)
	first, second := &LifetimeGuard{}, &LifetimeGuard{}
	for _, g := range []*LifetimeGuard{first, second} {
		startServer(t, &Server{GuardLifetimes: g}, func(*RequestCtx) {}).dial()
		await(t, "the server to begin", func() bool { return poolGuard.Load() == first.guard() })
	}
	GuardPools(second)
	if poolGuard.Load() != second.guard() {
		t.Error("GuardPools had no effect")
	}
	if GuardPools(nil); poolGuard.Load() != nil {
		t.Error("GuardPools(nil) had no effect")
	}
	if req := AcquireRequest(); req.loan != nil {
		t.Error("a request is guarded")
	}
}
