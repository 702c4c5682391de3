// Package bytesformargs: a copy of a form value is kept.
//
// category: copy
// level: 1
// run: ok form
package bytesformargs

import (
	"github.com/galehttp/gale"
)

var mails []string

func Handler(ctx *gale.RequestCtx) {
	mails = append(mails, string(ctx.PostArgs().Peek("mail")))
}

// Show prints the first.
func Show() string { return "mail " + mails[0] }
