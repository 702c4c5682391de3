// Package crosspkgtoken: a function of another package returns bytes of the request.
//
// category: crosspkg
// level: 2
// run: bytes
package crosspkgtoken

import (
	"example.com/lifetimes/bad/crosspkg_token/session"
	"github.com/galehttp/gale"
)

var tokens [][]byte

func Handler(ctx *gale.RequestCtx) {
	token := session.Token(ctx)    // BAD:1
	tokens = append(tokens, token) // BAD:1
}

// Show prints the first.
func Show() string { return "token " + string(tokens[0]) }
