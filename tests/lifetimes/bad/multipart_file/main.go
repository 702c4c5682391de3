// Package multipartfile: an uploaded file is opened when the handler is gone.
//
// category: multipart
// level: 2
// run: vet
package multipartfile

import (
	"mime/multipart"

	"github.com/galehttp/gale"
)

var uploads []*multipart.FileHeader

func Handler(ctx *gale.RequestCtx) {
	fh, err := ctx.FormFile("file") // BAD:1
	if err != nil {
		ctx.Error(err.Error(), gale.StatusBadRequest)
		return
	}
	uploads = append(uploads, fh) // BAD:1
}

// Show opens the first.
func Show() string {
	f, err := uploads[0].Open()
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	return "opened"
}
