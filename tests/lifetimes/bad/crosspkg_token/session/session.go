// Package session finds out to which session a request belongs.
package session

import (
	"bytes"

	"github.com/galehttp/gale"
)

// Token returns the token of the request: from the header, else from the cookie.
func Token(ctx *gale.RequestCtx) []byte {
	if v := ctx.Request.Header.Peek("X-Token"); len(v) > 0 {
		return bytes.TrimPrefix(v, []byte("Bearer "))
	}
	return ctx.Request.Header.Cookie("sid")
}
