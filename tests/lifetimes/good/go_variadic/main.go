// Package govariadic: a goroutine gets the joined slices, which are a copy.
//
// category: goroutine
// level: 2
// run: ok
package govariadic

import (
	"bytes"

	"example.com/lifetimes/audit"
	"example.com/lifetimes/slow"
	"github.com/galehttp/gale"
)

func write(line []byte) {
	slow.Work()
	audit.Log(string(line))
}

func Handler(ctx *gale.RequestCtx) {
	go write(bytes.Join([][]byte{ctx.Method(), ctx.Path()}, []byte(" ")))
}
