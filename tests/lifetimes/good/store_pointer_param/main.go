// Package storepointerparam: a helper writes a slice through a pointer to a variable of the handler.
//
// category: helper
// level: 2
// run: ok
package storepointerparam

import (
	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

type settings struct {
	theme []byte
	set   bool
}

func load(dst *settings, h *gale.RequestHeader) {
	dst.theme = h.Cookie("sid")
	dst.set = true
}

func Handler(ctx *gale.RequestCtx) {
	var current settings
	load(&current, &ctx.Request.Header)
	audit.Log("theme " + string(current.theme))
}
