// Package closureoncevalue: a lazily computed value is used within the handler only.
//
// category: closure
// level: 2
// run: ok
package closureoncevalue

import (
	"sync"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	agent := sync.OnceValue(func() string { return string(ctx.UserAgent()) })
	if ctx.QueryArgs().Has("user") {
		audit.Log("page for " + agent())
	}
	ctx.WriteString(agent())
}
