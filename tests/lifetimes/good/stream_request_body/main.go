// Package streamrequestbody: the streamed body of the request is read in the handler.
//
// category: stream
// level: 2
// run: ok streamed
package streamrequestbody

import (
	"fmt"
	"io"

	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	b, err := io.ReadAll(ctx.RequestBodyStream())
	go func() {
		slow.Work()
		audit.Log(fmt.Sprint(string(b), " ", err))
	}()
}
