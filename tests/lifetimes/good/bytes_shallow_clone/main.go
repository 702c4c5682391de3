// Package bytesshallowclone: a list of slices is cloned with its bytes.
//
// category: copy
// level: 2
// run: ok
package bytesshallowclone

import (
	"bytes"

	"github.com/galehttp/gale"
)

var saved [][]byte

func deepClone(values [][]byte) [][]byte {
	out := make([][]byte, len(values))
	for i, v := range values {
		out[i] = bytes.Clone(v)
	}
	return out
}

func Handler(ctx *gale.RequestCtx) {
	saved = append(saved, deepClone([][]byte{ctx.Path(), ctx.PostBody()})...)
}

// Show prints the first path.
func Show() string { return string(saved[0]) }
