// Package streamreader: a reader that is the body of the response reads the request's bytes after the handler.
//
// category: stream
// level: 3
// run: paged
package streamreader

import (
	"bytes"
	"io"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

type upper struct{ rest []byte }

func (u *upper) Read(p []byte) (int, error) {
	if len(u.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, bytes.ToUpper(u.rest))
	audit.Log("sent " + string(p[:n]))
	u.rest = u.rest[n:]
	return n, nil
}

func Handler(ctx *gale.RequestCtx) {
	r := &upper{rest: ctx.PostBody()} // BAD:1
	ctx.SetBodyStream(r, -1)          // BAD:1
}
