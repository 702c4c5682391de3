// Package streamrequestbody: a goroutine reads the streamed body of the request when the handler is gone.
//
// category: stream
// level: 2
// run: vet
package streamrequestbody

import (
	"fmt"
	"io"

	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	body := ctx.RequestBodyStream() // BAD:1
	go func() {                     // BAD:1
		slow.Work()
		b, err := io.ReadAll(body) // BAD:1
		audit.Log(fmt.Sprint(string(b), err))
	}()
}
