package server

import (
	"strings"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/tests/harness"
	"github.com/galehttp/gale/tests/harness/gate"
	"github.com/galehttp/gale/tests/harness/peers"
)

// Objects of pools are emptied when they are released, and neither a use after that nor a
// second release goes unnoticed.
func TestGuardPools(t *testing.T) {
	u := harness.GuardPools(t, &gale.LifetimeGuard{})
	for _, tt := range []struct {
		name  string
		setUp func() (release func(), use func() string, kept []byte)
	}{
		{"ReleaseRequest", func() (func(), func() string, []byte) {
			req := gale.AcquireRequest()
			req.SetRequestURI("http://h/alice")
			req.SetBodyString("alice")
			return func() { gale.ReleaseRequest(req) }, func() string { return string(req.Body()) + string(req.Header.RequestURI()) }, req.Body()
		}},
		{"ReleaseResponse", func() (func(), func() string, []byte) {
			resp := gale.AcquireResponse()
			resp.Header.Set("X-User", "alice")
			return func() { gale.ReleaseResponse(resp) }, func() string { return string(resp.Header.Peek("X-User")) }, resp.Header.Peek("X-User")
		}},
		{"ReleaseArgs", func() (func(), func() string, []byte) {
			a := gale.AcquireArgs()
			a.Set("user", "alice")
			return func() { gale.ReleaseArgs(a) }, func() string { return string(a.QueryString()) }, a.Peek("user")
		}},
		{"ReleaseURI", func() (func(), func() string, []byte) {
			uri := gale.AcquireURI()
			uri.SetPath("/alice")
			return func() { gale.ReleaseURI(uri) }, func() string { return string(uri.Path()) }, uri.Path()
		}},
		{"ReleaseCookie", func() (func(), func() string, []byte) {
			c := gale.AcquireCookie()
			c.SetValue("alice")
			return func() { gale.ReleaseCookie(c) }, func() string { return string(c.Value()) }, c.Value()
		}},
	} {
		release, use, kept := tt.setUp()
		if got := use(); !strings.Contains(got, "alice") {
			t.Errorf("%s: before the release it has %q", tt.name, got)
		}
		release()
		if late := u.Take(); len(late) > 0 {
			gate.Unforgiven(t, "%s: a report before the misuse: %v", tt.name, late[0])
		}
		if strings.Contains(string(kept), "alice") {
			t.Errorf("%s: bytes that were kept are still %q", tt.name, kept)
		}
		if got := use(); strings.Contains(got, "alice") {
			t.Errorf("%s: after the release it has %q", tt.name, got)
		}
		if late := u.Take(); len(late) == 0 || !strings.Contains(late[0].Line(), " used after "+tt.name) || !strings.Contains(late[0].Lent, "TestGuardPools") {
			t.Errorf("%s: a use after it led to %v", tt.name, late)
		}
		release()
		if late := u.Take(); len(late) != 1 || !strings.Contains(late[0].Line(), "released twice by "+tt.name) {
			t.Errorf("%s: a second one led to %v", tt.name, late)
		}
	}
}

// A release of something that doesn't belong to a pool empties it, and doesn't end its
// request. In unguarded programs it would get into the pool.
func TestReleaseOfRequestOfServer(t *testing.T) {
	s, u := harness.Guarded(t, &gale.Server{})
	ts := harness.Start(t, s, func(ctx *gale.RequestCtx) {
		gale.ReleaseRequest(&ctx.Request)
		if n := len(ctx.Request.Header.Peek("Host")); n > 0 {
			t.Errorf("Host still has %d bytes", n)
		}
		ctx.SetBodyString("fine")
	})
	c := ts.Dial()
	for range 2 {
		c.Send(peers.Get("/"))
		c.Want("GET", 200, "fine")
	}
	if late := u.Take(); len(late) > 0 {
		gate.Unforgiven(t, "a report: %v", late[0])
	}
}
