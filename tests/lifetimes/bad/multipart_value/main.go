// Package multipartvalue: FormValue of a multipart form is kept.
//
// category: multipart
// level: 1
// run: bytes multipart
package multipartvalue

import (
	"github.com/galehttp/gale"
)

var mails [][]byte

func Handler(ctx *gale.RequestCtx) {
	mails = append(mails, ctx.FormValue("user")) // BAD
}

// Show prints the first.
func Show() string { return "mail " + string(mails[0]) }
