// Package routerstore: a handler of a router keeps a copy, and hands slices on as user values.
//
// category: store
// level: 2
// run: ok
package routerstore

import (
	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"
)

var (
	routes   = router.New()
	sessions []string
)

func init() {
	routes.POST("/users/{name}", func(ctx *fasthttp.RequestCtx) {
		ctx.SetUserValue("sid", ctx.Request.Header.Cookie("sid"))
		sid, _ := ctx.UserValue("sid").([]byte)
		sessions = append(sessions, string(sid))
	})
}

// Handler is the router's.
func Handler(ctx *fasthttp.RequestCtx) { routes.Handler(ctx) }

// Show prints the first.
func Show() string { return "session " + sessions[0] }
