// Package bytescut: a part of a header is kept.
//
// category: bytes
// level: 1
// after: valyala/fasthttp#1261
// run: bytes
package bytescut

import (
	"bytes"

	"github.com/galehttp/gale"
)

var tokens = map[int][]byte{}

func Handler(ctx *gale.RequestCtx) {
	_, token, ok := bytes.Cut(ctx.Request.Header.Peek("Authorization"), []byte(" ")) // BAD:1
	if ok {
		tokens[len(tokens)] = bytes.TrimSpace(token) // BAD:1
	}
}

// Show prints the first token.
func Show() string { return "token " + string(tokens[0]) }
