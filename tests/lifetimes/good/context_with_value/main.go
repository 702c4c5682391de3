// Package contextwithvalue: the derived context that is kept comes from ctx.Context().
//
// category: context
// level: 2
// run: ok
package contextwithvalue

import (
	"context"

	"github.com/galehttp/gale"
)

type userKey struct{}

type event struct {
	ctx  context.Context
	name string
}

var queue []event

func Handler(ctx *gale.RequestCtx) {
	c := context.WithValue(ctx.Context(), userKey{}, string(ctx.QueryArgs().Peek("user")))
	queue = append(queue, event{ctx: c, name: "served"})
}

// Show handles the oldest event.
func Show() string {
	user, _ := queue[0].ctx.Value(userKey{}).(string)
	return queue[0].name + " " + user
}
