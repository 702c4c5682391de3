// Package releasecookie: the response has its own copy of a cookie that is released.
//
// category: release
// level: 1
// run: ok
package releasecookie

import (
	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	c := gale.AcquireCookie()
	c.SetKey("sid")
	c.SetValueBytes(ctx.Request.Header.Cookie("sid"))
	ctx.Response.Header.SetCookie(c)
	gale.ReleaseCookie(c)
	audit.Log(string(ctx.Response.Header.PeekCookie("sid")))
}
