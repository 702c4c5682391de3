// Package multipartvalue: the strings of a multipart form are real strings.
//
// category: multipart
// level: 1
// run: ok multipart
package multipartvalue

import (
	"github.com/galehttp/gale"
)

var mails []string

func Handler(ctx *gale.RequestCtx) {
	form, err := ctx.MultipartForm()
	if err != nil {
		ctx.Error(err.Error(), gale.StatusBadRequest)
		return
	}
	mails = append(mails, form.Value["mail"]...)
}

// Show prints the first.
func Show() string { return "mail " + mails[0] }
