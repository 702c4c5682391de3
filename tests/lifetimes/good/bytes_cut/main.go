// Package bytescut: a part of a header is copied into a string.
//
// category: copy
// level: 1
// run: ok
package bytescut

import (
	"bytes"

	"github.com/galehttp/gale"
)

var tokens = map[int]string{}

func Handler(ctx *gale.RequestCtx) {
	_, token, ok := bytes.Cut(ctx.Request.Header.Peek("Authorization"), []byte(" "))
	if ok {
		tokens[len(tokens)] = string(bytes.TrimSpace(token))
	}
}

// Show prints the first token.
func Show() string { return "token " + tokens[0] }
