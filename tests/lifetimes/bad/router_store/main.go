// Package routerstore: a handler of a router keeps a cookie.
//
// category: store
// level: 2
// run: bytes
package routerstore

import (
	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"
)

var (
	routes   = router.New()
	sessions [][]byte
)

func init() {
	routes.POST("/users/{name}", func(ctx *fasthttp.RequestCtx) {
		sessions = append(sessions, ctx.Request.Header.Cookie("sid")) // BAD
		ctx.SetUserValue("sid", sessions[0])
	})
}

// Handler is the router's.
func Handler(ctx *fasthttp.RequestCtx) { routes.Handler(ctx) }

// Show prints the first.
func Show() string { return "session " + string(sessions[0]) }
