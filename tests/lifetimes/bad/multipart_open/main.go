// Package multipartopen: an uploaded file is opened in the handler, and read by a goroutine later.
//
// category: multipart
// level: 2
// run: bytes multipart
package multipartopen

import (
	"io"

	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	fh, err := ctx.FormFile("file") // BAD:1
	if err != nil {
		ctx.Error(err.Error(), gale.StatusBadRequest)
		return
	}
	f, err := fh.Open() // BAD:1
	if err != nil {
		ctx.Error(err.Error(), gale.StatusBadRequest)
		return
	}
	go func() { // BAD:1
		defer f.Close()
		slow.Work()
		if content, err := io.ReadAll(f); err == nil { // BAD:1
			audit.Log("content " + string(content))
		}
	}()
}
