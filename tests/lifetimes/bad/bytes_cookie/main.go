// Package bytescookie: the value of a cookie is kept.
//
// category: bytes
// level: 1
// run: bytes
package bytescookie

import (
	"github.com/galehttp/gale"
)

var last struct{ sid []byte }

func Handler(ctx *gale.RequestCtx) {
	if last.sid == nil {
		last.sid = ctx.Request.Header.Cookie("sid") // BAD
	}
}

// Show prints it.
func Show() string { return "session " + string(last.sid) }
