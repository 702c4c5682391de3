// Package aftersend: a function of AfterSend has copies, and one of BeforeSend reads the request.
//
// category: closure
// level: 2
// run: ok
package aftersend

import (
	"fmt"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	path := string(ctx.Path())
	ctx.BeforeSend(func(c *gale.RequestCtx) {
		c.Response.Header.SetBytesV("X-Path", c.Path())
	})
	ctx.AfterSend(func(_ int64, err error) {
		audit.Log(fmt.Sprint(path, " ", err))
	})
}
