// Package helperchain: the bytes pass through three helpers before they are kept.
//
// category: helper
// level: 2
// run: bytes
package helperchain

import (
	"bytes"

	"github.com/galehttp/gale"
)

var state struct{ agent []byte }

func remember(b []byte) { keep(firstWord(b)) } // BAD:1

func keep(b []byte) {
	if state.agent == nil {
		state.agent = b // BAD:1
	}
}

func firstWord(b []byte) []byte {
	if i := bytes.IndexByte(b, ' '); i >= 0 {
		return b[:i]
	}
	return b
}

func Handler(ctx *gale.RequestCtx) {
	remember(ctx.UserAgent()) // BAD:1
}

// Show prints it.
func Show() string { return "agent " + string(state.agent) }
