// Package bytescookie: the value of a cookie is copied into a buffer of the program.
//
// category: copy
// level: 1
// run: ok
package bytescookie

import (
	"github.com/galehttp/gale"
)

var last struct{ sid []byte }

func Handler(ctx *gale.RequestCtx) {
	if len(last.sid) == 0 {
		last.sid = append(last.sid[:0], ctx.Request.Header.Cookie("sid")...)
	}
}

// Show prints it.
func Show() string { return "session " + string(last.sid) }
