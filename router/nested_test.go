package router_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galetest"
	"github.com/galehttp/gale/internal/door"
	"github.com/galehttp/gale/router"
)

// TestSameName proves that of values with the same name that of the inner router counts, and that
// SetPathValue replaces what was captured before, not what is captured afterwards.
func TestSameName(t *testing.T) {
	set := func(value string) router.Middleware {
		return func(next gale.RequestHandler) gale.RequestHandler {
			return func(ctx *gale.RequestCtx) { ctx.SetPathValue("x", value); next(ctx) }
		}
	}
	in := router.New()
	in.GET("/{x}", show("x"))
	in.GET("/deep/{y}", show("x", "y"))
	in.Group("", set("set")).GET("/set/{x}", show("x"))
	r := router.New()
	r.Mount("/t/{x}", in.Handler())
	r.Group("", set("set")).Mount("/s/{x}", in.Handler())
	r.GET("/{x}", show("x"))
	r.GET("/none", show("x"))
	for target, want := range map[string]string{
		"/t/outer/inner":  `/t/{x}/{x} /inner x="inner"`,
		"/t/outer/deep/1": `/t/{x}/deep/{y} /deep/1 x="outer" y="1"`,
		"/t/outer/set/1":  `/t/{x}/set/{x} /set/1 x="set"`,
		"/s/outer/inner":  `/s/{x}/{x} /inner x="inner"`,
		"/s/outer/deep/1": `/s/{x}/deep/{y} /deep/1 x="set" y="1"`,
		"/captured":       `/{x} /captured x="captured"`,
		"/none":           `/none /none x="before"`,
	} {
		ctx := request("GET", "", target)
		ctx.SetPathValue("x", "before")
		if r.Handler()(ctx); answer(ctx) != "200 "+want {
			t.Errorf("%s: got %s, want %s", target, answer(ctx), want)
		}
	}
}

// TestInsideRoute proves that a handler or middleware that calls another router finds its own route as it
// was, and so do a mount and what the router answers by itself.
func TestInsideRoute(t *testing.T) {
	var r *router.Router
	deep := router.New()
	deep.GET("/{z...}", func(ctx *gale.RequestCtx) { ctx.SetPathValue("x", "set inside") })
	other := router.New()
	other.Mount("/{x}", deep.Handler())
	other.GET("/{x}/panic", func(*gale.RequestCtx) { panic("as it should") })
	other.GET("/{x}/late", gale.TimeoutHandler(deep.Handler(), time.Minute, "late"))
	nothing := router.New()
	nothing.NotFound = deep.Handler()
	elsewhere := func(ctx *gale.RequestCtx) { // the same router, with another path
		if ctx.UserValue("inside") != nil {
			return
		}
		path := string(ctx.URI().PathOriginal())
		ctx.SetUserValue("inside", true)
		ctx.URI().SetPath("/in/elsewhere/raw/secret")
		r.Handler()(ctx)
		ctx.URI().SetPath(path)
		ctx.RemoveUserValue("inside")
	}
	path := func(to string, h gale.RequestHandler) gale.RequestHandler {
		return func(ctx *gale.RequestCtx) {
			path := string(ctx.URI().PathOriginal())
			ctx.URI().SetPath(to)
			defer func() { _ = recover(); ctx.URI().SetPath(path) }()
			h(ctx)
		}
	}
	for name, probe := range map[string]gale.RequestHandler{
		"none":        func(*gale.RequestCtx) {},
		"mount":       other.Handler(),
		"twice":       func(ctx *gale.RequestCtx) { other.Handler()(ctx); deep.Handler()(ctx) },
		"panic":       path("/elsewhere/panic", other.Handler()),
		"timeout":     path("/elsewhere/late", other.Handler()),
		"nothing":     router.New().Handler(),
		"not found":   nothing.Handler(),
		"same router": elsewhere,
	} {
		probing := func(next gale.RequestHandler) gale.RequestHandler {
			return func(ctx *gale.RequestCtx) {
				found := ctx.Pattern() != ""
				before := ctx.Pattern() + " " + ctx.PathValue("x")
				probe(ctx)
				ctx.Response.Reset()
				if after := ctx.Pattern() + " " + ctx.PathValue("x"); found && after != before {
					t.Errorf("%s: the route is %q, and was %q", name, after, before)
				}
				next(ctx)
			}
		}
		in := router.New()
		in.Use(probing)
		in.GET("/y/{y}", probing(show("x", "y")))
		in.GET("/tree/", show("x"))
		in.Mount("/raw", show("x"))
		r = router.New()
		r.Use(probing)
		r.GET("/x/{x}", probing(show("x")))
		r.GET("/tree/", show())
		r.Mount("/in/{x}", in.Handler())
		for target, want := range map[string]string{
			"/x/1":          `200 /x/{x} /x/1 x="1"`,
			"/tree":         `307 /tree/`,
			"/in/1/y/2":     `200 /in/{x}/y/{y} /y/2 x="1" y="2"`,
			"/in/1/raw/a/b": `200 /in/{x}/raw/ /a/b x="1"`,
			"/in/1/tree":    `307 /in/1/tree/`,
			"/in/1/none/1":  `404 Not Found`,
		} {
			ctx := serve(r, "GET", target)
			if got := answer(ctx); got != want {
				t.Errorf("%s, %s:\n got %s\nwant %s", name, target, got, want)
			}
			if path := string(ctx.Path()); path != target {
				t.Errorf("%s, %s: the path is %s afterwards", name, target, path)
			}
		}
	}
}

