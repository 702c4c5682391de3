// Package stringunique: package unique clones the string of a new value.
//
// category: string
// level: 3
// run: ok
package stringunique

import (
	"unique"

	"github.com/galehttp/gale"
)

var handles []unique.Handle[string]

func Handler(ctx *gale.RequestCtx) {
	handles = append(handles, unique.Make(string(ctx.UserAgent())))
}

// Show prints the first.
func Show() string { return "agent " + handles[0].Value() }
