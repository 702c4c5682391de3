// Package stringcontextvalue: a context that is kept has a real string as a value.
//
// category: context
// level: 3
// run: ok
package stringcontextvalue

import (
	"context"

	"github.com/galehttp/gale"
)

type nameKey struct{}

var background []context.Context

func Handler(ctx *gale.RequestCtx) {
	name := string(ctx.QueryArgs().Peek("user"))
	background = append(background, context.WithValue(context.Background(), nameKey{}, name))
}

// Show reads the value.
func Show() string {
	name, _ := background[0].Value(nameKey{}).(string)
	return "for " + name
}
