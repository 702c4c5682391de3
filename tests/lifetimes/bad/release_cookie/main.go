// Package releasecookie: the value of a cookie of the pool is kept after the release.
//
// category: release
// level: 1
// run: bytes
package releasecookie

import (
	"github.com/galehttp/gale"
)

var last []byte

func Handler(ctx *gale.RequestCtx) {
	c := gale.AcquireCookie()
	c.SetKey("sid")
	c.SetValueBytes(ctx.Request.Header.Cookie("sid"))
	ctx.Response.Header.SetCookie(c)
	if last == nil {
		last = c.Value() // BAD:1
	}
	gale.ReleaseCookie(c) // BAD:1
}

// Show prints it.
func Show() string { return "session " + string(last) }
