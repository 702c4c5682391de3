// Package bytesbuffer: a bytes.Buffer is made of the body and kept.
//
// category: encode
// level: 2
// run: bytes
package bytesbuffer

import (
	"bytes"

	"github.com/galehttp/gale"
)

var pending []*bytes.Buffer

func Handler(ctx *gale.RequestCtx) {
	pending = append(pending, bytes.NewBuffer(ctx.PostBody())) // BAD
}

// Show reads the oldest.
func Show() string { return pending[0].String() }
