// Package bytesbuffer: the body is written into a bytes.Buffer that is kept.
//
// category: encode
// level: 2
// run: ok
package bytesbuffer

import (
	"bytes"

	"github.com/galehttp/gale"
)

var pending []*bytes.Buffer

func Handler(ctx *gale.RequestCtx) {
	b := new(bytes.Buffer)
	b.Write(ctx.PostBody())
	pending = append(pending, b)
}

// Show reads the oldest.
func Show() string { return pending[0].String() }