// TestMountOnceMore proves that a mount never has its prefix in the path: also not if a middleware calls
// the next handler twice, with another context, or with a path that another route matches.
func TestMountOnceMore(t *testing.T) {
	in := router.New()
	in.Mount("/{y}/raw", show("x", "y"))
	for name, row := range map[string]struct {
		call func(ctx *gale.RequestCtx, next gale.RequestHandler)
		want string
	}{
		"twice": {func(ctx *gale.RequestCtx, next gale.RequestHandler) { next(ctx); ctx.Response.Reset(); next(ctx) },
			`200 /in/{x}/{y}/raw/ /a/b x="1" y="2"`},
		"context": {func(ctx *gale.RequestCtx, next gale.RequestHandler) {
			second := request("GET", "", string(ctx.URI().PathOriginal()))
			next(second)
			ctx.SetBody(second.Response.Body())
		}, `200 /in/{x}/{y}/raw/ /a/b x="1" y="2"`},
		"other path": {func(ctx *gale.RequestCtx, next gale.RequestHandler) {
			next(request("GET", "", "/other"))
			second := request("GET", "", "/other")
			next(second)
			ctx.SetStatusCode(second.Response.StatusCode())
			ctx.SetBody(second.Response.Body())
		}, `404 Not Found`},
		"path set": {func(ctx *gale.RequestCtx, next gale.RequestHandler) { ctx.URI().SetPath("/in/3/4/raw/c"); next(ctx) },
			`200 /in/{x}/{y}/raw/ /a/b x="1" y="2"`},
	} {
		r := router.New()
		r.GET("/{other}", show())
		r.Group("", func(next gale.RequestHandler) gale.RequestHandler {
			return func(ctx *gale.RequestCtx) { row.call(ctx, next) }
		}).Mount("/in/{x}", in.Handler())
		if got := answer(serve(r, "GET", "/in/1/2/raw/a/b")); got != row.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, row.want)
		}
	}
}

// TestNotFoundInMount proves that a router that answers for another one in a mount is in that mount.
func TestNotFoundInMount(t *testing.T) {
	other := router.New()
	other.GET("/tree/", show())
	other.GET("/v/{x}", show("x", "m"))
	first := router.New()
	first.NotFound = other.Handler()
	r := router.New()
	r.Mount("/m/{m}", first.Handler())
	r.NotFound = other.Handler()
	for target, want := range map[string]string{
		"/m/1/tree":   "307 /m/1/tree/",
		"/m/1/v/2":    `200 /m/{m}/v/{x} /v/2 x="2" m="1"`,
		"/m/1/v//2?q": "307 /m/1/v/2?q",
		"/tree":       "307 /tree/",
		"/v/2":        `200 /v/{x} /v/2 x="2" UserValue is %!q(<nil>) m=""`,
	} {
		ctx := serve(r, "GET", target)
		if got := answer(ctx); got != want {
			t.Errorf("%s: got %s, want %s", target, got, want)
		}
		if ctx.Response.StatusCode() == 200 && !strings.HasPrefix(string(ctx.Response.Body()), ctx.Pattern()+" ") {
			t.Errorf("%s: the pattern is %s afterwards", target, ctx.Pattern())
		}
	}
}

// TestMountInItself proves that a router that is mounted in itself answers to few prefixes only.
func TestMountInItself(t *testing.T) {
	r := router.New()
	r.GET("/x", func(ctx *gale.RequestCtx) { fmt.Fprint(ctx, ctx.Path()) })
	r.Mount("/a", r.Handler())
	for n, want := range map[int]int{0: 200, 1: 200, 16: 200, 17: 404, 1000: 404} {
		ctx := serve(r, "GET", strings.Repeat("/a", n)+"/x")
		if got := ctx.Response.StatusCode(); got != want {
			t.Errorf("%d prefixes: status %d, want %d", n, got, want)
		}
		if path := string(ctx.Path()); path != strings.Repeat("/a", n)+"/x" {
			t.Errorf("%d prefixes: the path is %s afterwards", n, path)
		}
	}
}

