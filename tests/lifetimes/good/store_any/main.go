// Package storeany: a type switch copies slices before they are kept as values of type any.
//
// category: types
// level: 2
// run: ok
package storeany

import (
	"strings"

	"github.com/galehttp/gale"
)

type attr struct {
	key   string
	value any
}

var attrs []attr

func note(key string, value any) {
	switch v := value.(type) {
	case []byte:
		attrs = append(attrs, attr{key, string(v)})
	case string:
		attrs = append(attrs, attr{key, strings.Clone(v)})
	case uint64, bool:
		attrs = append(attrs, attr{key, v})
	}
}

func Handler(ctx *gale.RequestCtx) {
	note("id", ctx.ID())
	note("token", ctx.Request.Header.Peek("X-Token"))
}

// Show prints the first token.
func Show() string { return "token " + attrs[1].value.(string) }
