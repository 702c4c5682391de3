// Package session finds out to which session a request belongs.
package session

import (
	"bytes"

	"github.com/galehttp/gale"
)

// Token returns a copy of the token of the request: from the header, else from the cookie.
func Token(ctx *gale.RequestCtx) []byte {
	if v := ctx.Request.Header.Peek("X-Token"); len(v) > 0 {
		return bytes.Clone(bytes.TrimPrefix(v, []byte("Bearer ")))
	}
	return []byte(string(ctx.Request.Header.Cookie("sid")))
}
