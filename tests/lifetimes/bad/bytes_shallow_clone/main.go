// Package bytesshallowclone: a list of slices is cloned, which clones no bytes.
//
// category: bytes
// level: 2
// run: bytes
package bytesshallowclone

import (
	"slices"

	"github.com/galehttp/gale"
)

var saved [][]byte

func Handler(ctx *gale.RequestCtx) {
	values := [][]byte{ctx.Path(), ctx.PostBody()}
	saved = append(saved, slices.Clone(values)...) // BAD
}

// Show prints the first path.
func Show() string { return string(saved[0]) }
