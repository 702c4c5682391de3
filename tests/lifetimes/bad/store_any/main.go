// Package storeany: slices of the request are kept as values of type any.
//
// category: types
// level: 2
// run: bytes
package storeany

import (
	"github.com/galehttp/gale"
)

type attr struct {
	key   string
	value any
}

var attrs []attr

func note(key string, value any) { attrs = append(attrs, attr{key, value}) } // BAD:1

func Handler(ctx *gale.RequestCtx) {
	note("id", ctx.ID())
	note("token", ctx.Request.Header.Peek("X-Token")) // BAD:1
}

// Show prints the first token.
func Show() string {
	switch v := attrs[1].value.(type) {
	case []byte:
		return "token " + string(v)
	default:
		return "none"
	}
}
