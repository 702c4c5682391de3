// Package multipartstream: an uploaded file is the body of the response.
//
// category: multipart
// level: 2
// run: ok multipart
package multipartstream

import (
	"io"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

// logged is where a copy of the response goes.
type logged struct{}

func (logged) Write(p []byte) (int, error) {
	audit.Log("sent " + string(p))
	return len(p), nil
}

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
	ctx.SetBodyStream(io.TeeReader(f, logged{}), int(fh.Size))
}
