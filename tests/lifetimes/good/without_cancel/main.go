// Package withoutcancel: a context without cancellation is derived from ctx.Context().
//
// category: context
// level: 2
// run: ok
package withoutcancel

import (
	"context"

	"github.com/galehttp/gale"
)

type userKey struct{}

var detached []context.Context

func Handler(ctx *gale.RequestCtx) {
	c := context.WithoutCancel(ctx.Context())
	detached = append(detached, context.WithValue(c, userKey{}, string(ctx.QueryArgs().Peek("user"))))
}

// Show asks for a value.
func Show() string {
	user, _ := detached[0].Value(userKey{}).(string)
	return "user " + user
}
