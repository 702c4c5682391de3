// Package closingvalue: a user value that the server closes reads the request in Close.
//
// category: local
// level: 3
// after: valyala/fasthttp#1162
// run: ok
package closingvalue

import (
	"time"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

type duration struct {
	ctx   *gale.RequestCtx
	start time.Time
}

func (d *duration) Close() error {
	if time.Since(d.start) >= 0 {
		audit.Log("done " + string(d.ctx.Path()))
	}
	return nil
}

func Handler(ctx *gale.RequestCtx) {
	ctx.SetUserValue("duration", &duration{ctx: ctx, start: time.Now()})
}
