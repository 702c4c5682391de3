// Package storearray: the bytes of the request are copied into arrays of the package.
//
// category: store
// level: 1
// run: ok
package storearray

import (
	"bytes"

	"github.com/galehttp/gale"
)

var columns [2][64]byte

func Handler(ctx *gale.RequestCtx) {
	if columns[0][0] != 0 {
		return
	}
	copy(columns[0][:], ctx.Host())
	copy(columns[1][:], ctx.Path())
}

// Show prints a line.
func Show() string {
	return string(bytes.TrimRight(columns[0][:], "\x00")) + " " + string(bytes.TrimRight(columns[1][:], "\x00"))
}
