// Package helperchain: the last of three helpers copies.
//
// category: helper
// level: 2
// run: ok
package helperchain

import (
	"bytes"
	"slices"

	"github.com/galehttp/gale"
)

var state struct{ agent []byte }

func remember(b []byte) { keep(firstWord(b)) }

func keep(b []byte) {
	if state.agent == nil {
		state.agent = slices.Clone(b)
	}
}

func firstWord(b []byte) []byte {
	if i := bytes.IndexByte(b, ' '); i >= 0 {
		return b[:i]
	}
	return b
}

func Handler(ctx *gale.RequestCtx) {
	remember(ctx.UserAgent())
}

// Show prints it.
func Show() string { return "agent " + string(state.agent) }
