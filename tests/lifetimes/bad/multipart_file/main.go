// Package multipartfile: an uploaded file is opened when the handler is gone.
//
// category: multipart
// level: 2
// run: bytes multipart
package multipartfile

import (
	"io"
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

// Show reads the first.
func Show() string {
	f, err := uploads[0].Open()
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	content, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}
	return "content " + string(content)
}
