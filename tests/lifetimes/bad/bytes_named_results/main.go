// Package bytesnamedresults: a helper with named results returns parts of a header, and the handler keeps one.
//
// category: helper
// level: 2
// run: bytes
package bytesnamedresults

import (
	"bytes"

	"github.com/galehttp/gale"
)

type login struct{ user []byte }

var logins []login

func credentials(h *gale.RequestHeader) (scheme, rest []byte, ok bool) {
	value := h.Peek("Authorization")
	i := bytes.IndexByte(value, ' ')
	if i < 0 {
		return
	}
	scheme, rest, ok = value[:i], value[i+1:], true
	return
}

func Handler(ctx *gale.RequestCtx) {
	_, user, ok := credentials(&ctx.Request.Header) // BAD:1
	if !ok {
		ctx.SetStatusCode(gale.StatusUnauthorized)
		return
	}
	logins = append(logins, login{user}) // BAD:1
}

// Show prints who came first.
func Show() string { return "user " + string(logins[0].user) }
