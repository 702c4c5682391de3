// Package bytesnamedresults: a helper with named results returns copies of parts of a header.
//
// category: helper
// level: 2
// run: ok
package bytesnamedresults

import (
	"bytes"

	"github.com/galehttp/gale"
)

type login struct{ user []byte }

var logins []login

func credentials(h *gale.RequestHeader) (scheme string, rest []byte, ok bool) {
	value := h.Peek("Authorization")
	i := bytes.IndexByte(value, ' ')
	if i < 0 {
		return
	}
	scheme, rest, ok = string(value[:i]), bytes.Clone(value[i+1:]), true
	return
}

func Handler(ctx *gale.RequestCtx) {
	_, user, ok := credentials(&ctx.Request.Header)
	if !ok {
		ctx.SetStatusCode(gale.StatusUnauthorized)
		return
	}
	logins = append(logins, login{user})
}

// Show prints who came first.
func Show() string { return "user " + string(logins[0].user) }