// TestManyRoutersInHandler proves that a handler may call as many routers as it likes, one after the other: what they
// have captured is not kept, the values of the handler's route are, and so are those that it has set.
func TestManyRoutersInHandler(t *testing.T) {
	deep, in, r := router.New(), router.New(), router.New()
	deep.GET("/{z...}", func(ctx *gale.RequestCtx) { ctx.SetPathValue("x", "inside") })
	in.Mount("/{y}", deep.Handler())
	in.NotFound = deep.Handler()
	r.GET("/{x}/{rest...}", func(ctx *gale.RequestCtx) {
		x := ctx.PeekPathValue("x")
		ctx.SetPathValue("set", "by the handler")
		set := ctx.PeekPathValue("set")
		for i, h := range []gale.RequestHandler{in.Handler(), deep.Handler(), router.New().Handler()} {
			for range 10000 {
				h(ctx)
				ctx.Response.Reset()
			}
			if got := ctx.PathValue("x") + " " + ctx.PathValue("set"); got != "1 by the handler" || string(x)+" "+string(set) != got {
				t.Errorf("router %d: the values are %q, and before they were read as %q and %q", i, got, x, set)
			}
			if size := cap(door.RouteOf(ctx).Text); size > 1000 {
				t.Errorf("router %d: %d bytes are kept", i, size)
			}
		}
	})
	if ctx := serve(r, "GET", "/1/2/3%2F4"); ctx.Response.StatusCode() != 200 {
		t.Error("got", answer(ctx))
	}
}

// TestManyRoutersLate proves that a goroutine that has a request may call as many routers as it likes, one after the
// other: they don't count as if each were inside of the one before.
func TestManyRoutersLate(t *testing.T) {
	inner, r := router.New(), router.New()
	inner.GET("/{y}", show("x", "y"))
	r.GET("/{x}", func(ctx *gale.RequestCtx) {})
	r.Mount("/in/{x}", inner.Handler())
	ctx := request("GET", "", "/1")
	ctx.TimeoutError("late") // as if a handler that is late went on with it
	for range 40 {
		x := ctx.PeekPathValue("x")
		before := string(x)
		ctx.URI().SetPath("/2")
		if r.Handler()(ctx); ctx.PathValue("x") != "2" || string(x) != before {
			t.Errorf("got %q, and %q has become %q", ctx.PathValue("x"), before, x)
		}
		ctx.URI().SetPath("/1")
		r.Handler()(ctx)
	}
	ctx.URI().SetPath("/in/3/4")
	if r.Handler()(ctx); answer(ctx) != `200 /in/{x}/{y} /4 x="3" y="4"` {
		t.Error("got", answer(ctx))
	}
}

// TestInsideRouteLate proves that a router that a handler calls leaves the route alone when the program has
// the request, and that the next request sees nothing of it.
func TestInsideRouteLate(t *testing.T) {
	release, late := make(chan struct{}), make(chan string, 2)
	tell := func(ctx *gale.RequestCtx) { <-release; late <- ctx.Pattern() + " " + ctx.PathValue("x") }
	other := router.New()
	other.GET("/detach/{x}", func(ctx *gale.RequestCtx) { go tell(ctx.Detach()) })
	other.GET("/timeout/{x}", gale.TimeoutHandler(tell, time.Millisecond, "late"))
	r := router.New()
	r.Handle("/", other.Handler())
	r.GET("/now", show("x"))
	srv := galetest.NewServer(r.Handler())
	defer srv.Close()
	for _, path := range []string{"/detach/1", "/now", "/timeout/1", "/now"} {
		var req gale.Request
		var resp gale.Response
		req.SetRequestURI("http://" + galetest.Host + path)
		if err := srv.Client().Do(&req, &resp); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if got := string(resp.Body()); path == "/now" && got != `/now /now UserValue is %!q(<nil>) x=""` {
			t.Errorf("afterwards: %s", got)
		}
	}
	close(release)
	if got := [2]string{<-late, <-late}; got != [2]string{"/detach/{x} 1", "/timeout/{x} 1"} && got != [2]string{"/timeout/{x} 1", "/detach/{x} 1"} {
		t.Errorf("late goroutines saw %q", got)
	}
}
