// Package aftersend: a function of AfterSend reads the request.
//
// category: closure
// level: 2
// run: object
package aftersend

import (
	"fmt"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	ctx.AfterSend(func(sent int64, err error) { // BAD:1
		audit.Log(fmt.Sprint(string(ctx.Path()), " took ", sent, err)) // BAD:1
	})
}
