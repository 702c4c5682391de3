// Package withoutcancel: a context without cancellation still asks the request for values.
//
// category: context
// level: 2
// after: maximhq/bifrost#6884
// run: object
package withoutcancel

import (
	"context"

	"github.com/galehttp/gale"
)

var detached []context.Context

func Handler(ctx *gale.RequestCtx) {
	ctx.SetUserValue("user", string(ctx.QueryArgs().Peek("user")))
	c := context.WithoutCancel(ctx) // BAD:1
	detached = append(detached, c)  // BAD:1
}

// Show asks for a value.
func Show() string {
	user, _ := detached[0].Value("user").(string)
	return "user " + user
}
