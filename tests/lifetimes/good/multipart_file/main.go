// Package multipartfile: an uploaded file is read in the handler.
//
// category: multipart
// level: 2
// run: ok multipart
package multipartfile

import (
	"fmt"
	"io"

	"example.com/lifetimes/audit"
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
	audit.Log(fmt.Sprintf("%s %s %v", fh.Filename, content, err))
}
