// Package streamreader: a reader that is the body of the response reads the request's bytes after the handler.
//
// category: stream
// level: 3
// run: stream
package streamreader

import (
	"bytes"
	"io"

	"example.com/lifetimes/audit"
	"github.com/galehttp/gale"
)

type upper struct {
	rest []byte
	line string
}

func (u *upper) Read(p []byte) (int, error) {
	if len(u.rest) == 0 {
		audit.Log(u.line)
		return 0, io.EOF
	}
	n := copy(p, bytes.ToUpper(u.rest))
	u.rest = u.rest[n:]
	return n, nil
}

func Handler(ctx *gale.RequestCtx) {
	r := &upper{rest: ctx.PostBody(), line: string(ctx.Path())} // BAD:1
	ctx.SetBodyStream(r, -1)                                    // BAD:1
}
