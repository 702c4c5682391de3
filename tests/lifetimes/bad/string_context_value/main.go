// Package stringcontextvalue: a context that is kept has an unsafe string as a value.
//
// category: context
// level: 3
// run: bytes
package stringcontextvalue

import (
	"context"
	"unsafe"

	"github.com/galehttp/gale"
)

type nameKey struct{}

var background []context.Context

func Handler(ctx *gale.RequestCtx) {
	b := ctx.QueryArgs().Peek("user")
	name := unsafe.String(unsafe.SliceData(b), len(b))            // BAD:1
	c := context.WithValue(context.Background(), nameKey{}, name) // BAD:1
	background = append(background, c)                            // BAD:1
}

// Show reads the value.
func Show() string {
	name, _ := background[0].Value(nameKey{}).(string)
	return "for " + name
}
