// Package bytesswapbody: SwapBody gives the bytes of the body to the program.
//
// category: bytes
// level: 2
// run: ok
package bytesswapbody

import (
	"github.com/galehttp/gale"
)

var bodies [][]byte

func Handler(ctx *gale.RequestCtx) {
	bodies = append(bodies, ctx.Request.SwapBody(nil))
}

// Show prints the first.
func Show() string { return string(bodies[0]) }
