package galetest_test

import (
	"fmt"
	"testing"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galetest"
	"github.com/galehttp/gale/router"
)

func describe(ctx *gale.RequestCtx) {
	fmt.Fprintf(ctx, "%s id=%s path=%s", ctx.Pattern(), ctx.PathValue("id"), ctx.Path())
}

// A handler that a router calls, and one that a test calls as if a router did, see the same.
func TestRoutes(t *testing.T) {
	const target, want = "/users/a%2Fb", "/users/{id} id=a/b path=/users/a%2Fb"
	r := router.New()
	r.GET("/users/{id}", describe)
	ctx := galetest.NewContext("GET", target, nil)
	res := galetest.Record(r.Handler(), ctx)
	if got := string(res.Response.Body()); got != want {
		t.Errorf("through the router: %q, want %q", got, want)
	}
	if got := ctx.Pattern() + ctx.PathValue("id"); got != "/users/{id}a/b" {
		t.Errorf("after Record the context says %q", got)
	}
	for _, valueFirst := range []bool{true, false} {
		ctx = galetest.NewContext("GET", target, nil)
		if valueFirst {
			ctx.SetPathValue("id", "a/b")
		}
		galetest.SetPattern(ctx, "/users/{id}")
		if !valueFirst {
			ctx.SetPathValue("id", "a/b")
		}
		if got := string(galetest.Record(describe, ctx).Response.Body()); got != want {
			t.Errorf("without the router: %q, want %q", got, want)
		}
	}
	galetest.SetPattern(ctx, "/else")
	galetest.Record(r.Handler(), ctx)
	if ctx.Pattern() != "/users/{id}" {
		t.Errorf("a router after SetPattern: %q", ctx.Pattern())
	}
	s := &gale.Server{}
	if err := r.Attach(s); err != nil {
		t.Fatalf("Attach: %v", err)
	}
	ctx = galetest.NewContext("GET", "/users/7", nil)
	s.RequestStarted(ctx)
	galetest.SetPattern(ctx, "/else")
	if s.Handler(ctx); ctx.Pattern() != "/users/{id}" || ctx.PathValue("id") != "7" {
		t.Errorf("a router that had found its route before SetPattern: %q, %q", ctx.Pattern(), ctx.PathValue("id"))
	}
}

func ExampleSetPattern() {
	ctx := galetest.NewContext("GET", "/users/7", nil)
	galetest.SetPattern(ctx, "/users/{id}")
	ctx.SetPathValue("id", "7")
	res := galetest.Record(func(ctx *gale.RequestCtx) {
		fmt.Fprintf(ctx, "user %s of %s", ctx.PathValue("id"), ctx.Pattern())
	}, ctx)
	fmt.Printf("%s\n", res.Response.Body())
	// Output: user 7 of /users/{id}
}
