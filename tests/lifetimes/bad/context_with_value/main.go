// Package contextwithvalue: a context derived with WithValue waits in a queue; its other values come from the request.
//
// category: context
// level: 2
// after: gofiber/fiber#3718
// run: object
package contextwithvalue

import (
	"context"

	"github.com/galehttp/gale"
)

type traceKey struct{}

type event struct {
	ctx  context.Context
	name string
}

var queue []event

func Handler(ctx *gale.RequestCtx) {
	ctx.SetUserValue("user", string(ctx.QueryArgs().Peek("user")))
	c := context.WithValue(ctx, traceKey{}, ctx.ID())    // BAD:1
	queue = append(queue, event{ctx: c, name: "served"}) // BAD:1
}

// Show handles the oldest event.
func Show() string {
	user, _ := queue[0].ctx.Value("user").(string)
	return queue[0].name + " " + user
}
