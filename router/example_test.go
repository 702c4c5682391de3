package router_test

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/galetest"
	"github.com/galehttp/gale/router"
)

// ask calls h with a request, and prints the answer.
func ask(h gale.RequestHandler, method, target string) {
	ctx := galetest.NewContext(method, target, nil)
	resp := galetest.Record(h, ctx).Response
	fmt.Printf("%s %s: %d %s\n", method, target, resp.StatusCode(), resp.Body())
}

func Example() {
	r := router.New()
	r.GET("/users/{id}", func(ctx *gale.RequestCtx) {
		fmt.Fprintf(ctx, "user %s of %s", ctx.PathValue("id"), ctx.Pattern())
	})
	r.GET("/users/{id}.json", func(ctx *gale.RequestCtx) {
		fmt.Fprintf(ctx, `{"id":%q}`, ctx.PathValue("id"))
	})
	r.GET("/files/{path...}", func(ctx *gale.RequestCtx) {
		fmt.Fprintf(ctx, "file %s", ctx.PathValue("path"))
	})
	ask(r.Handler(), "GET", "/users/7")
	ask(r.Handler(), "GET", "/users/7.json")
	ask(r.Handler(), "GET", "/files/a/b.txt")
	ask(r.Handler(), "POST", "/users/7")
	// Output:
	// GET /users/7: 200 user 7 of /users/{id}
	// GET /users/7.json: 200 {"id":"7"}
	// GET /files/a/b.txt: 200 file a/b.txt
	// POST /users/7: 405 Method Not Allowed
}

// A group has a prefix, and middlewares that run for its routes only.
func ExampleRouter_Group() {
	r := router.New()
	keyed := func(next gale.RequestHandler) gale.RequestHandler {
		return func(ctx *gale.RequestCtx) {
			if !ctx.QueryArgs().Has("key") {
				ctx.Fail(gale.StatusUnauthorized, nil)
				return
			}
			next(ctx)
		}
	}
	r.GET("/", func(ctx *gale.RequestCtx) { ctx.WriteString("home") })
	api := r.Group("/v1", keyed)
	api.GET("/items", func(ctx *gale.RequestCtx) { ctx.WriteString("items") })
	ask(r.Handler(), "GET", "/")
	ask(r.Handler(), "GET", "/v1/items")
	ask(r.Handler(), "GET", "/v1/items?key=x")
	// Output:
	// GET /: 200 home
	// GET /v1/items: 401 Unauthorized
	// GET /v1/items?key=x: 200 items
}

// Mount gives all requests below a prefix to a handler, which finds them without the prefix.
func ExampleRouter_Mount() {
	shop := router.New()
	shop.GET("/books/{isbn}", func(ctx *gale.RequestCtx) {
		fmt.Fprintf(ctx, "%s in %s, %s", ctx.PathValue("isbn"), ctx.Path(), ctx.Pattern())
	})
	r := router.New()
	r.Mount("/shop", shop.Handler())
	ask(r.Handler(), "GET", "/shop/books/12")
	// Output:
	// GET /shop/books/12: 200 12 in /books/12, /shop/books/{isbn}
}

// Handlers that return an error: ErrorStatus finds the status in it.
func ExampleErr() {
	r := router.New()
	r.GET("/users/{id}", router.Err(func(ctx *gale.RequestCtx) error {
		return &gale.HandlerError{Status: gale.StatusNotFound, Err: errors.New("no such user")}
	}))
	ask(r.Handler(), "GET", "/users/7")
	// Output:
	// GET /users/7: 404 no such user
}

func ExampleRouter_URL() {
	r := router.New()
	r.GET("/users/{id}/files/{path...}", func(*gale.RequestCtx) {}).Name("file")
	fmt.Println(r.URL("file", "7", "a b/c"))
	// Output:
	// /users/7/files/a%20b/c <nil>
}

// A router that serves takes no more routes. To change them, make another one and swap it in: each
// request gets one of the two.
func ExampleRouter_Handler() {
	routes := func(greeting string) *gale.RequestHandler {
		r := router.New()
		r.GET("/", func(ctx *gale.RequestCtx) { ctx.WriteString(greeting) })
		h := r.Handler()
		return &h
	}
	var current atomic.Pointer[gale.RequestHandler]
	handler := func(ctx *gale.RequestCtx) { (*current.Load())(ctx) } // for Server.Handler
	current.Store(routes("old"))
	ask(handler, "GET", "/")
	current.Store(routes("new"))
	ask(handler, "GET", "/")
	// Output:
	// GET /: 200 old
	// GET /: 200 new
}

// Routers with limits are swapped with what Attach has set: a request is served by the router that has found its
// limits. Each router counts its own requests for MaxConcurrent.
func ExampleRouter_Attach_swap() {
	attach := func(greeting string) *gale.Server {
		r := router.New()
		r.GET("/", func(ctx *gale.RequestCtx) { ctx.WriteString(greeting) }).Limit(router.Limits{MaxConcurrent: 4})
		attached := &gale.Server{} // only has what Attach sets
		if err := r.Attach(attached); err != nil {
			panic(err)
		}
		return attached
	}
	var current atomic.Pointer[gale.Server]
	type key struct{}
	srv := galetest.NewUnstartedServer(func(ctx *gale.RequestCtx) {
		ctx.UserValue(key{}).(*gale.Server).Handler(ctx)
	})
	srv.Config.RequestStarted = func(ctx *gale.RequestCtx) gale.RequestConfig {
		attached := current.Load()
		ctx.SetUserValue(key{}, attached)
		return attached.RequestStarted(ctx)
	}
	srv.Start()
	defer srv.Close()
	for _, greeting := range []string{"old", "new"} {
		current.Store(attach(greeting))
		status, body, err := srv.Client().Get(nil, "http://"+galetest.Host+"/")
		fmt.Println(status, string(body), err)
	}
	// Output:
	// 200 old <nil>
	// 200 new <nil>
}
