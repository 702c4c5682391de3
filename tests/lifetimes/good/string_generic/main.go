// Package stringgeneric: a generic conversion copies.
//
// category: types
// level: 3
// run: ok
package stringgeneric

import (
	"github.com/galehttp/gale"
)

type userID string

func convert[T ~string](b []byte) T { return T(b) }

var owner userID

func Handler(ctx *gale.RequestCtx) {
	id := convert[userID](ctx.QueryArgs().Peek("user"))
	if owner == "" {
		owner = id
	}
}

// Show prints the owner.
func Show() string { return "owned by " + string(owner) }
