// Package storepointerparam: a helper writes a slice through a pointer to a variable of the package.
//
// category: helper
// level: 2
// run: bytes
package storepointerparam

import (
	"github.com/galehttp/gale"
)

type settings struct {
	theme []byte
	set   bool
}

var current settings

func load(dst *settings, h *gale.RequestHeader) {
	if dst.set {
		return
	}
	dst.theme = h.Cookie("sid") // BAD:1
	dst.set = true
}

func Handler(ctx *gale.RequestCtx) {
	load(&current, &ctx.Request.Header) // BAD:1
}

// Show prints it.
func Show() string { return "theme " + string(current.theme) }
