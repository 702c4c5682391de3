// Package bytesformargs: a form value is kept.
//
// category: bytes
// level: 1
// after: gofiber/fiber#2291
// run: bytes form
package bytesformargs

import (
	"github.com/galehttp/gale"
)

var mails [][]byte

func Handler(ctx *gale.RequestCtx) {
	mails = append(mails, ctx.PostArgs().Peek("mail")) // BAD
}

// Show prints the first.
func Show() string { return "mail " + string(mails[0]) }
