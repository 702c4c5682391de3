// Package contextsession: a session embeds the request as its context.Context, and outlives it.
//
// category: context
// level: 2
// after: nuclio/nuclio#277
// run: object
package contextsession

import (
	"context"

	"github.com/galehttp/gale"
)

type session struct {
	context.Context
	id string
}

var sessions = map[string]*session{}

func open(c context.Context, id string) *session {
	s := &session{Context: c, id: id} // BAD:1
	sessions[id] = s                  // BAD:1
	return s
}

func Handler(ctx *gale.RequestCtx) {
	ctx.SetUserValue("tenant", string(ctx.Host()))
	open(ctx, string(ctx.QueryArgs().Peek("user"))) // BAD:1
}

// Show reads the tenant of a session.
func Show() string {
	tenant, _ := sessions["first-user"].Value("tenant").(string)
	return "tenant " + tenant
}
