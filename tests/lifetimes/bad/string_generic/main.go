// Package stringgeneric: a generic conversion makes values that alias the bytes.
//
// category: types
// level: 3
// run: bytes
package stringgeneric

import (
	"unsafe"

	"github.com/galehttp/gale"
)

type userID string

func convert[T ~string](b []byte) T { return T(unsafe.String(unsafe.SliceData(b), len(b))) }

var owner userID

func Handler(ctx *gale.RequestCtx) {
	id := convert[userID](ctx.QueryArgs().Peek("user")) // BAD:1
	if owner == "" {
		owner = id // BAD:1
	}
}

// Show prints the owner.
func Show() string { return "owned by " + string(owner) }
