// Package contextsession: a session embeds a context that is safe to keep.
//
// category: context
// level: 2
// run: ok
package contextsession

import (
	"context"
	"strconv"

	"github.com/galehttp/gale"
)

type session struct {
	context.Context
	tenant string
}

var sessions = map[string]*session{}

func open(c context.Context, id, tenant string) {
	sessions[id] = &session{Context: c, tenant: tenant}
}

func Handler(ctx *gale.RequestCtx) {
	open(ctx.Context(), string(ctx.QueryArgs().Peek("user")), string(ctx.Host()))
}

// Show reads the tenant of a session that has ended.
func Show() string {
	s := sessions["first-user"]
	return "tenant " + s.tenant + " " + strconv.FormatBool(s.Err() != nil)
}
