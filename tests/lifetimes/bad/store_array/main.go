// Package storearray: an array of the package has slices of the request.
//
// category: store
// level: 1
// run: bytes
package storearray

import (
	"bytes"

	"github.com/galehttp/gale"
)

var columns [3][]byte

func Handler(ctx *gale.RequestCtx) {
	if columns[0] != nil {
		return
	}
	columns[0] = ctx.Host() // BAD
	columns[1] = ctx.Path() // BAD
	columns[2] = []byte("-")
}

// Show prints a line.
func Show() string { return string(bytes.Join(columns[:], []byte(" "))) }
