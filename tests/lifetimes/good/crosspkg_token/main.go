// Package crosspkgtoken: a function of another package returns a copy.
//
// category: crosspkg
// level: 2
// run: ok
package crosspkgtoken

import (
	"example.com/lifetimes/good/crosspkg_token/session"
	"github.com/galehttp/gale"
)

var tokens [][]byte

func Handler(ctx *gale.RequestCtx) {
	token := session.Token(ctx)
	tokens = append(tokens, token)
}

// Show prints the first.
func Show() string { return "token " + string(tokens[0]) }
