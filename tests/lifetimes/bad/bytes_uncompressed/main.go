// Package bytesuncompressed: BodyUncompressed returns the body itself if there is no content coding.
//
// category: bytes
// level: 2
// run: bytes
package bytesuncompressed

import (
	"github.com/galehttp/gale"
)

var bodies [][]byte

func Handler(ctx *gale.RequestCtx) {
	body, err := ctx.Request.BodyUncompressed() // BAD:1
	if err != nil {
		ctx.Error("bad coding", gale.StatusUnsupportedMediaType)
		return
	}
	bodies = append(bodies, body) // BAD:1
}

// Show prints the first.
func Show() string { return string(bodies[0]) }
