// Package multipartopen: an uploaded file is copied in the handler, and a goroutine has the copy.
//
// category: multipart
// level: 2
// run: ok multipart
package multipartopen

import (
	"io"

	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

func Handler(ctx *gale.RequestCtx) {
	fh, err := ctx.FormFile("file")
	if err != nil {
		ctx.Error(err.Error(), gale.StatusBadRequest)
		return
	}
	f, err := fh.Open()
	if err != nil {
		ctx.Error(err.Error(), gale.StatusBadRequest)
		return
	}
	defer f.Close()
	content, err := io.ReadAll(f)
	if err != nil {
		ctx.Error(err.Error(), gale.StatusBadRequest)
		return
	}
	go func() {
		slow.Work()
		audit.Log("content " + string(content))
	}()
}
