// Package bytesparams: user values hold slices of the request, and the map of them is kept.
//
// category: bytes
// level: 2
// run: bytes
package bytesparams

import (
	"github.com/galehttp/gale"
)

var values []map[string]any

func Handler(ctx *gale.RequestCtx) {
	ctx.SetUserValue("agent", ctx.UserAgent())
	all := map[string]any{}
	ctx.VisitUserValues(func(k []byte, v any) { all[string(k)] = v }) // BAD:1
	values = append(values, all)                                      // BAD:1
}

// Show prints one.
func Show() string { return "agent " + string(values[0]["agent"].([]byte)) }
