// Package contextcancelkept: a context that is derived from the request with a time limit lasts, and has the user values.
//
// category: context
// level: 2
// run: ok
package contextcancelkept

import (
	"context"
	"time"

	"github.com/galehttp/gale"
)

var kept []context.Context

func Handler(ctx *gale.RequestCtx) {
	ctx.SetUserValue("user", string(ctx.QueryArgs().Peek("user")))
	c, cancel := context.WithTimeout(ctx, time.Minute)
	context.AfterFunc(c, cancel)
	kept = append(kept, c)
}

// Show asks the first for its value.
func Show() string {
	<-kept[0].Done()
	user, _ := kept[0].Value("user").(string)
	return "user " + user
}
