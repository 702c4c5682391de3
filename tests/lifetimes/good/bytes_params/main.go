// Package bytesparams: user values hold slices of the request and are read while the handler runs.
//
// category: local
// level: 2
// run: ok
package bytesparams

import (
	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	ctx.SetUserValue("agent", ctx.UserAgent())
	all := map[string]any{}
	ctx.VisitUserValues(func(k []byte, v any) { all[string(k)] = v })
	audit.Log("agent " + string(all["agent"].([]byte)))
}
