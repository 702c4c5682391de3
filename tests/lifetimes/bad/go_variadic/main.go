// Package govariadic: a goroutine gets slices of the request as variadic arguments.
//
// category: goroutine
// level: 2
// run: bytes
package govariadic

import (
	"bytes"

	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

func join(parts ...[]byte) {
	slow.Work()
	audit.Log(string(bytes.Join(parts, []byte(" "))))
}

func Handler(ctx *gale.RequestCtx) {
	go join(ctx.Method(), ctx.Path()) // BAD
}
